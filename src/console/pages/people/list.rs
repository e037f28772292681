//! The list of people, and the search in it.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use super::{ENTRY, Profile, Search, bin};
use crate::{
    failure::PageResult,
    query::Query,
    view::{self, Column, Field, Kind},
    visitor::Visitor,
};

/// People of one page.
const PAGE: u64 = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct People {
    data: Vec<Profile>,
    pagination: Pagination,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Search>) -> Response {
    let query = asked.query.trim();
    let call = match query {
        "" => visitor.get("/users"),
        query => visitor.get("/users/search").query("query", query),
    };
    let call = call.query("limit", PAGE.to_string()).query("offset", asked.offset.to_string());
    let people: PageResult<People> = call.read().await;
    let content = html! {
        div class="head" {
            h1 { "People" }
            (view::button_link(bin::PATH, "Deleted people"))
        }
        form class="filters" method="get" action=(ENTRY.path) autocomplete="off" role="search" {
            (view::field(&Field::text("query", "Search", &asked.query).of(Kind::Search)
                .hint("An email, a phone number, an id, or a part of a name")))
            button class="button primary" type="submit" { "Search" }
        }
        @match &people {
            Ok(people) => (found(&visitor, &asked, people)),
            Err(failure) => (view::alert(&failure.text())),
        }
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

fn found(visitor: &Visitor, asked: &Search, people: &People) -> Markup {
    if people.data.is_empty() {
        return none_found(visitor, asked);
    }
    let columns = [
        Column::text("Person"),
        Column::text("External id"),
        Column::text("Email"),
        Column::text("Phone"),
        Column::text("Changed"),
    ];
    let cell = |text: &Option<String>| html! { (text.as_deref().unwrap_or("–")) };
    let row = |profile: &Profile| {
        vec![
            html! { a href=(profile.path()) { (profile.name()) } },
            cell(&profile.external_id),
            cell(&profile.email),
            cell(&profile.phone),
            view::ago(profile.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = people.data.iter().map(row).collect();
    let last = asked.offset + people.data.len() as u64;
    let before =
        (asked.offset > 0).then(|| asked.address(ENTRY.path, asked.offset.saturating_sub(PAGE)));
    let after = people.pagination.has_more.then(|| asked.address(ENTRY.path, asked.offset + PAGE));
    html! {
        p class="quiet" {
            (view::count(asked.offset + 1)) "–" (view::count(last)) " of "
            (view::count(people.pagination.total))
        }
        (view::table("People", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn none_found(visitor: &Visitor, asked: &Search) -> Markup {
    if !asked.query.trim().is_empty() || asked.offset > 0 {
        return view::empty(
            "No one was found",
            &html! { p { a href=(ENTRY.path) { "Show all" } } },
        );
    }
    let command = format!(
        "curl -s {}/users -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \
         -d '{{\"externalId\":\"ann\",\"email\":\"ann@example.test\"}}'",
        visitor.server_url()
    );
    view::empty(
        "No people yet",
        &html! {
            p { "A profile comes by the API, by an import, or by an app that identifies its user:" }
            (view::copyable(&command))
        },
    )
}
