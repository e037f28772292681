//! The API, asked in this process by the router that answers everyone else.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{CONTENT_TYPE, ETAG, IF_MATCH, USER_AGENT},
};
use http_body_util::BodyExt as _;
use kernel::{Clock, WorkspaceId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Serialize, de::DeserializeOwned};
use url::form_urlencoded;
use web::{
    auth::SignedIn,
    http::{Front, RequestId},
};

use crate::{
    failure::{Failure, PageResult},
    shared_answers::{KEPT, Question, SharedAnswers},
};

/// Longest wait for an answer, so that a page comes although a store hangs.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Largest answer that a page reads whole, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// What a segment of a path may hold as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A router of this process: the API's, or that of the listener for SQL. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Api {
    /// Which of the routers of this process it is.
    name: &'static str,
    front: Front,
    answers: SharedAnswers,
}

impl Api {
    pub fn new(name: &'static str, router: Router, clock: Clock, answers: SharedAnswers) -> Self {
        Self { name, front: web::http::front(router, clock), answers }
    }

    /// How many changes were made in the console of a workspace so far; a number of its own while one may still take effect.
    pub(crate) fn changes(&self, workspace: WorkspaceId) -> u64 {
        self.answers.changes(workspace, Instant::now())
    }
}

/// For whom the API is asked, and in which request.
#[derive(Debug, Clone)]
pub struct Asker {
    pub api: Api,
    pub person: Arc<SignedIn>,
    pub request_id: Option<RequestId>,
    pub user_agent: Option<HeaderValue>,
}

/// A call of the API. Nothing is sent until its answer is awaited.
#[derive(Debug)]
#[must_use]
pub struct Call<'a> {
    api: &'a Api,
    asker: &'a Asker,
    method: Method,
    path: String,
    /// The parameters, percent-encoded, without a question mark.
    query: String,
    body: Option<(HeaderValue, Bytes)>,
    if_match: Option<HeaderValue>,
    wait_max: Duration,
    /// How long its answer is given to others who ask the same; none where it is not shared.
    shared_for: Option<Duration>,
    /// Whether it makes shared answers out of date.
    may_change: bool,
}

/// An answer with its ETag, where it has one.
#[derive(Debug, Clone)]
pub struct Tagged<T> {
    pub answer: T,
    pub etag: Option<String>,
}

impl Asker {
    /// A call of this method and path, whose segments are encoded already: see [`path`].
    pub fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        self.call_of(&self.api, method, path)
    }

    /// Likewise of another router.
    pub fn call_of<'a>(
        &'a self,
        api: &'a Api,
        method: Method,
        path: impl Into<String>,
    ) -> Call<'a> {
        Call {
            api,
            asker: self,
            may_change: method != Method::GET,
            method,
            path: path.into(),
            query: String::new(),
            body: None,
            if_match: None,
            wait_max: ANSWER_MAX,
            shared_for: None,
        }
    }
}

/// A path of these segments, each encoded.
pub fn path<'s>(segments: impl IntoIterator<Item = &'s str>) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, SEGMENT));
    }
    path
}

fn too_late(wait_max: Duration) -> Failure {
    let text = format!("No answer came within {} seconds", wait_max.as_secs());
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

impl Call<'_> {
    /// Adds a parameter of the query.
    pub fn query(mut self, name: &str, value: impl AsRef<str>) -> Self {
        let pairs = form_urlencoded::Serializer::new(std::mem::take(&mut self.query));
        self.query = { pairs }.append_pair(name, value.as_ref()).finish();
        self
    }

    /// Adds a parameter that has a value and not otherwise.
    pub fn query_if<V: AsRef<str>>(self, name: &str, value: Option<V>) -> Self {
        match value {
            Some(value) if !value.as_ref().is_empty() => self.query(name, value),
            _ => self,
        }
    }

    /// Sends this body as JSON.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> PageResult<Self> {
        let text = serde_json::to_string(body).map_err(|fault| Failure::internal(&fault))?;
        Ok(self.json_text(text))
    }

    /// Sends this text, which is JSON already.
    pub fn json_text(mut self, text: String) -> Self {
        self.body = Some((HeaderValue::from_static("application/json"), text.into()));
        self
    }

    /// Sends this text as it is.
    pub fn text(mut self, text: &str) -> Self {
        self.body = Some((HeaderValue::from_static("text/plain"), text.to_owned().into()));
        self
    }

    /// Changes only what still has this ETag.
    pub fn if_match(mut self, etag: &str) -> PageResult<Self> {
        let value = HeaderValue::from_str(etag);
        self.if_match =
            Some(value.map_err(|_| Failure::new(StatusCode::BAD_REQUEST, "That is no ETag"))?);
        Ok(self)
    }

    /// Shares the answer with others of the workspace who ask the same: it may be a second older than the question, but
    /// not than a change that was made in the console. Only for what changes nothing.
    pub fn shared(self) -> Self {
        self.shared_for(KEPT)
    }

    /// Likewise for another time than a second: of a range that has ended, or of what is only offered to choose from.
    pub fn shared_for(mut self, time: Duration) -> Self {
        self.shared_for = Some(time);
        self.changes_nothing()
    }

    /// Shared answers stay, whatever becomes of this call: it is a preview or a check, although it is no `GET`.
    pub fn changes_nothing(mut self) -> Self {
        self.may_change = false;
        self
    }

    /// Waits longer than pages usually may.
    pub fn within(mut self, wait_max: Duration) -> Self {
        self.wait_max = wait_max;
        self
    }

    /// Reads the answer as JSON.
    ///
    /// # Errors
    /// What the API refuses, or a failure.
    pub async fn read<T: DeserializeOwned>(self) -> PageResult<T> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|fault| Failure::internal(&fault))
    }

    /// Likewise with the ETag of the answer.
    ///
    /// # Errors
    /// What the API refuses, or a failure.
    pub async fn read_tagged<T: DeserializeOwned>(self) -> PageResult<Tagged<T>> {
        let answer = self.whole().await?;
        let etag = answer.headers().get(ETAG).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let read = serde_json::from_slice(answer.body());
        Ok(Tagged { answer: read.map_err(|fault| Failure::internal(&fault))?, etag })
    }

    /// Awaits success and drops the answer.
    ///
    /// # Errors
    /// What the API refuses, or a failure.
    pub async fn done(self) -> PageResult<()> {
        self.bytes().await.map(drop)
    }

    /// The body of a successful answer.
    async fn bytes(self) -> PageResult<Bytes> {
        let Some(kept) = self.shared_for else {
            return self.whole().await.map(Response::into_body);
        };
        let question = Question {
            router: self.api.name,
            method: self.method.clone(),
            address: format!("{}?{}", self.path, self.query),
            body: self.body.as_ref().map(|(_, body)| body.clone()).unwrap_or_default(),
            wait_max: self.wait_max,
        };
        let (api, asker, wait_max) = (self.api, self.asker, self.wait_max);
        let ask = async { self.whole().await.map(Response::into_body) };
        // Who waits for the question of another has no more time for it.
        let shared = Box::pin(api.answers.get(&asker.person, question, kept, ask));
        tokio::time::timeout(wait_max, shared).await.unwrap_or_else(|_| Err(too_late(wait_max)))
    }

    /// A successful answer, read to its end.
    async fn whole(self) -> PageResult<Response<Bytes>> {
        let wait_max = self.wait_max;
        let whole = async {
            let (head, body) = self.answer().await?.into_parts();
            let body = http_body_util::Limited::new(body, ANSWER_BYTES_MAX);
            let bytes = body.collect().await.map_err(|fault| Failure::internal(&fault))?.to_bytes();
            if head.status.is_success() {
                Ok(Response::from_parts(head, bytes))
            } else {
                Err(Failure::of_answer(head.status, &bytes))
            }
        };
        tokio::time::timeout(wait_max, whole).await.unwrap_or_else(|_| Err(too_late(wait_max)))
    }

    /// A successful answer as it begins, for those that go on or are long.
    ///
    /// # Errors
    /// What the API refuses, or a failure.
    pub async fn begun(self) -> PageResult<Response> {
        let answer = self.answer().await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.into_body().collect().await;
        Err(Failure::of_answer(
            status,
            &body.map_err(|fault| Failure::internal(&fault))?.to_bytes(),
        ))
    }

    /// The answer as it begins, whatever its status.
    ///
    /// # Errors
    /// When the path is none.
    pub async fn answer(mut self) -> PageResult<Response> {
        if !self.query.is_empty() {
            self.path.push('?');
            self.path.push_str(&self.query);
        }
        // All of it is encoded, so that only its length can be wrong.
        let uri: Uri = self.path.parse().map_err(|_| {
            Failure::new(StatusCode::BAD_REQUEST, "What was typed is too long to look for")
        })?;
        let (kind, body) = match self.body {
            Some((kind, bytes)) => (Some(kind), Body::from(bytes)),
            None => (None, Body::empty()),
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, kind);
        }
        if let Some(etag) = self.if_match {
            headers.insert(IF_MATCH, etag);
        }
        if let Some(agent) = &self.asker.user_agent {
            headers.insert(USER_AGENT, agent.clone());
        }
        let id = self.asker.request_id.as_ref();
        if let Some(id) = id.and_then(|id| HeaderValue::from_str(id.as_str()).ok()) {
            headers.insert(X_REQUEST_ID, id);
        }
        request.extensions_mut().insert(Arc::clone(&self.asker.person));
        let change =
            self.may_change.then(|| self.api.answers.change(self.asker.person.tenant.workspace));
        let answer = Box::pin(self.api.front.clone().answer(request)).await;
        if let Some(change) = change {
            change.end();
        }
        Ok(answer)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicU64, Ordering},
    };

    use axum::{extract::State, routing::get};
    use kernel::{KeyId, OrganizationId, Tenant};
    use uuid::Uuid;

    use super::*;

    pub(crate) fn person(scopes: &str) -> SignedIn {
        SignedIn {
            session: KeyId::mint(),
            tenant: Tenant {
                organization: OrganizationId::new(Uuid::from_u128(1)),
                workspace: WorkspaceId::new(Uuid::from_u128(2)),
            },
            actor: "Ann".to_owned(),
            scopes: scopes.parse().unwrap(),
            currency: None,
            timezone: "UTC".to_owned(),
        }
    }

    #[test]
    fn segments_cannot_leave_their_path() {
        assert_eq!(path(["users", "ann"]), "/users/ann");
        assert_eq!(path(["users", "a/b?c#d", "events"]), "/users/a%2Fb%3Fc%23d/events");
        assert_eq!(path(["users", "ä "]), "/users/%C3%A4%20");
    }

    /// Of an API with a number that `POST` raises, and never answers.
    fn asker() -> Asker {
        let number = Arc::new(AtomicU64::new(0));
        let read =
            async |State(number): State<Arc<AtomicU64>>| number.load(Ordering::Relaxed).to_string();
        let raise = async |State(number): State<Arc<AtomicU64>>| {
            number.fetch_add(1, Ordering::Relaxed);
            pending::<()>().await;
        };
        let router = Router::new().route("/number", get(read).post(raise)).with_state(number);
        Asker {
            api: Api::new("api", router, Clock::system(), SharedAnswers::default()),
            person: Arc::new(person("*")),
            request_id: None,
            user_agent: None,
        }
    }

    #[tokio::test]
    async fn a_change_that_is_given_up_is_seen_by_the_next_question() {
        let asker = asker();
        let number =
            || async { asker.call(Method::GET, "/number").shared().read::<u64>().await.unwrap() };
        assert_eq!(number().await, 0);
        // For lack of an answer.
        let change = asker.call(Method::POST, "/number").within(Duration::from_millis(1));
        let failure = change.done().await.unwrap_err();
        assert_eq!(failure.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(number().await, 1);
        // Because the person left.
        let change = asker.call(Method::POST, "/number").done();
        assert!(tokio::time::timeout(Duration::from_millis(1), change).await.is_err());
        assert_eq!(number().await, 2);
    }

    #[tokio::test]
    async fn a_preview_that_is_given_up_leaves_answers_shared() {
        let asker = asker();
        let changes = || asker.api.changes(asker.person.tenant.workspace);
        let before = changes();
        let preview = asker.call(Method::POST, "/number").changes_nothing();
        let given_up = tokio::time::timeout(Duration::from_millis(1), preview.done()).await;
        assert!(given_up.is_err());
        assert_eq!(changes(), before);
        let asked = asker.call(Method::GET, "/number").read::<u64>().await.unwrap();
        assert_eq!(asked, 1, "the preview was asked for");
        let change = asker.call(Method::POST, "/number");
        assert!(tokio::time::timeout(Duration::from_millis(1), change.done()).await.is_err());
        assert_ne!(changes(), before);
    }
}
