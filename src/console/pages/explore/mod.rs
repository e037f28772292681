//! `/console/explore`: trends, funnels and retention as charts. The whole question is in the address.

mod address;
mod csv;
mod fields;
mod funnels;
mod question;
mod retention;
mod saved;
mod sql_tab;
mod statement;
mod trends;

use axum::{
    Router,
    extract::RawQuery,
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use url::form_urlencoded;
use web::auth::ScopeName;

use self::address::{Address, Kind};
use crate::{
    failure::PageResult,
    state::ConsoleState,
    view::{self, Entry, Sources, Tab},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry =
    Entry { name: "Explore", path: "/console/explore", scopes: &[ScopeName::EventsRead] };

/// A question of a chart on another page.
pub(super) struct ChartQuestion {
    /// The body for `POST /insights/trends`.
    pub(super) body: Value,
    pub(super) sources: Sources,
    /// The address of the same question in Explore.
    pub(super) href: String,
}

/// Trends of the query string of an address.
///
/// # Errors
/// A bad request for a part that cannot be read.
pub(super) fn trends_of(visitor: &Visitor, query: &str) -> PageResult<ChartQuestion> {
    let asked = Address::read(query);
    let body = question::body(visitor, &asked)?;
    let sql = statement::trends(&asked, visitor.zone());
    let sources = csv::sources(visitor, &asked, &body, &sql);
    Ok(ChartQuestion { body, sources, href: asked.href() })
}

/// Longest wait for an answer to a question about people.
const ANSWER_MAX: std::time::Duration = std::time::Duration::from_mins(1);

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(show))
        .route("/console/explore/csv", get(csv::download))
        .route("/console/explore/save", post(saved::save))
        .route("/console/explore/update", post(saved::update))
        .route("/console/explore/delete", post(saved::delete))
}

/// The id of the answer, which may take long.
const ANSWER: &str = "explore-answer";
/// How long a page waits for its answer. One that takes longer is loaded afterwards.
const SOON: std::time::Duration = std::time::Duration::from_millis(500);

/// What is asked of a question's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The form, with an answer that is there soon, else the place where a script puts it.
    Form,
    /// The answer alone, for that place.
    Answer,
    /// Both, as without a script.
    Both,
}

impl Asked {
    fn read(query: &str, visitor: &Visitor) -> Self {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        if !pairs.any(|(name, value)| name == "answer" && value == "on") {
            return Self::Form;
        }
        if visitor.asks_for_part() { Self::Answer } else { Self::Both }
    }
}

/// The place of an answer that is loaded afterwards.
fn later(href: &str) -> Markup {
    view::later(ANSWER, &format!("{href}&answer=on"), "the answer")
}

/// The answer to a question if it is there soon, else the place where it is loaded afterwards.
async fn soon(
    visitor: &Visitor,
    question: &str,
    href: &str,
    answer: impl Future<Output = Markup> + Send + 'static,
) -> Markup {
    match visitor.answer_soon(question, SOON, answer).await {
        Some(answer) => placed(&answer),
        None => later(href),
    }
}

/// The answer to a question that its page did not wait for, or else one that is asked now.
async fn now(visitor: &Visitor, question: &str, answer: impl Future<Output = Markup>) -> Markup {
    match visitor.late_answer(question).await {
        Some(answer) => placed(&answer),
        None => placed(&answer.await),
    }
}

/// An answer in its place.
fn placed(answer: &Markup) -> Markup {
    html! { div id=(ANSWER) { (answer) } }
}

async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> PageResult<Response> {
    let query = query.as_deref().unwrap_or_default();
    let wanted = Asked::read(query, &visitor);
    if let Some(statement) = sql_tab::statement(query) {
        return sql_tab::show(visitor, &statement, wanted).await;
    }
    let asked = Address::read(query);
    // Rows of the form become one field of the address, which can be sent to others.
    if let Some(canonical) = asked.canonical() {
        return Ok(Redirect::to(&canonical).into_response());
    }
    let href = asked.href();
    let (asked, is_whole) = match saved::opened(&visitor, &asked).await? {
        Some(opened) => (opened.address, opened.is_whole),
        None => (asked, true),
    };
    // What a saved question asks may have changed since its page.
    let question = asked.href();
    let now = || now(&visitor, &question, answered(&visitor, &asked));
    if wanted == Asked::Answer {
        return Ok(view::part(StatusCode::OK, &now().await));
    }
    let answer = Box::pin(async {
        match wanted {
            Asked::Form => place(&visitor, &asked, &question, &href).await,
            Asked::Answer | Asked::Both => now().await,
        }
    });
    let content = content(&visitor, &asked, is_whole, answer, None).await;
    Ok(visitor.page(&ENTRY, &asked.title(), &content))
}

/// The answer, or the place where it is loaded afterwards.
async fn place(visitor: &Visitor, asked: &Address, question: &str, href: &str) -> Markup {
    if asked.has_no_question() {
        return placed(&nothing_asked());
    }
    let (asker, asked) = (visitor.clone(), asked.clone());
    let answer = async move { answered(&asker, &asked).await };
    soon(visitor, question, href, answer).await
}

/// The page of a question; `refused` is the name under which it was not saved.
async fn content(
    visitor: &Visitor,
    asked: &Address,
    is_whole: bool,
    answer: impl Future<Output = Markup>,
    refused: Option<&saved::Refused<'_>>,
) -> Markup {
    let (known, panel, answer) = tokio::join!(
        fields::Known::read(visitor, asked),
        saved::panel(visitor, asked, refused),
        answer,
    );
    let form = match asked.kind {
        Kind::Trends => trends::form(asked, &known),
        Kind::Funnels => funnels::form(asked, &known),
        Kind::Retention => retention::form(asked, &known),
    };
    html! {
        h1 { "Explore" }
        (tabs(visitor, Some(asked)))
        @if !is_whole {
            (view::alert("The saved question has parts that this page does not show. GET /insights/:id/result answers it whole."))
        }
        (form)
        (answer)
        (panel)
    }
}

/// The kinds of questions; without one it is the tab for SQL.
fn tabs(visitor: &Visitor, asked: Option<&Address>) -> Markup {
    let question = |kind: Kind| Tab {
        label: kind.label(),
        href: asked.map_or_else(|| Address::new(kind), |asked| asked.of_kind(kind)).href(),
        is_current: asked.is_some_and(|asked| asked.kind == kind),
    };
    let mut tabs: Vec<Tab<'_>> = Kind::ALL.into_iter().map(question).collect();
    if sql_tab::is_open_to(visitor) {
        tabs.push(Tab { label: "SQL", href: sql_tab::address(), is_current: asked.is_none() });
    }
    view::tabs("Kinds of questions", &tabs)
}

fn nothing_asked() -> Markup {
    view::empty(
        "Choose events",
        &html! {
            p { "The answer is shown here, and its address can be sent to others." }
        },
    )
}

/// The answer, or why there is none.
async fn answered(visitor: &Visitor, asked: &Address) -> Markup {
    let found = answer(visitor, asked).await;
    found.unwrap_or_else(|failure| fields::faults(&failure, |_| false))
}

async fn answer(visitor: &Visitor, asked: &Address) -> PageResult<Markup> {
    if asked.has_no_question() {
        return Ok(nothing_asked());
    }
    match asked.kind {
        Kind::Trends => trends::answer(visitor, asked).await,
        Kind::Funnels => funnels::answer(visitor, asked).await,
        Kind::Retention => retention::answer(visitor, asked).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_takes_long_is_loaded_afterwards() {
        let late = later("/console/explore?tab=trends").into_string();
        assert!(late.contains("hx-get=\"/console/explore?tab=trends&amp;answer=on\""), "{late}");
    }
}
