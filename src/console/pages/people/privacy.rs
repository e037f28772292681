//! Requests to erase or export what is stored of a person, and how far they are.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{ENTRY, Profile, frame};
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    query::Query,
    view::{self, Column, Confirmation, Tone},
    visitor::{Form, Visitor},
};

/// The page of all requests.
pub(super) const PATH: &str = "/console/privacy";
/// Requests of one page.
const PAGE: u64 = 50;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    offset: u64,
}

/// What an erasure does with events.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Erasure {
    events: String,
}

/// A request as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    events: Option<String>,
    user_id: Option<String>,
    state: String,
    step: Option<String>,
    failure: Option<String>,
    requested_by: String,
    requested_at: Timestamp,
    finished_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl Request {
    fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "pending" | "running")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    has_more: bool,
}

#[derive(Deserialize)]
struct Requests {
    data: Vec<Request>,
    pagination: Pagination,
}

/// The tab of a person.
pub(super) fn tab(visitor: &Visitor, profile: &Profile) -> Markup {
    if let Err(failure) = require_scope(visitor) {
        return failure.card("Privacy");
    }
    let address = |does: &str| format!("{}/{does}", profile.path());
    let name = profile.name();
    let erasure = |id, button, title, explanation, events: &str| {
        view::confirm_by_name(&Confirmation {
            id,
            button,
            title,
            explanation,
            name: view::confirmable(&name, &profile.id),
            action: &address(&format!("erase?events={events}")),
            hidden: &visitor.csrf_field(),
        })
    };
    html! {
        (view::card("Export", &html! {
            p { "Everything that is stored of this person, as one JSON document, to be downloaded for seven days." }
            form method="post" action=(address("export")) {
                (visitor.csrf_field())
                button class="button" type="submit" { "Export" }
            }
        }))
        (view::card("Erase", &html! {
            p {
                "Everything that is stored of this person is erased from all stores, within minutes and for good. Opt-outs "
                "stay as hashes, so that a new profile with this address gets no message either."
            }
            div class="actions" {
                (erasure("erase", "Erase…", "Erase this person with their events?",
                    "Counts and revenue of the past become smaller. This cannot be undone.", "delete"))
                (erasure("anonymize", "Erase, keep counts…", "Erase this person, and keep their events without them?",
                    "Of each event its name, time and money stay. This cannot be undone.", "anonymize"))
            }
        }))
        p { a href=(PATH) { "All requests" } }
    }
}

async fn request(visitor: &Visitor, body: &Value) -> PageResult<()> {
    visitor.call(Method::POST, "/privacy/requests").json(body)?.done().await
}

/// Leads to the requests, or shows the tab again where there is none.
fn answer(
    visitor: &Visitor,
    profile: &Profile,
    requested: PageResult<()>,
    what: &str,
) -> PageResult<Response> {
    match requested {
        Ok(()) => Ok(visitor.done(PATH, &format!("{what} was requested."))),
        Err(failure) if failure.keeps_form() => {
            let tab = tab(visitor, profile);
            Ok(frame::page(visitor, profile, "privacy", Some(Refused::Change(&failure)), &tab))
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn export(visitor: Visitor, Path(user): Path<String>) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let requested = request(&visitor, &json!({"type": "export", "userId": profile.id})).await;
    answer(&visitor, &profile, requested, "An export")
}

pub(super) async fn erase(
    visitor: Visitor,
    Path(user): Path<String>,
    Query(Erasure { events }): Query<Erasure>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let requested = async {
        let otherwise = "The name that was typed is not that of the person: nothing was erased";
        form.confirmed(view::confirmable(&profile.name(), &profile.id), otherwise)?;
        let body = json!({"type": "erase", "userId": profile.id, "events": events});
        request(&visitor, &body).await
    };
    answer(&visitor, &profile, requested.await, "An erasure")
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> PageResult<Response> {
    require_scope(&visitor)?;
    let content = html! {
        p { a href=(ENTRY.path) { "People" } }
        h1 { "Privacy requests" }
        (requests(&visitor, &asked).await)
    };
    Ok(visitor.page(&ENTRY, "Privacy requests", &content))
}

/// The requests alone, asked for again while one of them is open.
pub(super) async fn part(visitor: Visitor, Query(asked): Query<Asked>) -> PageResult<Response> {
    require_scope(&visitor)?;
    Ok(view::part(StatusCode::OK, &requests(&visitor, &asked).await))
}

fn require_scope(visitor: &Visitor) -> PageResult<()> {
    if visitor.may(ScopeName::UsersDelete) {
        return Ok(());
    }
    Err(Failure::missing_scope(ScopeName::UsersDelete.as_str()))
}

async fn requests(visitor: &Visitor, asked: &Asked) -> Markup {
    let call = visitor
        .get("/privacy/requests")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let requests: Requests = match call.read().await {
        Ok(requests) => requests,
        Err(failure) => return failure.card("Requests"),
    };
    if requests.data.is_empty() {
        return view::empty(
            "No requests yet",
            &html! { p { "Erase or export a person under Privacy on their page." } },
        );
    }
    let columns = [
        Column::text("Request"),
        Column::text("Person"),
        Column::text("State"),
        Column::text("Requested"),
        Column::text("Document"),
    ];
    let rows: Vec<Vec<Markup>> = requests.data.iter().map(|it| row(visitor, it)).collect();
    let address = |offset: u64| format!("{PATH}?offset={offset}");
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = requests.pagination.has_more.then(|| address(asked.offset + PAGE));
    let is_open = requests.data.iter().any(Request::is_open);
    let again = format!("{PATH}/requests?offset={}", asked.offset);
    html! {
        div id="requests" hx-get=[is_open.then_some(again)] hx-trigger=[is_open.then_some("every 2s")]
            hx-swap="outerHTML" {
            (view::table("Privacy requests", &columns, &rows))
            (view::pager(before.as_deref(), after.as_deref()))
        }
    }
}

fn row(visitor: &Visitor, request: &Request) -> Vec<Markup> {
    let at = |at| view::ago(at, visitor.now(), visitor.zone());
    let tone = match request.state.as_str() {
        "done" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Info,
    };
    // With the person the document is erased.
    let has_document =
        request.kind == "export" && request.state == "done" && request.user_id.is_some();
    vec![
        html! {
            (request.kind)
            @if request.events.as_deref() == Some("anonymize") { span class="quiet" { ", counts stay" } }
        },
        html! {
            @match &request.user_id {
                Some(user) => a href=(path(["console", "people", user])) { code { (user) } },
                None => span class="quiet" { "erased" },
            }
        },
        html! {
            (view::badge(tone, &request.state))
            @if let Some(step) = &request.step { span class="quiet" { " " (step) } }
            @if let Some(failure) = &request.failure { p class="quiet" { (failure) } }
            @if let Some(finished) = request.finished_at { " " (at(finished)) }
        },
        html! { (at(request.requested_at)) span class="quiet" { " by " bdi { (request.requested_by) } } },
        html! {
            @if has_document {
                a href=(path(["console", "privacy", &request.id, "download"])) download { "Download" }
                @if let Some(expires) = request.expires_at { span class="quiet" { ", until " (view::exact(expires, visitor.zone())) } }
            }
        },
    ]
}

pub(super) async fn download(visitor: Visitor, Path(id): Path<String>) -> PageResult<Response> {
    visitor.get(path(["privacy", "requests", &id, "download"])).begun().await
}
