//! Importing many rows: a file, or lines that are typed.

use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ENTRY, IMPORT, channel_of, ledger_path, writable};
use crate::{
    failure::{Failure, PageResult},
    view::{self, Column, Field, Kind},
    visitor::{Form, Visitor},
};

/// Rows that the API takes in one call.
const CALL_ROWS: usize = 5_000;
/// Rows of one import.
const ROWS_MAX: usize = 50_000;
/// Longest wait for one call, which writes thousands of rows.
const CALL_WAIT_MAX: Duration = Duration::from_mins(1);

pub(super) async fn show(visitor: Visitor) -> PageResult<Response> {
    page(&visitor, &Form::default(), None)
}

fn page(visitor: &Visitor, form: &Form, failure: Option<&Failure>) -> PageResult<Response> {
    let channels = writable(visitor);
    if channels.is_empty() {
        return Err(Failure::missing_scope(super::to_write("email").as_str()));
    }
    let chosen = form.text("channel").unwrap_or_default();
    let fault = failure.and_then(|failure| failure.at("entries"));
    let content = html! {
        p { a href=(ENTRY.path) { "Suppressions" } }
        h1 { "Import suppressions" }
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(&["entries"])) {
            (view::alert(&rest))
        }
        form method="post" action=(IMPORT) enctype="multipart/form-data" {
            (visitor.csrf_field())
            (view::select("channel", "Channel", chosen, &view::choices(&channels)))
            (view::field(&Field::text("entries", "Lines", form.text("entries").unwrap_or_default())
                .of(Kind::Lines(10)).fault(fault.as_deref())
                .hint("An address or number a line. After a comma the reason: unsubscribe, else it is manual")))
            div class="field" {
                label for="file" { "Or a CSV file" }
                input id="file" name="file" type="file" accept=".csv,.txt,text/csv,text/plain";
            }
            p class="quiet" { "At most " (view::count(ROWS_MAX as u64)) " lines at once. A first line "
                code { "identifier,reason" } " is left out." }
            button class="button primary" type="submit" { "Import" }
        }
    };
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    Ok(visitor.page_with(status, &ENTRY, "Import suppressions", &content))
}

/// What calls of the API came to.
#[derive(Debug, Default, Deserialize)]
struct Imported {
    received: u64,
    #[serde(rename = "imported")]
    stored: u64,
    skipped: u64,
}

pub(super) async fn import(visitor: Visitor, form: Form) -> PageResult<Response> {
    let channel = channel_of(&visitor, form.text("channel").unwrap_or_default())?;
    let text = form.filled("file").or_else(|| form.filled("entries")).unwrap_or_default();
    let entries = entries(text);
    if entries.is_empty() || entries.len() > ROWS_MAX {
        let problem =
            format!("entries must have between 1 and {ROWS_MAX} lines, received {}", entries.len());
        let failure = Failure {
            errors: vec![problem],
            ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request")
        };
        return page(&visitor, &form, Some(&failure));
    }
    let mut sum = Imported::default();
    for part in entries.chunks(CALL_ROWS) {
        match send(&visitor, channel, part).await {
            Ok(part) => {
                sum.received += part.received;
                sum.stored += part.stored;
                sum.skipped += part.skipped;
            }
            Err(failure) if sum.received == 0 && failure.is_of_fields() => {
                return page(&visitor, &form, Some(&failure));
            }
            Err(failure) if sum.received == 0 => return Err(failure),
            // Rows that are there already are skipped, so the whole file can be sent once more.
            Err(failure) => return Ok(outcome(&visitor, channel, &sum, Some(&failure))),
        }
    }
    Ok(outcome(&visitor, channel, &sum, None))
}

async fn send(visitor: &Visitor, channel: &str, entries: &[Value]) -> PageResult<Imported> {
    let body = json!({"channel": channel, "entries": entries});
    let call = visitor.call(Method::POST, "/suppressions/import").json(&body)?;
    call.within(CALL_WAIT_MAX).read().await
}

/// The lines of a file with an identifier and perhaps a reason.
fn entries(text: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let mut cells = line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"'));
        let identifier = cells.next().unwrap_or_default();
        let reason = cells.next().unwrap_or_default();
        let is_heading = index == 0 && identifier.eq_ignore_ascii_case("identifier");
        if !identifier.is_empty() && !is_heading {
            entries.push(json!({"identifier": identifier, "reason": reason}));
        }
    }
    entries
}

fn outcome(
    visitor: &Visitor,
    channel: &str,
    sum: &Imported,
    failure: Option<&Failure>,
) -> Response {
    let columns = [Column::text("Lines"), Column::number("Number")];
    let row = |name: &str, number: u64| vec![html! { (name) }, html! { (view::count(number)) }];
    let rows: [Vec<Markup>; 3] = [
        row("Received", sum.received),
        row("Imported", sum.stored),
        row("Skipped: there already, repeated or unreadable", sum.skipped),
    ];
    let content = html! {
        p { a href=(ledger_path(channel)) { "Suppressions" } }
        h1 { "Import" }
        @if let Some(failure) = failure {
            (view::alert(&format!("The import stopped: {}", failure.text())))
            p { "What is counted here was imported. Send the same file again to go on." }
        }
        (view::table("What was imported", &columns, &rows))
    };
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    visitor.page_with(status, &ENTRY, "Import", &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_reasons() {
        let read = entries(
            "\u{feff}Identifier,reason\r\na@x.test,unsubscribe\n\n \"b@x.test\" ; manual\nc@x.test",
        );
        let expected = json!([
            {"identifier": "a@x.test", "reason": "unsubscribe"},
            {"identifier": "b@x.test", "reason": "manual"},
            {"identifier": "c@x.test", "reason": ""},
        ]);
        assert_eq!(Value::from(read), expected);
        assert!(entries(" \n").is_empty());
    }
}
