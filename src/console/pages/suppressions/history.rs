//! The history of an identifier: when and by which credential rows of it were added and removed.

use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::parts::{reach, reason_badge, search};
use crate::{
    in_process::path,
    view::{self, Column, Tone},
    visitor::Visitor,
};

/// Entries of one page.
const PAGE: u64 = 50;

#[derive(Deserialize)]
struct History {
    items: Vec<Entry>,
    total: u64,
}

/// An entry as the API answers it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    action: String,
    at: Timestamp,
    reason: String,
    source: Option<String>,
    list_id: Option<String>,
    actor: Option<String>,
}

/// The history of an identifier from this entry on, newest first.
pub(super) async fn history(
    visitor: &Visitor,
    channel: &str,
    identifier: &str,
    offset: u64,
) -> Markup {
    let call = visitor
        .get(path(["suppressions", identifier, "history"]))
        .query("channel", channel)
        .query("limit", PAGE.to_string())
        .query("offset", offset.to_string());
    let History { items, total } = match call.read().await {
        Ok(history) => history,
        Err(failure) => return failure.card("History"),
    };
    if total == 0 {
        return view::card("History", &html! { p class="quiet" { "It was never suppressed." } });
    }
    let columns = [
        Column::text("When"),
        Column::text("What"),
        Column::text("Reason"),
        Column::text("For"),
        Column::text("Source"),
        Column::text("By"),
    ];
    let rows: Vec<Vec<Markup>> = items.iter().map(|entry| cells(visitor, entry)).collect();
    let address = |offset: u64| format!("{}&offset={offset}", search(channel, identifier));
    let before = (offset > 0).then(|| address(offset.saturating_sub(PAGE)));
    let after = (offset + (rows.len() as u64) < total).then(|| address(offset + PAGE));
    view::card(
        "History",
        &html! {
            (view::table("History", &columns, &rows))
            (view::pager(before.as_deref(), after.as_deref()))
        },
    )
}

fn cells(visitor: &Visitor, entry: &Entry) -> Vec<Markup> {
    let action = match entry.action.as_str() {
        "added" => view::badge(Tone::Info, "added"),
        "removed" => view::badge(Tone::Neutral, "removed"),
        other => view::badge(Tone::Neutral, other),
    };
    vec![
        view::ago(entry.at, visitor.now(), visitor.zone()),
        action,
        reason_badge(&entry.reason),
        reach(entry.list_id.as_deref()),
        html! { bdi { (entry.source.as_deref().unwrap_or("the platform")) } },
        html! { @if let Some(actor) = &entry.actor { bdi { (actor) } } @else { "–" } },
    ]
}
