//! What pages of the console are made of: who asks, by which session, and the API's answers to them.
//!
//! ```text
//! browser ─▶ gate (session, CSRF) ─▶ a page ─▶ in_process (the API's own router) ─▶ console_view (HTML)
//! ```

pub mod failure;
pub mod form;
pub mod gate;
pub mod in_process;
mod late_answers;
pub mod once;
pub mod process_metrics;
pub mod query;
pub mod recent_metrics;
mod seen_sessions;
mod shared_answers;
pub mod sign_in;
pub mod state;
pub mod visitor;

use std::sync::Arc;

use axum::Router;
use members::openid::OpenId;
use url::Url;

pub use console_view::{self as view, HOME, SIGN_OUT, assets};

/// The address that signs in.
pub const SIGN_IN: &str = "/console/login";
/// The address that leads to the OpenID provider.
pub const OPENID: &str = "/console/login/openid";
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
