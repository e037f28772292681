//! `/console/lists`: subscription lists and their members.

mod form;
mod list;
mod members;
mod show;

use axum::{
    Router,
    routing::{get, post},
};
use kernel::Timestamp;
use serde::Deserialize;
use web::auth::ScopeName;

use crate::{state::ConsoleState, view::Entry};

pub(super) const ENTRY: Entry =
    Entry { name: "Lists", path: "/console/lists", scopes: &[ScopeName::SettingsRead] };
/// The channels that a list can be offered on, and on which there are memberships.
const CHANNELS: [&str; 5] = ["email", "sms", "whatsapp", "push", "viber"];

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(list::show).post(list::create))
        .route("/console/lists/{listId}", get(show::show).post(show::update))
        .route("/console/lists/{listId}/archive", post(show::archive))
        .route("/console/lists/{listId}/restore", post(show::restore))
        .route("/console/lists/{listId}/members", post(show::change))
}

/// A list as the API answers it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    id: String,
    name: String,
    description: String,
    channels: Vec<String>,
    is_public: bool,
    #[serde(rename = "type")]
    kind: String,
    require_double_opt_in: bool,
    is_default: bool,
    archived_at: Option<Timestamp>,
    updated_at: Timestamp,
}

impl List {
    /// The address of its page.
    fn path(&self) -> String {
        crate::in_process::path(["console", "lists", &self.id])
    }
}
