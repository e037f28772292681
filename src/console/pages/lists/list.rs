//! The lists, and the form for a new one.

use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{ENTRY, List, form::Draft};
use crate::{
    failure::{Failure, PageResult},
    query::Query,
    view::{self, Column, Tone},
    visitor::{Form, Visitor},
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `yes` shows archived lists, too.
    archived: String,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    page(&visitor, &asked, &Draft::new(), None).await
}

pub(super) async fn create(visitor: Visitor, form: Form) -> PageResult<Response> {
    let draft = Draft::of_form(&form);
    let call = visitor.call(Method::POST, "/lists").json(&draft.body())?;
    match call.read::<List>().await {
        Ok(list) => Ok(visitor.done(&list.path(), &format!("{} was made.", list.name))),
        Err(failure) if failure.keeps_form() => {
            Ok(page(&visitor, &Asked::default(), &draft, Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}

async fn page(
    visitor: &Visitor,
    asked: &Asked,
    draft: &Draft,
    failure: Option<&Failure>,
) -> Response {
    let with_archived = asked.archived == "yes";
    let call = visitor.get("/lists").query("includeArchived", with_archived.to_string());
    let lists: PageResult<Vec<List>> = call.read().await;
    let content = html! {
        div class="head" {
            h1 { "Lists" }
            @if with_archived {
                (view::button_link(ENTRY.path, "Hide archived"))
            } @else {
                (view::button_link(&format!("{}?archived=yes", ENTRY.path), "Show archived"))
            }
        }
        @match &lists {
            Ok(lists) => (found(visitor, lists)),
            Err(failure) => (view::alert(&failure.text())),
        }
        @if visitor.may(ScopeName::SettingsWrite) || failure.is_some() {
            (view::card("New list", &html! {
                form method="post" action=(ENTRY.path) data-keep="fields" data-typed[failure.is_some()] {
                    (visitor.csrf_field())
                    (draft.fields(failure))
                    button class="button primary" type="submit" { "Make the list" }
                }
            }))
        }
    };
    visitor.page_after(failure, &ENTRY, ENTRY.name, &content)
}

fn found(visitor: &Visitor, lists: &[List]) -> Markup {
    if lists.is_empty() {
        return view::empty(
            "No lists yet",
            &html! { p { "People subscribe to lists by channel, and opt out of one without losing the others." } },
        );
    }
    let columns = [
        Column::text("List"),
        Column::text("Purpose"),
        Column::text("Channels"),
        Column::text("Changed"),
    ];
    let row = |list: &List| {
        vec![
            html! {
                a href=(list.path()) { bdi { (list.name) } } " "
                @if list.is_default { (view::badge(Tone::Info, "default")) " " }
                @if list.archived_at.is_some() { (view::badge(Tone::Neutral, "archived")) }
            },
            html! { (list.kind) },
            html! { (list.channels.join(", ")) },
            view::ago(list.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = lists.iter().map(row).collect();
    view::table("Lists", &columns, &rows)
}
