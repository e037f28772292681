//! `/console/health`: what this process measures of itself, a panel for each of its parts.

pub(super) mod dead_letters;
mod panels;

use axum::{
    Router,
    extract::State,
    response::Response,
    routing::{get, post},
};
use http::StatusCode;
use maud::{Markup, html};
use web::auth::ScopeName;

use crate::{
    state::ConsoleState,
    view::{self, Entry},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry =
    Entry { name: "Health", path: "/console/health", scopes: &[ScopeName::SettingsRead] };
/// The address of the panels alone, which the page asks for again and again.
const PANELS: &str = "/console/health/panels";

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(show))
        .route(PANELS, get(refresh))
        .route(dead_letters::PATH, get(dead_letters::show))
        .route(dead_letters::RETRY, post(dead_letters::retry))
}

async fn show(State(state): State<ConsoleState>, visitor: Visitor) -> Response {
    let content = html! {
        h1 { "Health" }
        p class="quiet" {
            "Of this process; every panel names its metrics, which "
            code { "GET /metrics" } " on the admin listener has, too. A cluster has a page on each node."
        }
        div hx-get=(PANELS) hx-trigger="every 10s" hx-swap="innerHTML" { (measured(&state, &visitor).await) }
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

async fn refresh(State(state): State<ConsoleState>, visitor: Visitor) -> Response {
    view::part(StatusCode::OK, &measured(&state, &visitor).await)
}

async fn measured(state: &ConsoleState, visitor: &Visitor) -> Markup {
    let kept = dead_letters::count(visitor).await;
    let measured = state.measure().await;
    panels::all(&measured, kept.as_ref())
}
