//! `/console/segments`: targetings saved under names, with a form that builds them.

mod builder;
mod draft;
mod editor;
mod list;
mod names;
mod row;
mod show;

use axum::{
    Router,
    routing::{get, post},
};
use kernel::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use crate::{state::ConsoleState, view::Entry};

pub(super) const ENTRY: Entry =
    Entry { name: "Segments", path: "/console/segments", scopes: &[ScopeName::UsersRead] };
/// The address of the form for a new segment.
const NEW: &str = "/console/segments/new";
/// The address that counts the people of a form.
const COUNT: &str = "/console/segments/count";

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(list::show).post(editor::create))
        .route(NEW, get(editor::new))
        .route(COUNT, post(editor::count))
        .route("/console/segments/{segmentId}", get(show::show).post(editor::update))
        .route("/console/segments/{segmentId}/delete", post(show::delete))
}

/// A segment as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Segment {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
    targeting: Value,
    updated_at: Timestamp,
    /// Only where one segment was asked for.
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    reach: Option<Reach>,
}

/// Members that a message can reach, by channel.
#[derive(Debug, Deserialize)]
struct Reach {
    email: u64,
    sms: u64,
    whatsapp: u64,
    push: u64,
    viber: u64,
}

impl Segment {
    /// The address of its page.
    fn path(&self) -> String {
        crate::in_process::path(["console", "segments", &self.id])
    }
}
