//! Questions saved under a name.

use axum::response::Response;
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{
    ENTRY,
    address::{Address, Kind},
    question,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Confirmation, Field},
    visitor::{Form, Visitor},
};

#[derive(Debug, Deserialize)]
struct Saved {
    id: String,
    name: String,
    kind: String,
    #[serde(default)]
    question: Value,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Saved>,
}

/// A saved question as an address.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) address: Address,
    /// Whether the address has all of it: other programs may save what the page has no fields for.
    pub(super) is_whole: bool,
}

/// The question that the address names by its id alone.
pub(super) async fn opened(visitor: &Visitor, asked: &Address) -> PageResult<Option<Opened>> {
    if asked.insight.is_empty() || !asked.events.is_empty() {
        return Ok(None);
    }
    let saved: Saved = visitor.get(path(["insights", &asked.insight])).read().await?;
    let kind = Kind::of(&saved.kind);
    Ok(Some(Opened {
        address: question::address(kind, &saved.question, &saved.id),
        is_whole: question::is_whole(kind, &saved.question),
    }))
}

/// The saved questions, and the form that saves this one.
pub(super) async fn panel(visitor: &Visitor, asked: &Address) -> Markup {
    let page: PageResult<Page> = visitor.get("/insights").query("limit", "100").read().await;
    let page = match page {
        Ok(page) => page,
        Err(failure) => return failure.card("Saved questions"),
    };
    let may_write = visitor.may(ScopeName::EventsWrite);
    view::card(
        "Saved questions",
        &html! {
            @if page.data.is_empty() { p class="quiet" { "None is saved yet." } }
            ul {
                @for saved in &page.data {
                    li {
                        a href={ (ENTRY.path) "?insight=" (saved.id) } { bdi { (saved.name) } } " "
                        (view::badge(view::Tone::Neutral, &saved.kind))
                        @if may_write && saved.id == asked.insight { " " (deletion(visitor, saved)) }
                    }
                }
            }
            @if may_write {
                form class="filters" method="post" action="/console/explore/save" {
                    (visitor.csrf_field())
                    (view::hidden("question", &asked.query()))
                    (view::field(&Field::text("name", "Save this question as", "").required()))
                    button class="button" type="submit" { "Save" }
                }
            }
        },
    )
}

fn deletion(visitor: &Visitor, saved: &Saved) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: "delete-question",
        button: "Delete…",
        title: "Delete this question?",
        explanation: "Links to it will lead nowhere.",
        name: &saved.name,
        action: &format!("/console/explore/delete?insight={}", saved.id),
        csrf: visitor.csrf(),
    })
}

pub(super) async fn save(visitor: Visitor, form: Form) -> PageResult<Response> {
    let asked = Address::read(form.text("question").unwrap_or_default());
    let question = question::body(&visitor, &asked)?;
    let new = json!({
        "name": form.filled("name"), "kind": asked.kind.name(), "question": question,
    });
    let call = visitor.call(Method::POST, "/insights").json(&new)?;
    let saved: Saved = call.read().await?;
    let to = format!("{}?insight={}", ENTRY.path, saved.id);
    Ok(visitor.done(&to, &format!("{} was saved. Its address can be sent to others.", saved.name)))
}

pub(super) async fn delete(
    visitor: Visitor,
    axum::extract::RawQuery(query): axum::extract::RawQuery,
    form: Form,
) -> PageResult<Response> {
    let asked = Address::read(query.as_deref().unwrap_or_default());
    let saved: Saved = visitor.get(path(["insights", &asked.insight])).read().await?;
    if form.filled("confirm") != Some(saved.name.trim()) {
        let text = "The name that was typed is not that of the question: nothing was deleted";
        return Err(Failure::new(StatusCode::BAD_REQUEST, text));
    }
    visitor.call(Method::DELETE, path(["insights", &saved.id])).done().await?;
    Ok(visitor.done(ENTRY.path, &format!("{} was deleted.", saved.name)))
}
