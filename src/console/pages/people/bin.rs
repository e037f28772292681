//! `/console/people/deleted`: profiles in the recycle bin.

use axum::response::Response;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::{ENTRY, Search};
use crate::{
    failure::PageResult,
    query::Query,
    view::{self, Column, Field, Kind},
    visitor::Visitor,
};

pub(super) const PATH: &str = "/console/people/deleted";
/// Profiles of one page.
const PAGE: u64 = 50;

#[derive(Deserialize)]
struct Deleted {
    total: u64,
    items: Vec<DeletedProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeletedProfile {
    original_id: String,
    email: Option<String>,
    phone: Option<String>,
    external_id: Option<String>,
    deleted_at: Timestamp,
    deleted_by: String,
    deleted_via: String,
    deleted_reason: Option<String>,
    restored_at: Option<Timestamp>,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Search>) -> Response {
    let call = visitor
        .get("/users/deleted")
        .query_if("query", Some(asked.query.trim()))
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let deleted: PageResult<Deleted> = call.read().await;
    let content = html! {
        p { a href=(ENTRY.path) { "People" } }
        h1 { "Deleted people" }
        form class="filters" method="get" action=(PATH) autocomplete="off" role="search" {
            (view::field(&Field::text("query", "Search", &asked.query).of(Kind::Search)
                .hint("What an email or external id begins with, a phone number, or the internal id")))
            button class="button primary" type="submit" { "Search" }
        }
        @match &deleted {
            Ok(deleted) => (found(&visitor, &asked, deleted)),
            Err(failure) => (view::alert(&failure.text())),
        }
    };
    visitor.page(&ENTRY, "Deleted people", &content)
}

fn found(visitor: &Visitor, asked: &Search, deleted: &Deleted) -> Markup {
    if deleted.items.is_empty() {
        return view::empty(
            "No one was found",
            &html! { p { "People who are deleted are listed here. Their events stay." } },
        );
    }
    let columns = [
        Column::text("Internal id"),
        Column::text("External id"),
        Column::text("Email"),
        Column::text("Phone"),
        Column::text("Deleted"),
        Column::text("Reason"),
    ];
    let rows: Vec<Vec<Markup>> = deleted.items.iter().map(|it| row(visitor, it)).collect();
    let last = asked.offset + deleted.items.len() as u64;
    let before = (asked.offset > 0).then(|| asked.address(PATH, asked.offset.saturating_sub(PAGE)));
    let after = (last < deleted.total).then(|| asked.address(PATH, last));
    html! {
        p class="quiet" { (view::count(asked.offset + 1)) "–" (view::count(last)) " of " (view::count(deleted.total)) }
        (view::table("Deleted people", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn row(visitor: &Visitor, profile: &DeletedProfile) -> Vec<Markup> {
    let cell = |text: &Option<String>| html! { (text.as_deref().unwrap_or("–")) };
    let at = |at| view::ago(at, visitor.now(), visitor.zone());
    vec![
        html! { code { (profile.original_id) } },
        cell(&profile.external_id),
        cell(&profile.email),
        cell(&profile.phone),
        html! {
            (at(profile.deleted_at)) span class="quiet" { " by " bdi { (profile.deleted_by) } " (" (profile.deleted_via) ")" }
            @if let Some(restored) = profile.restored_at { ", restored " (at(restored)) }
        },
        cell(&profile.deleted_reason),
    ]
}
