//! `/console/live`: events as they arrive and as they are refused.

mod import;
mod stream;

use axum::{Router, response::Response, routing::get};
use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use crate::{
    assets,
    failure::{Failure, PageResult},
    in_process::Call,
    query::Query,
    state::ConsoleState,
    view::{self, Choice, Entry, Field, Kind, Tone},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry =
    Entry { name: "Live", path: "/console/live", scopes: &[ScopeName::EventsRead] };

/// The stream of the page, as Server-Sent Events.
const STREAM_PATH: &str = "/console/live/stream";
/// Events of before that the page begins with.
const SHOWN_BEFORE: usize = 50;

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(show))
        .route(STREAM_PATH, get(stream::pass))
        .route(import::PATH, get(import::show).post(import::import))
}

/// What is watched, in the address of the page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filters {
    name: String,
    user_id: String,
    status: String,
}

impl Filters {
    fn on<'c>(&self, call: Call<'c>) -> Call<'c> {
        call.query_if("name", Some(self.name.trim()))
            .query_if("userId", Some(self.user_id.trim()))
            .query_if("status", Some(&self.status))
    }

    fn query(&self) -> String {
        let pairs = [
            ("name", self.name.trim()),
            ("userId", self.user_id.trim()),
            ("status", self.status.as_str()),
        ];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
    }
}

async fn show(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    let (accepted, refused) =
        future::join(accepted(&visitor, &filters), refused(&visitor, &filters)).await;
    let problem = [&accepted, &refused].into_iter().find_map(|it| it.as_ref().err()).cloned();
    let mut events: Vec<LiveEvent> =
        [accepted, refused].into_iter().flat_map(Result::unwrap_or_default).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.at));
    events.truncate(SHOWN_BEFORE);
    visitor.page(&ENTRY, "Live events", &content(&visitor, &filters, &events, problem.as_ref()))
}

fn content(
    visitor: &Visitor,
    filters: &Filters,
    events: &[LiveEvent],
    problem: Option<&Failure>,
) -> Markup {
    let query = filters.query();
    html! {
        script type="module" src=(assets::url("live.js")) {}
        div class="head" {
            h1 { "Live events" }
            span id="live-state" class="quiet" role="status" { "Needs scripts: reload for newer ones" }
            button class="button" type="button" id="live-pause" aria-pressed="false" hidden { "Pause" }
            @if import::is_open_to(visitor) { a class="button" href=(import::PATH) { "Import" } }
        }
        (filter_form(filters))
        @if let Some(problem) = problem { (view::alert(&problem.text())) }
        ol class="live-list" id="live" data-stream={ (STREAM_PATH) "?" (query) } {
            @for event in events { (item(visitor, event)) }
        }
        @if events.is_empty() {
            div id="live-empty" {
                (view::empty("No event yet", &html! {
                    p { "Events are shown here as they arrive, and those that were refused with the reason." }
                    (view::copyable(&track_command(visitor)))
                }))
            }
        }
        template id="live-item" { (blank_item(visitor)) }
    }
}

fn track_command(visitor: &Visitor) -> String {
    format!(
        "curl -s {}/events/track -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \
         -d '{{\"userId\":\"ann\",\"eventName\":\"Signed Up\"}}'",
        visitor.server_url()
    )
}

fn filter_form(filters: &Filters) -> Markup {
    let statuses = [
        Choice { value: "", label: "All" },
        Choice { value: "accepted", label: "Accepted" },
        Choice { value: "rejected", label: "Refused" },
    ];
    html! {
        form class="filters" method="get" action=(ENTRY.path) autocomplete="off" {
            (view::field(&Field::text("name", "Event name", &filters.name).of(Kind::Search)))
            (view::field(&Field::text("userId", "User id", &filters.user_id).of(Kind::Search)))
            (view::select("status", "Status", &filters.status, &statuses))
            button class="button" type="submit" { "Filter" }
        }
    }
}

/// An event of before the page was opened.
struct LiveEvent {
    at: Timestamp,
    name: String,
    user: Option<String>,
    /// Why it was refused.
    reason: Option<String>,
    json: Value,
}

fn item(visitor: &Visitor, event: &LiveEvent) -> Markup {
    let (tone, status) = match event.reason {
        Some(_) => (Tone::Bad, "refused"),
        None => (Tone::Good, "accepted"),
    };
    html! {
        li {
            details {
                summary {
                    (view::badge(tone, status))
                    strong { (event.name) }
                    @if let Some(user) = &event.user { span class="quiet" { (user) } }
                    @if let Some(reason) = &event.reason { span class="fault" { (reason) } }
                    span class="quiet" { (view::ago(event.at, visitor.now(), visitor.zone())) }
                }
                @if let (Some(user), true) = (&event.user, visitor.may(ScopeName::UsersRead)) {
                    p { a href=(crate::in_process::path(["console", "people", user])) { "Open the person" } }
                }
                (view::json(&event.json))
            }
        }
    }
}

/// The item that the script fills for each event of the stream.
fn blank_item(visitor: &Visitor) -> Markup {
    html! {
        li {
            details {
                summary {
                    span class="badge" data-slot="status" {}
                    strong data-slot="name" {}
                    span class="quiet" data-slot="user" {}
                    span class="fault" data-slot="reason" {}
                    span class="quiet" data-slot="adjusted" {}
                    time class="quiet" data-slot="time" datetime="1970-01-01" {}
                }
                @if visitor.may(ScopeName::UsersRead) {
                    p { a data-slot="person" href="/console/people" { "Open the person" } }
                }
                pre class="json" tabindex="0" { code data-slot="json" {} }
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rejection {
    at: Timestamp,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    user_id: Option<String>,
    reason: String,
}

#[derive(Deserialize)]
struct Rejections {
    data: Vec<Value>,
}

async fn refused(visitor: &Visitor, filters: &Filters) -> PageResult<Vec<LiveEvent>> {
    if filters.status == "accepted" {
        return Ok(Vec::new());
    }
    let call = visitor.get("/events/rejected").query("limit", "200");
    let list: Rejections = call.read().await?;
    let (name, user) = (filters.name.trim(), filters.user_id.trim());
    let events = list.data.into_iter().filter_map(|json| {
        let event = Rejection::deserialize(&json).ok()?;
        let is_wanted = (name.is_empty() || event.name.as_deref() == Some(name))
            && (user.is_empty() || event.user_id.as_deref() == Some(user));
        is_wanted.then(|| LiveEvent {
            at: event.at,
            name: event.name.unwrap_or_else(|| "(no name)".to_owned()),
            user: event.user_id.filter(|user| !user.is_empty()),
            reason: Some(event.reason),
            json,
        })
    });
    Ok(events.take(SHOWN_BEFORE).collect())
}

#[derive(Deserialize)]
struct Stored {
    event_name: String,
    #[serde(default)]
    user_id: String,
    timestamp: String,
}

async fn accepted(visitor: &Visitor, filters: &Filters) -> PageResult<Vec<LiveEvent>> {
    if filters.status == "rejected" {
        return Ok(Vec::new());
    }
    let call = visitor
        .get("/events/query")
        .query("limit", SHOWN_BEFORE.to_string())
        .query_if("eventName", Some(filters.name.trim()))
        .query_if("userId", Some(filters.user_id.trim()));
    let events: Vec<Value> = call.read().await?;
    let events = events.into_iter().filter_map(|json| {
        let event = Stored::deserialize(&json).ok()?;
        Some(LiveEvent {
            at: view::event_time(&event.timestamp)?,
            name: event.event_name,
            user: Some(event.user_id).filter(|user| !user.is_empty()),
            reason: None,
            json,
        })
    });
    Ok(events.collect())
}
