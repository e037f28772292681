//! `/console/health/dead-letters`: the workspace's rows that ClickHouse refused, and offering them again.

use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use super::ENTRY;
use crate::{
    failure::{Failure, PageResult},
    query::Query,
    view::{self, Column},
    visitor::Visitor,
};

pub(in super::super) const PATH: &str = "/console/health/dead-letters";
/// Where the form of the retry is sent.
pub(super) const RETRY: &str = "/console/health/dead-letters/retry";
/// Rows of one page.
const PAGE: u64 = 50;
/// Longest wait for a retry, which takes 13 seconds with an embedded ClickHouse.
const RETRY_MAX: Duration = Duration::from_mins(2);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    offset: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct Letters {
    data: Vec<Letter>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Letter {
    at: Timestamp,
    table: String,
    event_id: Option<String>,
    name: Option<String>,
    code: u16,
    reason: String,
    row: Value,
}

/// How many there are of the workspace; nothing for those who may not see them.
pub(in super::super) async fn count(visitor: &Visitor) -> Option<PageResult<u64>> {
    visitor.may(ScopeName::EventsRead).then_some(())?;
    let letters = visitor.get("/dead-letters").query("limit", "1").shared().read::<Letters>().await;
    Some(letters.map(|letters| letters.pagination.total))
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> PageResult<Response> {
    page(&visitor, &asked, None).await
}

async fn page(visitor: &Visitor, asked: &Asked, failure: Option<&Failure>) -> PageResult<Response> {
    let call = visitor
        .get("/dead-letters")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let letters: Letters = call.read().await?;
    let content = html! {
        p { a href=(ENTRY.path) { "Health" } }
        h1 { "Dead letters" }
        p class="quiet" {
            "Rows of this workspace that ClickHouse refused for their content. They are on the disk of the server that "
            "answers; of several servers each has its own."
        }
        @if let Some(failure) = failure { (view::alert(&failure.text())) }
        (found(visitor, asked, &letters))
    };
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    Ok(visitor.page_with(status, &ENTRY, "Dead letters", &content))
}

fn found(visitor: &Visitor, asked: &Asked, letters: &Letters) -> Markup {
    if letters.data.is_empty() {
        return view::empty(
            "No dead letters",
            &html! { p { "Every acknowledged row was stored." } },
        );
    }
    let columns = [
        Column::text("Refused"),
        Column::text("Event"),
        Column::text("Reason"),
        Column::text("Row"),
    ];
    let rows: Vec<Vec<Markup>> = letters.data.iter().map(|letter| row(visitor, letter)).collect();
    let address = |offset: u64| format!("{PATH}?offset={offset}");
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = letters.pagination.has_more.then(|| address(asked.offset + PAGE));
    html! {
        p { (view::count(letters.pagination.total)) " rows, the newest first." }
        @if visitor.may(ScopeName::SettingsWrite) {
            form method="post" action=(RETRY) {
                (visitor.csrf_field())
                button class="button primary" type="submit" { "Offer all of them again" }
                " " span class="quiet" { "This takes 13 seconds or more." }
            }
        }
        (view::table("Dead letters", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn row(visitor: &Visitor, letter: &Letter) -> Vec<Markup> {
    let name = letter.name.as_deref().unwrap_or("no name");
    vec![
        view::ago(letter.at, visitor.now(), visitor.zone()),
        html! {
            bdi { (name) } br;
            span class="quiet" {
                "in " code { (letter.table) }
                @if let Some(id) = &letter.event_id { ", id " code { (id) } }
            }
        },
        html! {
            (letter.reason)
            @if letter.code > 0 { " " span class="quiet" { "(code " (letter.code) ")" } }
        },
        html! { details { summary { "Show" } (view::json(&letter.row)) } },
    ]
}

#[derive(Deserialize)]
struct Retried {
    inserted: u64,
    refused: u64,
}

pub(super) async fn retry(visitor: Visitor) -> PageResult<Response> {
    let call = visitor.call(Method::POST, "/dead-letters/retry").within(RETRY_MAX);
    match call.read::<Retried>().await {
        Ok(Retried { inserted, refused }) => {
            let (inserted, refused) = (view::count(inserted), view::count(refused));
            let notice = format!("{inserted} stored, {refused} refused again.");
            Ok(visitor.done(PATH, &notice))
        }
        Err(failure) if failure.is_of_fields() => {
            page(&visitor, &Asked::default(), Some(&failure)).await
        }
        Err(failure) => Err(failure),
    }
}
