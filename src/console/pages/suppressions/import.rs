//! Importing many rows: a file, or lines that are typed. Everything is checked before anything is imported. A script sends
//! files of any size piece by piece; without it one form does.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, StatusCode, header::ACCEPT};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    ENTRY, IMPORT, channel_of, ledger_path,
    lines::{self, Line},
    to_write, writable,
};
use crate::{
    failure::{Failure, PageResult},
    view::{self, Column, Field, Kind},
    visitor::{Form, Visitor},
};

/// Rows that the API takes in one call.
const CALL_ROWS: usize = 5_000;
/// Rows of one call that checks. The API names the first 1,000 faults of a call: all of these, two of each row.
const CHECK_ROWS: usize = 500;
/// Rows of one import without a script.
const ROWS_MAX: usize = 50_000;
/// Longest wait for one call, which writes thousands of rows.
const CALL_WAIT_MAX: Duration = Duration::from_mins(1);
/// Faulty lines that are named.
const FAULTS_SHOWN: usize = 20;
/// Characters that are shown of what a faulty line has.
const SHOWN_CHARS: usize = 60;

pub(super) async fn show(visitor: Visitor) -> PageResult<Response> {
    page(&visitor, &Form::default(), &Refusal::default())
}

/// Why nothing was imported.
#[derive(Debug, Default)]
struct Refusal {
    failure: Option<Failure>,
    faults: Faults,
}

/// The faulty lines of a file.
#[derive(Debug, Default)]
struct Faults {
    count: usize,
    /// The first of them.
    named: Vec<Fault>,
}

/// A line that cannot be read.
#[derive(Debug, Serialize)]
struct Fault {
    line: usize,
    #[serde(skip)]
    identifier: String,
    reason: String,
}

impl Faults {
    /// Adds what the API refused of a part.
    fn add(&mut self, part: &[Line], errors: &[String]) {
        let mut last = None;
        for (index, reason) in errors.iter().filter_map(|error| fault_of(error)) {
            let Some(line) = part.get(index) else { continue };
            if last.replace(index) != Some(index) {
                self.count += 1;
                if self.named.len() < FAULTS_SHOWN {
                    let identifier = line.identifier.chars().take(SHOWN_CHARS).collect();
                    let reason = reason.to_owned();
                    self.named.push(Fault { line: line.number, identifier, reason });
                }
            } else if let Some(fault) = self.named.last_mut().filter(|it| it.line == line.number) {
                fault.reason = format!("{}; {reason}", fault.reason);
            }
        }
    }
}

/// The row and the problem in the API's text of a fault: `entries[7].reason must be one of: …`.
fn fault_of(error: &str) -> Option<(usize, &str)> {
    let (index, problem) = error.strip_prefix("entries[")?.split_once(']')?;
    Some((index.parse().ok()?, problem.trim_start_matches(['.', ' '])))
}

fn page(visitor: &Visitor, form: &Form, refusal: &Refusal) -> PageResult<Response> {
    let channels = writable(visitor);
    if channels.is_empty() {
        return Err(Failure::missing_scope(to_write("email").as_str()));
    }
    let chosen = form.text("channel").unwrap_or_default();
    let Refusal { failure, faults } = refusal;
    let fault = failure.as_ref().and_then(|failure| failure.at("entries"));
    let rest = failure.as_ref().and_then(|failure| failure.elsewhere(&["entries"]));
    let hint =
        "An address or number a line. After a comma the reason: manual (default) or unsubscribe";
    let content = html! {
        (view::import_script())
        p { a href=(ENTRY.path) { "Suppressions" } }
        h1 { "Import suppressions" }
        @if let Some(rest) = rest { (view::alert(&rest)) }
        @if faults.count > 0 { (faulty_lines(faults)) }
        form id="import" data-import="suppressions" method="post" action=(IMPORT) enctype="multipart/form-data" {
            (visitor.csrf_field())
            (view::select("channel", "Channel", chosen, &view::choices(&channels)))
            div class="field" {
                label for="file" { "A CSV file" }
                input id="file" name="file" type="file" aria-describedby="file-hint"
                    accept=".csv,.tsv,.txt,.gz,text/csv,text/plain";
                p class="hint" id="file-hint" {
                    "Columns identifier and reason, with a comma, a semicolon or a tab between them; a first line "
                    "with a heading, such as " code { "email,reason" } ", " code { "phone" } " or " code { "identifier" }
                    ", is left out. Of any size, also with gzip. Without scripts "
                    (view::count(ROWS_MAX as u64)) " lines without gzip."
                }
            }
            (view::field(&Field::text("entries", "Or lines", form.text("entries").unwrap_or_default())
                .of(Kind::Lines(10)).fault(fault.as_deref()).hint(hint)))
            p class="quiet" { "All lines are checked first: where one cannot be read, nothing is imported." }
            (view::import_buttons())
        }
        (view::import_state())
    };
    let status = match failure {
        Some(failure) => failure.status,
        None if faults.count > 0 => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    Ok(visitor.page_with(status, &ENTRY, "Import suppressions", &content))
}

fn faulty_lines(faults: &Faults) -> Markup {
    let columns = [Column::number("Line"), Column::text("Identifier"), Column::text("Problem")];
    let row = |fault: &Fault| {
        vec![
            html! { (fault.line) },
            html! { bdi { (fault.identifier) } },
            html! { bdi { (fault.reason) } },
        ]
    };
    let rows: Vec<Vec<Markup>> = faults.named.iter().map(row).collect();
    let others = faults.count - faults.named.len();
    let number = |count: usize| match count {
        1 => "1 line".to_owned(),
        count => format!("{} lines", view::count(count as u64)),
    };
    html! {
        (view::alert(&format!("Nothing was imported: {} cannot be read.", number(faults.count))))
        (view::table("Lines that cannot be read", &columns, &rows))
        @if others > 0 { p class="quiet" { "And " (number(others)) " more." } }
    }
}

/// What calls of the API came to.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Imported {
    received: u64,
    #[serde(rename = "imported")]
    stored: u64,
    skipped: u64,
}

/// What the check of a piece came to, for the script.
#[derive(Debug, Serialize)]
struct Checked {
    received: usize,
    refused: usize,
    reasons: Vec<Fault>,
}

pub(super) async fn import(
    visitor: Visitor,
    headers: HeaderMap,
    form: Form,
) -> PageResult<Response> {
    let channel = channel_of(&visitor, form.text("channel").unwrap_or_default())?;
    // As it was sent, so that lines have the numbers they have in the file.
    let texts = ["file", "entries"].into_iter().filter_map(|name| form.text(name));
    let text = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    let lines = lines::read(text);
    if headers.get(ACCEPT).is_some_and(|wanted| wanted == "application/json") {
        return piece(&visitor, &form, channel, &lines).await;
    }
    if lines.is_empty() || lines.len() > ROWS_MAX {
        let problem =
            format!("entries must have between 1 and {ROWS_MAX} lines, received {}", lines.len());
        let failure = Failure {
            errors: vec![problem],
            ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request")
        };
        return page(&visitor, &form, &Refusal { failure: Some(failure), ..Refusal::default() });
    }
    let faults = match check(&visitor, channel, &lines).await {
        Ok(faults) => faults,
        Err(failure) if failure.keeps_form() => {
            let refusal = Refusal { failure: Some(failure), ..Refusal::default() };
            return page(&visitor, &form, &refusal);
        }
        Err(failure) => return Err(failure),
    };
    if faults.count > 0 {
        return page(&visitor, &form, &Refusal { faults, ..Refusal::default() });
    }
    let mut sum = Imported::default();
    match send_all(&visitor, channel, &lines, &mut sum).await {
        Ok(()) => Ok(outcome(&visitor, channel, &sum, None)),
        Err(failure) if sum.received == 0 => {
            let refusal = Refusal { failure: Some(failure), ..Refusal::default() };
            page(&visitor, &form, &refusal)
        }
        // Rows that are there already are skipped, so the whole file can be sent once more.
        Err(failure) => Ok(outcome(&visitor, channel, &sum, Some(&failure))),
    }
}

/// Checks or imports a piece of a file for the script.
async fn piece(
    visitor: &Visitor,
    form: &Form,
    channel: &str,
    lines: &[Line],
) -> PageResult<Response> {
    if form.filled("check").is_some() {
        let Faults { count, named } = check(visitor, channel, lines).await?;
        let checked = Checked { received: lines.len(), refused: count, reasons: named };
        return Ok(Json(checked).into_response());
    }
    let mut sum = Imported::default();
    send_all(visitor, channel, lines, &mut sum).await?;
    Ok(Json(sum).into_response())
}

/// The lines that the API would refuse.
async fn check(visitor: &Visitor, channel: &str, lines: &[Line]) -> PageResult<Faults> {
    let mut faults = Faults::default();
    for part in lines.chunks(CHECK_ROWS) {
        let call = call(visitor, channel, part, true).await;
        match call {
            Ok(_) => {}
            Err(failure) if failure.errors.iter().any(|error| fault_of(error).is_some()) => {
                faults.add(part, &failure.errors);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(faults)
}

/// Imports lines that were checked, and counts what came of them also where it fails.
async fn send_all(
    visitor: &Visitor,
    channel: &str,
    lines: &[Line],
    sum: &mut Imported,
) -> PageResult<()> {
    for part in lines.chunks(CALL_ROWS) {
        let part = call(visitor, channel, part, false).await?;
        sum.received += part.received;
        sum.stored += part.stored;
        sum.skipped += part.skipped;
    }
    Ok(())
}

async fn call(
    visitor: &Visitor,
    channel: &str,
    lines: &[Line],
    is_dry_run: bool,
) -> PageResult<Imported> {
    let entries: Vec<Value> = lines.iter().map(Line::entry).collect();
    let body = json!({
        "channel": channel, "entries": entries, "onInvalid": "refuse", "dryRun": is_dry_run,
    });
    let call = visitor.call(Method::POST, "/suppressions/import").json(&body)?;
    let call = if is_dry_run { call.changes_nothing() } else { call };
    call.within(CALL_WAIT_MAX).read().await
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
        row("Skipped: there already or repeated", sum.skipped),
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
    fn faults_are_counted_by_line() {
        let line = |number: usize| Line {
            number,
            identifier: format!("{number}").repeat(100),
            reason: String::new(),
        };
        let part: Vec<Line> = (2..52).map(line).collect();
        let mut errors = vec!["entries[0].identifier must be an email address".to_owned()];
        errors.push("entries[0].reason must be one of: manual, unsubscribe".to_owned());
        errors.extend((10..40).map(|index| format!("entries[{index}] must be an object")));
        errors.push("channel is required".to_owned());
        let mut faults = Faults::default();
        faults.add(&part, &errors);
        assert_eq!((faults.count, faults.named.len()), (31, FAULTS_SHOWN));
        let first = &faults.named[0];
        let both =
            "identifier must be an email address; reason must be one of: manual, unsubscribe";
        assert_eq!((first.line, first.reason.as_str()), (2, both));
        assert_eq!(first.identifier.len(), SHOWN_CHARS);
        assert_eq!(
            (faults.named[1].line, faults.named[1].reason.as_str()),
            (12, "must be an object")
        );
    }
}
