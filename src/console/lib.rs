//! The console: what the API can do, as pages for people.
//!
//! ```text
//! browser ─▶ gate (session, CSRF, scope) ─▶ pages/<name> ─▶ in_process (the API's own router) ─▶ view (HTML)
//! ```
//!
//! Pages read and write through the API's router, in this process, as the person who is signed in: the same
//! operations with the same scopes. Only signing in has tables of its own.

mod failure;
mod form;
mod gate;
mod in_process;
mod pages;
mod process_metrics;
mod recent_metrics;
mod state;
mod visitor;

pub mod sign_in;

use std::sync::Arc;

use axum::{Router, response::Redirect, routing::get};
use members::openid::OpenId;
use url::Url;
use web::Services;

use self::state::ConsoleState;
pub(crate) use console_view::{self as view, HOME, SIGN_OUT, assets};

/// The address that signs in.
pub(crate) const SIGN_IN: &str = "/console/login";
/// The address that leads to the OpenID provider.
pub(crate) const OPENID: &str = "/console/login/openid";
/// The address to which the OpenID provider leads back.
pub const OPENID_CALLBACK: &str = "/console/login/openid/callback";

/// The routers that pages ask.
#[derive(Debug)]
pub struct Routers {
    pub api: Router,
    /// The listener for SQL, where it is on.
    pub sql: Option<SqlRouter>,
}

/// The router of the listener for SQL, and the port at which other programs reach it.
#[derive(Debug)]
pub struct SqlRouter {
    pub router: Router,
    pub port: u16,
}

/// How people reach the console, and who vouches for them.
#[derive(Debug)]
pub struct Site {
    /// The address by which people reach this server.
    pub public_url: Url,
    /// The OpenID provider, where there is one.
    pub openid: Option<Arc<OpenId>>,
}

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
