//! The person of a request: asks the API for them and makes their pages.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse as _, Redirect, Response},
};
use http::{Method, StatusCode, header::SET_COOKIE, request::Parts};
use kernel::{Timestamp, zone::Zone};
use maud::{Markup, html};
use serde::{Deserialize, de::DeserializeOwned};
use web::auth::{ScopeName, ScopeSet, SignedIn};

pub use crate::form::Form;
use crate::{
    failure::{Failure, PageResult},
    in_process::{Asker, Call},
    late_answers::{Basis, Page},
    once::{self, DoneBefore},
    sign_in::{self, Session},
    state::ConsoleState,
    view::{self, Entry, Frame},
};

/// The cookie with the notice that the next page shows.
pub const NOTICE_COOKIE: &str = "millrace_notice";

/// Entries of one page of a list of the API, at most.
const PAGE: usize = 200;
/// Pages that are read of one list: a workspace has 1,000 segments, and as many saved questions, at most.
const PAGES_MAX: usize = 5;

#[derive(Deserialize)]
struct ListPage<T> {
    data: Vec<T>,
    pagination: ListEnd,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListEnd {
    has_more: bool,
}

/// A person who is signed in, in one request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Visitor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    session: Session,
    /// What knows the person again in another session, where anything does.
    person_key: Option<String>,
    asker: Asker,
    entries: Vec<Entry>,
    notice: Option<String>,
    is_part: bool,
    now: Timestamp,
    state: ConsoleState,
}

impl Visitor {
    pub fn new(
        state: &ConsoleState,
        session: Session,
        asker: Asker,
        notice: Option<String>,
        is_part: bool,
    ) -> Self {
        let scopes = session.person.scopes;
        let open = state.entries().iter().filter(|entry| entry.is_open_to(scopes));
        Self(Arc::new(Inner {
            entries: open.copied().collect(),
            now: state.services().clock().now(),
            state: state.clone(),
            person_key: session.person_key(),
            session,
            asker,
            notice,
            is_part,
        }))
    }

    pub fn session(&self) -> &Session {
        &self.0.session
    }

    pub fn person(&self) -> &SignedIn {
        &self.0.session.person
    }

    pub fn scopes(&self) -> ScopeSet {
        self.person().scopes
    }

    /// Whether the session has a scope: for controls that are not shown without it.
    pub fn may(&self, scope: ScopeName) -> bool {
        self.scopes().has(scope)
    }

    /// Whether the session has all of these scopes, as the API answers them.
    pub fn may_all(&self, scopes: &[String]) -> bool {
        self.scopes().lacked_of(ScopeSet::of_stored(scopes)).is_none()
    }

    pub fn workspace_name(&self) -> &str {
        &self.0.session.workspace_name
    }

    /// The token that every form and every change must bring.
    pub fn csrf(&self) -> &str {
        &self.0.session.csrf
    }

    /// Whether a script asks, which takes a part of the answer; without scripts browsers show all of it.
    pub fn asks_for_part(&self) -> bool {
        self.0.is_part
    }

    pub fn has_notice(&self) -> bool {
        self.0.notice.is_some()
    }

    /// The time of the request, to which times on the page are relative.
    pub fn now(&self) -> Timestamp {
        self.0.now
    }

    /// The workspace's time zone.
    pub fn zone(&self) -> Zone {
        self.person().timezone.parse().unwrap_or(Zone::UTC)
    }

    /// The address by which people reach this server, for commands to copy.
    pub fn server_url(&self) -> &str {
        self.0.state.url()
    }

    /// A call of the API for this person.
    pub fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        self.0.asker.call(method, path)
    }

    /// A question to the API for this person.
    pub fn get(&self, path: impl Into<String>) -> Call<'_> {
        self.call(Method::GET, path)
    }

    /// A statement in SQL for this person; none where the listener for SQL is off.
    pub fn sql(&self, statement: &str) -> Option<Call<'_>> {
        let sql = self.0.state.sql()?;
        let call = self.0.asker.call_of(&sql.api, Method::POST, "/").text(statement);
        // The listener only reads.
        Some(call.changes_nothing())
    }

    /// The port at which programs ask in SQL, where they can.
    pub fn sql_port(&self) -> Option<u16> {
        self.0.state.sql().map(|sql| sql.port)
    }

    /// The answer of a page if it is there in time. If not, its question goes on for the part of the page that is loaded
    /// afterwards, as a call of the request for the page.
    pub async fn answer_soon(
        &self,
        address: &str,
        time: Duration,
        answer: impl Future<Output = Markup> + Send + 'static,
    ) -> Option<Markup> {
        let late = self.0.state.late_answers();
        late.soon(self.late_page(address), self.basis(), time, answer).await
    }

    /// The answer of a page that did not wait for it. None where the question has to be asked again.
    pub async fn late_answer(&self, address: &str) -> Option<Markup> {
        self.0.state.late_answers().take(&self.late_page(address), self.basis()).await
    }

    fn late_page(&self, address: &str) -> Page {
        Page { session: self.person().session, address: address.to_owned() }
    }

    fn basis(&self) -> Basis {
        let person = self.person();
        let changes = self.0.asker.api.changes(person.tenant.workspace);
        Basis { tenant: person.tenant, scopes: person.scopes, changes }
    }

    /// A whole page under an entry of the navigation.
    pub fn page(&self, entry: &Entry, title: &str, content: &Markup) -> Response {
        view::page(StatusCode::OK, &self.frame(Some(entry), title), content)
    }

    /// Likewise with another status, for forms with faults.
    pub fn page_with(
        &self,
        status: StatusCode,
        entry: &Entry,
        title: &str,
        content: &Markup,
    ) -> Response {
        view::page(status, &self.frame(Some(entry), title), content)
    }

    /// Likewise of a form that may have been refused: with the status of the failure.
    pub fn page_after(
        &self,
        refused: Option<&Failure>,
        entry: &Entry,
        title: &str,
        content: &Markup,
    ) -> Response {
        match refused {
            Some(it) => it.hint(self.page_with(it.status, entry, title, content)),
            None => self.page(entry, title, content),
        }
    }

    pub fn page_of_failure(&self, failure: &Failure) -> Response {
        let title = failure.title();
        view::page(failure.status, &self.frame(None, &title), &failure.content())
    }

    /// Leads to another page, which shows a notice.
    pub fn done(&self, to: &str, notice: &str) -> Response {
        let mut response = Redirect::to(to).into_response();
        let life = Duration::from_mins(1);
        let cookie = sign_in::set_cookie(NOTICE_COOKIE, notice, life, self.0.state.is_secure());
        response.headers_mut().append(SET_COOKIE, cookie);
        response
    }

    /// A page that is shown once after a form. The same form sent again leads to another page, with a notice.
    pub fn shown_once(&self, mut page: Response, to: &str, notice: &str) -> Response {
        page.extensions_mut().insert(DoneBefore(self.done(to, notice).map(drop)));
        page
    }

    /// The hidden fields of every form: the CSRF token, and what knows the form again if it is sent twice.
    pub fn csrf_field(&self) -> Markup {
        html! {
            input type="hidden" name="csrf_token" value=(self.csrf());
            input type="hidden" name=(once::FIELD) value=(once::mint());
        }
    }

    /// Every entry of a list of the API that has pages, as many as a workspace may have of what is chosen by name.
    ///
    /// # Errors
    /// What the API refuses, or a failure.
    pub async fn all<T: DeserializeOwned>(&self, list: &str) -> PageResult<Vec<T>> {
        let mut all = Vec::new();
        for _ in 0..PAGES_MAX {
            let call = self.get(list).query("limit", PAGE.to_string());
            let page: ListPage<T> = call.query("offset", all.len().to_string()).read().await?;
            let is_last = page.data.is_empty() || !page.pagination.has_more;
            all.extend(page.data);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    fn frame<'f>(&'f self, entry: Option<&Entry>, title: &'f str) -> Frame<'f> {
        Frame {
            title,
            current: entry.map(|entry| entry.path),
            entries: &self.0.entries,
            workspace: self.workspace_name(),
            person_key: self.0.person_key.as_deref(),
            actor: &self.person().actor,
            csrf: self.csrf(),
            notice: self.0.notice.as_deref(),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| Failure::internal(&"a page outside of the gate"))
    }
}
