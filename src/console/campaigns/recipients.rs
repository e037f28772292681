//! The recipients of a campaign, each with the state of the latest message.

use axum::{extract::Path, response::Response};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;

use super::{Whole, find, frame, in_app};
use crate::{
    failure::PageResult,
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Tone},
    visitor::Visitor,
};

/// Rows of a page.
const PAGE: u64 = 50;

/// States that can be filtered by, with their labels.
const STATES: [Choice<'static>; 11] = [
    Choice { value: "", label: "Any" },
    Choice { value: "queued", label: "Not sent yet" },
    Choice { value: "sent", label: "Sent" },
    Choice { value: "delivered", label: "Delivered" },
    Choice { value: "opened", label: "Opened" },
    Choice { value: "clicked", label: "Clicked" },
    Choice { value: "bounced", label: "Bounced" },
    Choice { value: "failed", label: "Failed" },
    Choice { value: "skipped", label: "Skipped" },
    Choice { value: "cancelled", label: "Cancelled" },
    Choice { value: "control", label: "Control group" },
];

/// What the address of the page names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    status: String,
    offset: u64,
}

#[derive(Deserialize)]
struct Recipients {
    data: Vec<Recipient>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recipient {
    user_id: String,
    external_id: Option<String>,
    email: Option<String>,
    variant_id: Option<String>,
    occurrence: u32,
    status: String,
    skip_reason: Option<String>,
    failure_code: Option<String>,
    failure_reason: Option<String>,
    last_event_at: Timestamp,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    let content = if whole.campaign.channel == "in_app" {
        in_app::list(&visitor, &whole, PAGE, asked.offset).await
    } else {
        list(&visitor, &whole, &asked).await
    };
    Ok(frame::page(&visitor, &whole.campaign, frame::Page::Recipients, None, &content))
}

fn address(whole: &Whole, asked: &Asked, offset: u64) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if !asked.status.is_empty() {
        query.append_pair("status", &asked.status);
    }
    if offset > 0 {
        query.append_pair("offset", &offset.to_string());
    }
    format!("{}?{}", whole.campaign.path_of("recipients"), query.finish())
}

async fn list(visitor: &Visitor, whole: &Whole, asked: &Asked) -> Markup {
    let campaign = &whole.campaign;
    let call = visitor
        .get(path(["campaigns", &campaign.id, "recipients"]))
        .query_if("status", Some(&asked.status))
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let found: PageResult<Recipients> = call.read().await;
    html! {
        form class="filters" method="get" action=(campaign.path_of("recipients")) autocomplete="off" {
            (view::select("status", "Latest message", &asked.status, &STATES))
            button class="button primary" type="submit" { "Show" }
        }
        @match &found {
            Ok(found) => (rows(visitor, whole, asked, found)),
            Err(failure) => (failure.card("Recipients")),
        }
    }
}

fn rows(visitor: &Visitor, whole: &Whole, asked: &Asked, found: &Recipients) -> Markup {
    if found.data.is_empty() {
        return view::empty(
            "No recipients",
            &html! {
                p {
                    @if asked.status.is_empty() { "They are listed once messages of the campaign are made." }
                    @else { a href=(whole.campaign.path_of("recipients")) { "Show recipients in any state" } }
                }
            },
        );
    }
    let columns = [
        Column::text("Person"),
        Column::text("Variant"),
        Column::number("Sending"),
        Column::text("Latest message"),
        Column::text("Why"),
        Column::text("Changed"),
        Column::text("Messages"),
    ];
    let rows: Vec<Vec<Markup>> = found.data.iter().map(|it| row(visitor, whole, it)).collect();
    let before =
        (asked.offset > 0).then(|| address(whole, asked, asked.offset.saturating_sub(PAGE)));
    let after = found.pagination.has_more.then(|| address(whole, asked, asked.offset + PAGE));
    html! {
        p class="quiet" { (view::count(found.pagination.total)) " recipients" }
        (view::table("Recipients", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn row(visitor: &Visitor, whole: &Whole, of: &Recipient) -> Vec<Markup> {
    let name = of.external_id.as_deref().or(of.email.as_deref()).unwrap_or(&of.user_id);
    let label = STATES.iter().find(|state| state.value == of.status);
    let tone = match of.status.as_str() {
        "failed" | "bounced" => Tone::Bad,
        "skipped" | "cancelled" => Tone::Warning,
        "opened" | "clicked" => Tone::Good,
        _ => Tone::Neutral,
    };
    let report = format!(
        "{}?{}",
        whole.campaign.path_of("report"),
        form_urlencoded::Serializer::new(String::new()).append_pair("person", &of.user_id).finish()
    );
    let code = of.skip_reason.as_ref().or(of.failure_code.as_ref());
    vec![
        html! { a href=(path(["console", "people", &of.user_id])) { bdi { (name) } } },
        html! { bdi { (of.variant_id.as_deref().map_or("–", |id| whole.variant_name(id))) } },
        html! { (of.occurrence) },
        view::badge(tone, label.map_or(of.status.as_str(), |state| state.label)),
        html! {
            @if let Some(code) = code { (frame::words(code)) }
            @if let Some(reason) = &of.failure_reason { " " span class="quiet" { (reason) } }
        },
        view::ago(of.last_event_at, visitor.now(), visitor.zone()),
        html! { a href=(report) aria-label={ "Events of the messages to " (name) } { "Events" } },
    ]
}
