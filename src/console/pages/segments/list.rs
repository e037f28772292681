//! The list of segments.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{ENTRY, NEW, Segment};
use crate::{
    failure::PageResult,
    query::Query,
    view::{self, Column},
    visitor::Visitor,
};

/// Segments of one page.
const PAGE: u64 = 50;

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
struct Segments {
    data: Vec<Segment>,
    pagination: Pagination,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    let call = visitor
        .get("/segments")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let segments: PageResult<Segments> = call.read().await;
    let content = html! {
        div class="head" {
            h1 { "Segments" }
            @if visitor.may(ScopeName::UsersWrite) { (view::button_link(NEW, "New segment")) }
        }
        @match &segments {
            Ok(segments) => (found(&visitor, &asked, segments)),
            Err(failure) => (view::alert(&failure.text())),
        }
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

fn found(visitor: &Visitor, asked: &Asked, segments: &Segments) -> Markup {
    if segments.data.is_empty() {
        return none_found(visitor);
    }
    let columns = [Column::text("Segment"), Column::text("Description"), Column::text("Changed")];
    let row = |segment: &Segment| {
        vec![
            html! { a href=(segment.path()) { bdi { (segment.name) } } },
            html! { (segment.description) },
            view::ago(segment.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = segments.data.iter().map(row).collect();
    let address = |offset: u64| format!("{}?offset={offset}", ENTRY.path);
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = segments.pagination.has_more.then(|| address(asked.offset + PAGE));
    html! {
        p class="quiet" { (view::count(segments.pagination.total)) " segments" }
        (view::table("Segments", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn none_found(visitor: &Visitor) -> Markup {
    let command = format!(
        "curl -s {}/segments -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\\n  \
         -d '{{\"name\":\"Paying\",\"targeting\":{{\"filterGroups\":[{{\"filters\":[\
         {{\"type\":\"attribute\",\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"pro\"}}]}}]}}}}'",
        visitor.server_url()
    );
    view::empty(
        "No segments yet",
        &html! {
            p {
                "A segment is a set of people under a name, by what they are and what they did. Campaigns and other "
                "segments use it. "
                @if visitor.may(ScopeName::UsersWrite) { a href=(NEW) { "Make the first one" } ", or by the API:" }
            }
            (view::copyable(&command))
        },
    )
}
