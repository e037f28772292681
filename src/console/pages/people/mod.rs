//! `/console/people`: search, the list, and the page of a person.

mod bin;
mod campaigns;
mod consent;
mod edit;
mod frame;
mod identifiers;
mod list;
mod privacy;
mod profile;
mod tabs;
mod timeline;
mod unknown;

use axum::{
    Router,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use web::auth::ScopeName;

use crate::{state::ConsoleState, view::Entry};

pub(super) const ENTRY: Entry =
    Entry { name: "People", path: "/console/people", scopes: &[ScopeName::UsersRead] };

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(list::show))
        .route(bin::PATH, get(bin::show))
        .route("/console/people/{userId}", get(profile::show))
        .route("/console/people/{userId}/edit", post(edit::save))
        .route("/console/people/{userId}/consent", post(consent::save))
        .route("/console/people/{userId}/clear-bounce", post(consent::clear_bounce))
        .route("/console/people/{userId}/identifiers/remove", post(identifiers::remove))
        .route(
            "/console/people/{userId}/identifiers/remove-linked",
            post(identifiers::remove_linked),
        )
        .route("/console/people/{userId}/delete", post(profile::delete))
        .route("/console/people/{userId}/export", post(privacy::export))
        .route("/console/people/{userId}/erase", post(privacy::erase))
        .route(privacy::PATH, get(privacy::show))
        .route("/console/privacy/requests", get(privacy::part))
        .route("/console/privacy/{requestId}/download", get(privacy::download))
}

/// What the address of a list of people names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Search {
    query: String,
    offset: u64,
}

impl Search {
    /// The address of another part of the same list.
    fn address(&self, list: &str, offset: u64) -> String {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        if !self.query.trim().is_empty() {
            pairs.append_pair("query", self.query.trim());
        }
        if offset > 0 {
            pairs.append_pair("offset", &offset.to_string());
        }
        format!("{list}?{}", pairs.finish())
    }
}

/// A profile as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    id: String,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    phone: Option<String>,
    #[serde(default)]
    attributes: Map<String, Value>,
    /// Null where they could not be evaluated in time.
    #[serde(default)]
    segments: Option<Vec<NamedSegment>>,
    created_at: kernel::Timestamp,
    updated_at: kernel::Timestamp,
}

#[derive(Debug, Deserialize)]
struct NamedSegment {
    id: String,
    name: String,
}

impl Profile {
    /// The name to show: that of the attributes, else the email, else an id.
    fn name(&self) -> String {
        let text = |key: &str| {
            let text = self.attributes.get(key).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        let pair = |first: &str, last: &str| {
            let parts: Vec<&str> = [text(first), text(last)].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        };
        let named = text("name").or_else(|| text("fullName")).map(str::to_owned);
        named
            .or_else(|| pair("firstName", "lastName"))
            .or_else(|| pair("first_name", "last_name"))
            .or_else(|| self.email.clone())
            .or_else(|| self.external_id.clone())
            .unwrap_or_else(|| self.id.clone())
    }

    /// The address of the person's page.
    fn path(&self) -> String {
        crate::in_process::path(["console", "people", &self.id])
    }
}
