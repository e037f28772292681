//! `/console/live/import`: events from a file. A script sends files of any size piece by piece; without it one form does.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, StatusCode, header::ACCEPT};
use maud::{Markup, html};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use web::auth::ScopeName;

use super::ENTRY;
use crate::{
    failure::{Failure, PageResult},
    view::{self, Column, Field, Kind},
    visitor::{Form, Visitor},
};

pub(super) const PATH: &str = "/console/live/import";
/// Events of one call of the API.
const CALL_EVENTS: usize = 500;
/// Longest wait for one call.
const CALL_WAIT_MAX: Duration = Duration::from_secs(30);
/// Refused lines that are named.
const REFUSED_SHOWN: usize = 20;

/// What became of the lines of a piece.
#[derive(Debug, Default, Serialize)]
struct Imported {
    accepted: usize,
    refused: usize,
    /// The first that were refused.
    reasons: Vec<RefusedLine>,
}

/// A line of the piece, counted from 1, and the API's reason.
#[derive(Debug, Serialize)]
struct RefusedLine {
    line: usize,
    reason: String,
}

/// The API's answer for several events.
#[derive(Deserialize)]
struct Tracked {
    accepted: usize,
    rejected: Vec<Rejected>,
}

#[derive(Deserialize)]
struct Rejected {
    index: usize,
    reason: String,
}

/// Whether the visitor may import.
pub(super) fn is_open_to(visitor: &Visitor) -> bool {
    visitor.may(ScopeName::EventsWrite)
}

fn check(visitor: &Visitor) -> PageResult<()> {
    if is_open_to(visitor) {
        return Ok(());
    }
    Err(Failure::missing_scope(ScopeName::EventsWrite.as_str()))
}

pub(super) async fn show(visitor: Visitor) -> PageResult<Response> {
    check(&visitor)?;
    Ok(page(&visitor, None))
}

fn page(visitor: &Visitor, fault: Option<&str>) -> Response {
    let hint = "An event a line, as POST /events/track takes it";
    let content = html! {
        (view::import_script())
        p { a href=(ENTRY.path) { "Live events" } }
        h1 { "Import events" }
        form id="import" data-import="events" method="post" action=(PATH) enctype="multipart/form-data" {
            (visitor.csrf_field())
            div class="field" {
                label for="file" { "A file" }
                input id="file" name="file" type="file" aria-describedby="file-hint"
                    accept=".ndjson,.jsonl,.json,.txt,.gz";
                p class="hint" id="file-hint" {
                    "NDJSON, also with gzip, of any size. Without scripts 8 MiB without gzip."
                }
            }
            (view::field(&Field::text("lines", "Or lines", "").of(Kind::Lines(6)).hint(hint).fault(fault)))
            p class="quiet" {
                "Events with a " code { "clientEventId" } " are stored once, however often a file is sent."
            }
            (view::import_buttons())
        }
        (view::import_state())
    };
    let status = if fault.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    visitor.page_with(status, &ENTRY, "Import events", &content)
}

pub(super) async fn import(
    visitor: Visitor,
    headers: HeaderMap,
    form: Form,
) -> PageResult<Response> {
    check(&visitor)?;
    let text = form.filled("file").or_else(|| form.filled("lines")).unwrap_or_default();
    let is_script = headers.get(ACCEPT).is_some_and(|wanted| wanted == "application/json");
    if text.is_empty() && !is_script {
        return Ok(page(&visitor, Some("must have at least one line")));
    }
    let imported = send_all(&visitor, text).await?;
    Ok(if is_script { Json(imported).into_response() } else { outcome(&visitor, &imported) })
}

/// Sends lines to the API, 500 in a call. Lines that are no JSON are refused here, since they would spoil a call.
async fn send_all(visitor: &Visitor, text: &str) -> PageResult<Imported> {
    let mut imported = Imported::default();
    let mut events: Vec<NumberedLine<'_>> = Vec::new();
    for (index, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = NumberedLine { number: index + 1, text: text.trim() };
        if line.text.is_empty() {
            continue;
        }
        if let Err(fault) = serde_json::from_str::<IgnoredAny>(line.text) {
            imported.refuse(line.number, format!("is not JSON: {fault}"));
            continue;
        }
        events.push(line);
        if events.len() == CALL_EVENTS {
            send(visitor, &events, &mut imported).await?;
            events.clear();
        }
    }
    if !events.is_empty() {
        send(visitor, &events, &mut imported).await?;
    }
    Ok(imported)
}

/// A line of the file with its number.
struct NumberedLine<'t> {
    number: usize,
    text: &'t str,
}

async fn send(
    visitor: &Visitor,
    events: &[NumberedLine<'_>],
    imported: &mut Imported,
) -> PageResult<()> {
    let texts: Vec<&str> = events.iter().map(|line| line.text).collect();
    let body = format!("[{}]", texts.join(","));
    let call = visitor.call(Method::POST, "/events/track").json_text(body);
    let tracked: Tracked = call.within(CALL_WAIT_MAX).read().await?;
    imported.accepted += tracked.accepted;
    for rejected in tracked.rejected {
        let number = events.get(rejected.index).map_or(0, |line| line.number);
        imported.refuse(number, rejected.reason);
    }
    Ok(())
}

impl Imported {
    fn refuse(&mut self, line: usize, reason: String) {
        self.refused += 1;
        if self.reasons.len() < REFUSED_SHOWN {
            self.reasons.push(RefusedLine { line, reason });
        }
    }
}

fn outcome(visitor: &Visitor, imported: &Imported) -> Response {
    let columns = [Column::number("Line"), Column::text("Reason")];
    let row = |refused: &RefusedLine| vec![html! { (refused.line) }, html! { (refused.reason) }];
    let rows: Vec<Vec<Markup>> = imported.reasons.iter().map(row).collect();
    let content = html! {
        p { a href=(PATH) { "Import events" } }
        h1 { "Import" }
        p {
            (view::count(imported.accepted as u64)) " events were accepted, "
            (view::count(imported.refused as u64)) " refused."
        }
        @if !rows.is_empty() { (view::table("Lines that were refused", &columns, &rows)) }
    };
    visitor.page(&ENTRY, "Import", &content)
}
