//! When a recurring campaign would be sent next by the schedule as it is typed.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use kernel::{Timestamp, zone::Zone};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Whole, draft::Draft, fields, find};
use crate::{
    failure::{PageResult, ShownAt, at_fields},
    view,
    visitor::{Form, Visitor},
};

#[derive(Deserialize)]
struct Upcoming {
    #[serde(rename = "upcoming")]
    at: Vec<Timestamp>,
    timezone: String,
}

/// The part of the form of a campaign, asked for while the schedule is typed.
pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    let shown = of(&visitor, &Draft::of_form(&form), Some(&whole)).await;
    Ok(view::part(StatusCode::OK, &shown))
}

/// Likewise before the campaign is saved.
pub(super) async fn show_unsaved(visitor: Visitor, form: Form) -> Response {
    let shown = of(&visitor, &Draft::of_form(&form), None).await;
    view::part(StatusCode::OK, &shown)
}

/// The next occurrences by the clock of the schedule's zone; nothing of a campaign that is not recurring.
pub(super) async fn of(visitor: &Visitor, draft: &Draft, whole: Option<&Whole>) -> Markup {
    if draft.send_type() != "recurring" {
        return html! {};
    }
    let schedule = match draft.schedule() {
        Ok(schedule) => schedule,
        Err(errors) => return faults(&errors),
    };
    if schedule.get("frequency").is_none_or(Value::is_null) {
        return html! { p class="quiet" { "The next occurrences are shown here once the schedule says how often." } };
    }
    match ask(visitor, &schedule, whole).await {
        Ok(Upcoming { at, timezone }) => next(&at, timezone.parse().unwrap_or(visitor.zone())),
        Err(failure) if failure.is_of_fields() => faults(&failure.errors),
        Err(failure) => view::alert(&failure.text()),
    }
}

async fn ask(
    visitor: &Visitor,
    schedule: &Map<String, Value>,
    whole: Option<&Whole>,
) -> PageResult<Upcoming> {
    let mut body = json!({"recurringSchedule": schedule});
    if let Some(whole) = whole {
        body["campaignId"] = json!(whole.campaign.id);
        body["scheduledTimezone"] = whole.latest()["scheduledTimezone"].clone();
    }
    let call = visitor.call(Method::POST, "/campaigns/preview-schedule").json(&body)?;
    call.changes_nothing().read().await
}

fn next(at: &[Timestamp], zone: Zone) -> Markup {
    html! {
        h3 { "Next occurrences" }
        @if at.is_empty() { p class="quiet" { "None." } }
        ol { @for at in at { li { (view::exact(*at, zone)) } } }
    }
}

fn faults(errors: &[String]) -> Markup {
    let shown = fields::schedule("recurring").iter();
    let shown: Vec<ShownAt<'_>> =
        shown.map(|it| ShownAt { path: it.path, field: it.path, label: it.label }).collect();
    let (found, others) = at_fields(errors, &shown);
    html! {
        p class="quiet" { "There are no next occurrences yet:" }
        (view::faults(&found))
        @if !others.is_empty() { ul { @for error in &others { li { (error) } } } }
    }
}
