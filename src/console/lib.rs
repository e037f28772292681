//! The console: what the API can do, as pages for people.
//!
//! ```text
//! browser ─▶ gate (session, CSRF, scope) ─▶ pages/<name> ─▶ in_process (the API's own router) ─▶ view (HTML)
//! ```
//!
//! Pages read and write through the API's router, in this process, as the person who is signed in: the same
//! operations with the same scopes. Only signing in has tables of its own.

mod pages;

use axum::{Router, response::Redirect, routing::get};
use web::Services;

use console_core::{
    HOME, SIGN_IN, SIGN_OUT, assets, failure, gate, in_process, process_metrics, query,
    recent_metrics, state, state::ConsoleState, view, visitor,
};
pub use console_core::{OPENID_CALLBACK, Routers, Site, SqlRouter, sign_in};

/// The pages, and the way to them from `/`.
pub fn routes(services: &Services, routers: Routers, site: Site) -> Router {
    let state = ConsoleState::new(services.clone(), routers, site, pages::entries());
    let to_home = async || Redirect::temporary(HOME);
    Router::new()
        .route("/", get(to_home))
        .route("/console/", get(to_home))
        .merge(assets::routes())
        .merge(gate::public(sign_in::routes()))
        .merge(gate::signed_in(pages::routes(), &state))
        .with_state(state)
}
