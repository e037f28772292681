//! Links, failures and times of a report.

use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::frame;
use crate::{
    view::{self, Column},
    visitor::Visitor,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Links {
    #[serde(rename = "links")]
    rows: Vec<LinkRow>,
    total_clicks: u64,
    unique_clickers: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkRow {
    url: String,
    label: Option<String>,
    total_clicks: u64,
    unique_clicks: u64,
    click_rate: f64,
    last_clicked_at: Timestamp,
}

/// The links, most clicked first.
pub(super) fn links(links: &Links, visitor: &Visitor, sources: &Markup) -> Markup {
    let columns = [
        Column::text("Link"),
        Column::text("Address"),
        Column::number("People"),
        Column::number("Clicks"),
        Column::number("Rate"),
        Column::text("Last click"),
    ];
    let row = |link: &LinkRow| {
        vec![
            html! { bdi { (link.label.as_deref().unwrap_or("–")) } },
            address(&link.url),
            html! { (view::count(link.unique_clicks)) },
            html! { (view::count(link.total_clicks)) },
            html! { (view::percent(link.click_rate)) },
            view::ago(link.last_clicked_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = links.rows.iter().map(row).collect();
    view::card(
        "Links",
        &html! {
            @if rows.is_empty() {
                p class="quiet" { "No link was clicked yet." }
            } @else {
                p { (view::count(links.unique_clickers)) " people clicked " (view::count(links.total_clicks)) " times." }
                (view::table("Links", &columns, &rows))
            }
            (sources)
        },
    )
}

/// An address as a link where it is one of the web, else as text.
fn address(url: &str) -> Markup {
    let is_of_the_web =
        url::Url::parse(url).is_ok_and(|it| matches!(it.scheme(), "http" | "https"));
    html! {
        @if is_of_the_web {
            a href=(url) rel="noreferrer noopener" target="_blank" { (url) }
        } @else { (url) }
    }
}

/// The codes of failures.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Failures(Vec<FailureRow>);

#[derive(Deserialize)]
struct FailureRow {
    code: String,
    reason: String,
    count: u64,
}

/// Why messages failed or bounced, the most frequent code first.
pub(super) fn failures(failures: &Failures, sources: &Markup) -> Markup {
    let columns = [Column::text("Code"), Column::text("Reason"), Column::number("Messages")];
    let row = |failure: &FailureRow| {
        vec![
            html! { code { (failure.code) } },
            html! { (failure.reason) },
            html! { (view::count(failure.count)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = failures.0.iter().map(row).collect();
    view::card(
        "Failures",
        &html! {
            @if rows.is_empty() { p class="quiet" { "No message failed." } }
            @else { (view::table("Failures", &columns, &rows)) }
            (sources)
        },
    )
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Times {
    sample_size: u64,
    median_seconds_to_open: Option<f64>,
    median_seconds_to_click: Option<f64>,
    buckets: Vec<Bucket>,
}

#[derive(Deserialize)]
struct Bucket {
    label: String,
    opened: u64,
    clicked: u64,
}

/// The time from sending to the first opening and click.
pub(super) fn times(times: &Times, sources: &Markup) -> Markup {
    let columns = [
        Column::text("After"),
        Column::number("Opened"),
        Column::number("of all opened"),
        Column::number("Clicked"),
    ];
    let row = |bucket: &Bucket| {
        vec![
            html! { (bucket.label) },
            html! { (view::count(bucket.opened)) },
            html! { (frame::share(bucket.opened, times.sample_size)) },
            html! { (view::count(bucket.clicked)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = times.buckets.iter().map(row).collect();
    let median = |seconds: Option<f64>| {
        html! {
            @match seconds {
                Some(seconds) => { (view::decimal(seconds)) " s" },
                None => "–",
            }
        }
    };
    view::card(
        "Time to engage",
        &html! {
            @if times.sample_size == 0 {
                p class="quiet" { "No message was opened yet." }
            } @else {
                (view::facts([
                    ("Messages opened", html! { (view::count(times.sample_size)) }),
                    ("Half had opened after", median(times.median_seconds_to_open)),
                    ("Half had clicked after", median(times.median_seconds_to_click)),
                ]))
                (view::table("Time to engage", &columns, &rows))
            }
            (sources)
        },
    )
}
