//! `/console/explore`: trends, funnels and retention as charts. The whole question is in the address.

mod address;
mod csv;
mod fields;
mod funnels;
mod question;
mod retention;
mod saved;
mod shell;
mod sql_tab;
mod statement;
mod trends;

use axum::{
    Router,
    extract::RawQuery,
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use maud::{Markup, html};
use web::auth::ScopeName;

use self::address::{Address, Kind};
use crate::{
    failure::{Failure, PageResult},
    state::ConsoleState,
    view::{self, Entry, Tab},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry =
    Entry { name: "Explore", path: "/console/explore", scopes: &[ScopeName::EventsRead] };

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

async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> PageResult<Response> {
    let query = query.as_deref().unwrap_or_default();
    if let Some(statement) = sql_tab::statement(query) {
        return sql_tab::show(visitor, &statement).await;
    }
    let asked = Address::read(query);
    // Rows of the form become one field of the address, which can be sent to others.
    if let Some(canonical) = asked.canonical() {
        return Ok(Redirect::to(&canonical).into_response());
    }
    let (asked, is_whole) = match saved::opened(&visitor, &asked).await? {
        Some(opened) => (opened.address, opened.is_whole),
        None => (asked, true),
    };
    let content = content(&visitor, &asked, is_whole, None).await;
    Ok(visitor.page(&ENTRY, &asked.title(), &content))
}

/// The page of a question; `refused` is the name under which it was not saved.
async fn content(
    visitor: &Visitor,
    asked: &Address,
    is_whole: bool,
    refused: Option<&saved::Refused<'_>>,
) -> Markup {
    let known = fields::Known::read(visitor, asked).await;
    let answer = answer(visitor, asked).await;
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
        @match &answer {
            Ok(answer) => (answer),
            Err(failure) => (self::refused(failure)),
        }
        (saved::panel(visitor, asked, refused).await)
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

async fn answer(visitor: &Visitor, asked: &Address) -> PageResult<Markup> {
    if asked.events.is_empty() && asked.kind != Kind::Trends {
        return Ok(view::empty(
            "Choose events",
            &html! {
                p { "The answer is shown here, and its address can be sent to others." }
            },
        ));
    }
    match asked.kind {
        Kind::Trends => trends::answer(visitor, asked).await,
        Kind::Funnels => funnels::answer(visitor, asked).await,
        Kind::Retention => retention::answer(visitor, asked).await,
    }
}

/// What the API refuses of the question, or the store that is away.
fn refused(failure: &Failure) -> Markup {
    html! {
        (view::alert(&failure.text()))
        @if failure.errors.len() > 1 { ul { @for error in &failure.errors { li { (error) } } } }
    }
}
