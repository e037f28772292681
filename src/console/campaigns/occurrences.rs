//! The sendings of a campaign that goes out several times, each with its counts.

use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::frame;
use crate::{
    view::{self, Column},
    visitor::Visitor,
};

/// Sendings that are shown.
pub(super) const SHOWN: &str = "50";

/// The answer of `send-occurrences`.
#[derive(Deserialize)]
pub(super) struct Occurrences {
    data: Vec<Occurrence>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Occurrence {
    send_date: Option<String>,
    #[serde(rename = "occurrence")]
    number: u32,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    queued: u64,
    sent: u64,
    failed: u64,
    opened: u64,
    clicked: u64,
    conversions: f64,
    revenue: f64,
}

/// The sendings, newest first; nothing of a campaign that went out once.
pub(super) fn card(found: &Occurrences, visitor: &Visitor, sources: &Markup) -> Markup {
    if found.total < 2 {
        return html! {};
    }
    let columns = [
        Column::number("Sending"),
        Column::text("Day"),
        Column::text("Began"),
        Column::text("Ended"),
        Column::number("Made"),
        Column::number("Sent"),
        Column::number("Opened"),
        Column::number("Clicked"),
        Column::number("Failed"),
        Column::number("Conversions"),
        Column::number("Revenue"),
    ];
    let ago = |at: Option<Timestamp>| {
        html! {
            @match at {
                Some(at) => (view::ago(at, visitor.now(), visitor.zone())),
                None => "–",
            }
        }
    };
    let row = |of: &Occurrence| {
        vec![
            html! { (of.number) },
            html! { (of.send_date.as_deref().unwrap_or("–")) },
            ago(of.started_at),
            ago(of.completed_at),
            html! { (view::count(of.queued)) },
            html! { (view::count(of.sent)) },
            html! { (view::count(of.opened)) " (" (frame::share(of.opened, of.sent)) ")" },
            html! { (view::count(of.clicked)) " (" (frame::share(of.clicked, of.sent)) ")" },
            html! { (view::count(of.failed)) },
            html! { (view::decimal(of.conversions)) },
            html! { (view::decimal(of.revenue)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = found.data.iter().map(row).collect();
    let older = found.total.saturating_sub(found.data.len() as u64);
    view::card(
        "Sendings",
        &html! {
            (view::table("Sendings", &columns, &rows))
            @if older > 0 { p class="quiet" { (view::count(older)) " older ones are in the API: send-occurrences." } }
            (sources)
        },
    )
}
