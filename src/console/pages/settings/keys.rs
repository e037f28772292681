//! Keys: making one, which is shown once, and revoking one.

use axum::{extract::Path, response::Response};
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::{Tab, snippets};
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Confirmation, Field, Tone},
    visitor::{Form, Visitor},
};

/// Keys of one page.
const PAGE: u64 = 50;
/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["name", "scopes"];
/// The kind of keys for apps.
const SDK: &str = "sdk";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    offset: u64,
}

/// A key as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    id: String,
    kind: String,
    name: Option<String>,
    scopes: Vec<String>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl Key {
    /// The name to show and to type: its own, else its id.
    fn title(&self) -> &str {
        view::confirmable(self.name.as_deref().unwrap_or_default().trim(), &self.id)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct Keys {
    data: Vec<Key>,
    pagination: Pagination,
}

/// A key as it is typed.
#[derive(Debug, Clone, Default)]
struct Draft {
    name: String,
    kind: String,
    scopes: Vec<String>,
}

impl Draft {
    fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            kind: text("kind"),
            scopes: form.all("scopes").map(str::to_owned).collect(),
        }
    }

    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("kind".to_owned(), json!(self.kind));
        if !self.name.trim().is_empty() {
            body.insert("name".to_owned(), json!(self.name.trim()));
        }
        if self.kind != SDK || !self.scopes.is_empty() {
            body.insert("scopes".to_owned(), json!(self.scopes));
        }
        Value::Object(body)
    }
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    page(&visitor, &asked, &Draft::default(), None).await
}

async fn page(
    visitor: &Visitor,
    asked: &Asked,
    draft: &Draft,
    refused: Option<Refused<'_>>,
) -> Response {
    let failure = refused.and_then(Refused::at_form);
    let call = visitor
        .get("/keys")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let keys: PageResult<Keys> = call.read().await;
    let content = html! {
        @match &keys {
            Ok(keys) => (found(visitor, asked, keys)),
            Err(failure) => (failure.card("Keys")),
        }
        @if visitor.may(ScopeName::SettingsWrite) || failure.is_some() { (form(visitor, draft, failure)) }
        @else { p class="quiet" { "Making and revoking keys needs the scope " code { "settings:write" } "." } }
    };
    Tab::Keys.page(visitor, refused, &content)
}

fn found(visitor: &Visitor, asked: &Asked, keys: &Keys) -> Markup {
    if keys.data.is_empty() {
        let command = format!(
            "millrace keys create --workspace {} --scopes '*'",
            view::shell_quoted(visitor.workspace_name())
        );
        return view::empty(
            "No keys yet",
            &html! {
                p { "Programs call the API with a key. One comes from the form below, or from the command line:" }
                (view::copyable(&command))
            },
        );
    }
    let columns = [
        Column::text("Key"),
        Column::text("For"),
        Column::text("Scopes"),
        Column::text("Created"),
        Column::text("Last used"),
        Column::text("State"),
    ];
    let rows: Vec<Vec<Markup>> = keys.data.iter().map(|key| row(visitor, key)).collect();
    let address = |offset: u64| format!("{}?offset={offset}", Tab::Keys.path());
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = keys.pagination.has_more.then(|| address(asked.offset + PAGE));
    html! {
        p class="quiet" { (view::count(keys.pagination.total)) " keys" }
        (view::table("Keys", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn row(visitor: &Visitor, key: &Key) -> Vec<Markup> {
    let at = |at| view::ago(at, visitor.now(), visitor.zone());
    let state = html! {
        @match key.revoked_at {
            Some(revoked) => { (view::badge(Tone::Neutral, "revoked")) " " (at(revoked)) }
            None => {
                (view::badge(Tone::Good, "live")) " "
                @if visitor.may(ScopeName::SettingsWrite) { (revocation(visitor, key)) }
            }
        }
    };
    vec![
        html! { bdi { (key.title()) } br; code class="quiet" { (key.id) } },
        html! { @if key.kind == SDK { "apps" } @else { "programs" } },
        html! { @if key.scopes.is_empty() { "–" } @else { (key.scopes.join(", ")) } },
        at(key.created_at),
        html! { @match key.last_used_at { Some(used) => (at(used)), None => "never" } },
        state,
    ]
}

fn revocation(visitor: &Visitor, key: &Key) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: &format!("revoke-{}", key.id),
        button: "Revoke…",
        title: "Revoke this key?",
        explanation: "What uses it is refused within a second. This cannot be undone.",
        name: key.title(),
        action: &revoke_path(&key.id),
        hidden: &visitor.csrf_field(),
    })
}

fn revoke_path(id: &str) -> String {
    path(["console", "settings", "keys", id, "revoke"])
}

fn form(visitor: &Visitor, draft: &Draft, failure: Option<&Failure>) -> Markup {
    let kinds = [
        Choice { value: "api", label: "Programs: an API key with scopes" },
        Choice { value: SDK, label: "Apps: an SDK key, public and without scopes" },
    ];
    let fault = |name: &str| failure.and_then(|failure| failure.at(name));
    let name = fault("name");
    let scopes = fault("scopes").map(|fault| match draft.scopes.as_slice() {
        [] => "Choose at least one for an API key".to_owned(),
        _ => fault,
    });
    let content = html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) { (view::alert(&rest)) }
        form method="post" action=(Tab::Keys.path()) {
            (visitor.csrf_field())
            (view::field(&Field::text("name", "Name", &draft.name).fault(name.as_deref())
                .hint("What the key is called in this list")))
            (view::select("kind", "For", &draft.kind, &kinds))
            fieldset {
                legend { "Scopes" }
                // A key has no scope that the session lacks.
                @for scope in visitor.scopes().names() {
                    @let is_checked = draft.scopes.iter().any(|chosen| chosen == scope.as_str());
                    (view::check("scopes", scope.as_str(), scope.as_str(), is_checked))
                }
                @if let Some(fault) = scopes { p class="fault" { (fault) } }
            }
            button class="button primary" type="submit" { "Make the key" }
        }
    };
    view::card("New key", &content)
}

#[derive(Deserialize)]
struct Created {
    #[serde(flatten)]
    described: Key,
    key: String,
}

pub(super) async fn create(visitor: Visitor, form: Form) -> PageResult<Response> {
    let draft = Draft::of(&form);
    match visitor.call(Method::POST, "/keys").json(&draft.body())?.read::<Created>().await {
        Ok(created) => {
            let notice = format!(
                "{} was made already, and its secret was shown once. If that is lost, revoke it and make another.",
                created.described.title()
            );
            Ok(visitor.shown_once(shown(&visitor, &created), Tab::Keys.path(), &notice))
        }
        Err(failure) if failure.keeps_form() => {
            let refused = Some(Refused::Form(&failure));
            Ok(page(&visitor, &Asked::default(), &draft, refused).await)
        }
        Err(failure) => Err(failure),
    }
}

/// The one page that shows the key, with what can be done with it.
fn shown(visitor: &Visitor, created: &Created) -> Response {
    let key = &created.described;
    let is_sdk = key.kind == SDK;
    let is_write_key = is_sdk || key.scopes.iter().any(|it| it == "*" || it == "events:write");
    let command = format!(
        "curl -s {}/events/track -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n  \
         -d '{{\"userId\":\"ann\",\"eventName\":\"Signed Up\"}}'",
        visitor.server_url(),
        created.key
    );
    let content = html! {
        section class="card" role="status" {
            h2 { "The key " bdi { (key.title()) } " was made" }
            p { strong { "It is shown once." } " Copy it now: only its hash is stored." }
            (view::copyable(&created.key))
            p { a href=(Tab::Keys.path()) { "Done" } }
        }
        @if is_write_key && !is_sdk { (view::card("Track an event", &view::copyable(&command))) }
        @if is_write_key { (snippets::card(visitor, &created.key, is_sdk)) }
    };
    Tab::Keys.page(visitor, None, &content)
}

pub(super) async fn revoke(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let key = find(&visitor, &id).await?;
    let revoked = async {
        let otherwise = "The name that was typed is not that of the key: nothing was revoked";
        form.confirmed(key.title(), otherwise)?;
        visitor.call(Method::DELETE, path(["keys", &id])).done().await
    };
    match revoked.await {
        Ok(()) => Ok(visitor.done(Tab::Keys.path(), &format!("{} was revoked.", key.title()))),
        Err(failure) if failure.keeps_form() => {
            let refused = Some(Refused::Change(&failure));
            Ok(page(&visitor, &Asked::default(), &Draft::default(), refused).await)
        }
        Err(failure) => Err(failure),
    }
}

/// A key of the workspace, looked for in its pages.
async fn find(visitor: &Visitor, id: &str) -> PageResult<Key> {
    let mut offset = 0_u64;
    loop {
        let call = visitor.get("/keys").query("limit", "200").query("offset", offset.to_string());
        let keys: Keys = call.read().await?;
        offset += keys.data.len() as u64;
        if let Some(key) = keys.data.into_iter().find(|key| key.id == id) {
            return Ok(key);
        }
        if !keys.pagination.has_more {
            return Err(Failure::not_found());
        }
    }
}
