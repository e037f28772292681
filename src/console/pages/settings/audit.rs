//! The audit log: who changed the settings of the workspace.

use axum::response::Response;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::Tab;
use crate::{
    failure::PageResult,
    query::Query,
    view::{self, Moment, Tone},
    visitor::Visitor,
};

/// Entries of one page.
const PAGE: u64 = 50;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    offset: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    has_more: bool,
}

#[derive(Deserialize)]
struct Entries {
    data: Vec<Entry>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    action: String,
    object: Object,
    actor: String,
    ip_address: Option<String>,
    user_agent: Option<String>,
    details: Value,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct Object {
    id: String,
    name: Option<String>,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    let call = visitor
        .get("/audit")
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let entries: PageResult<Entries> = call.read().await;
    let content = html! {
        p class="quiet" {
            "Changes of keys, members, lists, sender domains and the preference page, sessions ended by others, requests to erase or export a person, "
            "and retries of dead letters. Consent has a history of its own, on the page of each person, and campaigns on theirs."
        }
        @match &entries {
            Ok(entries) => (found(&visitor, &asked, entries)),
            Err(failure) => (failure.card("Audit log")),
        }
    };
    Tab::Audit.page(&visitor, None, &content)
}

fn found(visitor: &Visitor, asked: &Asked, entries: &Entries) -> Markup {
    if entries.data.is_empty() {
        return view::empty("No entries", &html! { p { "Changes are recorded from now on." } });
    }
    let moments: Vec<Moment> = entries.data.iter().map(|entry| moment(visitor, entry)).collect();
    let address = |offset: u64| format!("{}?offset={offset}", Tab::Audit.path());
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = entries.pagination.has_more.then(|| address(asked.offset + PAGE));
    html! {
        (view::timeline(&moments))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn moment(visitor: &Visitor, entry: &Entry) -> Moment {
    let tone = if entry.action.ends_with(".revoked") { Tone::Warning } else { Tone::Info };
    let name = entry.object.name.as_deref().unwrap_or(&entry.object.id);
    let from = [entry.ip_address.as_deref(), entry.user_agent.as_deref()];
    let from: Vec<&str> = from.into_iter().flatten().collect();
    Moment {
        time: view::ago(entry.created_at, visitor.now(), visitor.zone()),
        tone,
        kind: entry.action.clone(),
        title: html! { bdi { (name) } span class="quiet" { " by " bdi { (entry.actor) } } },
        details: Some(html! {
            p class="quiet" { "Id " code { (entry.object.id) } " " (from.join(" · ")) }
            (view::json(&entry.details))
        }),
    }
}
