//! Versions of a campaign, what changed between two of them, and its history.

use axum::{extract::Path, response::Response};
use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use super::{Campaign, find, frame};
use crate::{
    failure::PageResult,
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Moment, Tone},
    visitor::Visitor,
};

/// Versions and entries that are shown.
pub(super) const SHOWN: &str = "200";

/// The versions that the address compares.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    v1: String,
    v2: String,
}

/// The versions of a campaign, newest first.
#[derive(Deserialize)]
pub(super) struct Versions {
    pub(super) data: Vec<Version>,
    total: u64,
}

/// A version without its content.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    #[serde(rename = "version")]
    pub(super) number: u64,
    change_type: String,
    pub(super) changed_fields: Vec<String>,
    created_by: String,
    pub(super) created_at: Timestamp,
}

#[derive(Deserialize)]
struct Snapshot {
    snapshot: Value,
}

/// The newest entries of a campaign's history.
#[derive(Deserialize)]
pub(super) struct History {
    pub(super) items: Vec<Entry>,
}

/// An action on a campaign.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) action: String,
    pub(super) actor: Actor,
    pub(super) changes: Vec<Change>,
    pub(super) created_at: Timestamp,
}

/// The actor of an entry.
#[derive(Deserialize)]
pub(super) struct Actor {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
}

impl Actor {
    /// The id, or `system`.
    pub(super) fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.kind)
    }
}

/// A changed value, by its JSON Pointer.
#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
    before: Value,
    after: Value,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let campaign = find(&visitor, &id).await?.campaign;
    let versions = visitor.get(path(["campaigns", &id, "versions"])).query("limit", SHOWN).read();
    let history = visitor.get(path(["campaigns", &id, "history"])).query("limit", SHOWN).read();
    let (versions, history) = future::join(versions, history).await;
    let (versions, history): (PageResult<Versions>, PageResult<History>) = (versions, history);
    let content = html! {
        @match &versions {
            Ok(versions) => {
                (comparison(&visitor, &campaign, versions, &asked).await)
                (view::card("Versions", &list(&visitor, &campaign, versions)))
            }
            Err(failure) => (failure.card("Versions")),
        }
        @match &history {
            Ok(history) => (view::card("History", &entries(&visitor, history))),
            Err(failure) => (failure.card("History")),
        }
    };
    Ok(frame::page(&visitor, &campaign, frame::Page::Versions, None, &content))
}

fn list(visitor: &Visitor, campaign: &Campaign, versions: &Versions) -> Markup {
    let columns = [
        Column::number("Version"),
        Column::text("By"),
        Column::text("How"),
        Column::text("Fields"),
        Column::text("When"),
        Column::text("Bring back"),
    ];
    let address = path(["console", "campaigns", &campaign.id, "do", "rollback"]);
    let row = |version: &Version| {
        let is_newest = version.number == campaign.version;
        vec![
            html! { (version.number) },
            html! { bdi { (version.created_by) } },
            html! { (version.change_type) },
            html! { (version.changed_fields.join(", ")) },
            view::ago(version.created_at, visitor.now(), visitor.zone()),
            html! {
                @if !is_newest && visitor.may(ScopeName::CampaignsWrite) {
                    form method="post" action=(address) {
                        (visitor.csrf_field())
                        (view::hidden("version", &version.number.to_string()))
                        button class="button" type="submit" aria-label={ "Roll back to version " (version.number) } { "Roll back" }
                    }
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = versions.data.iter().map(row).collect();
    let more = versions.total.saturating_sub(rows.len() as u64);
    html! {
        (view::table("Versions", &columns, &rows))
        @if more > 0 { p class="quiet" { (view::count(more)) " older ones are in the API." } }
    }
}

/// What changed between two versions: by default between the newest and the one before.
async fn comparison(
    visitor: &Visitor,
    campaign: &Campaign,
    versions: &Versions,
    asked: &Asked,
) -> Markup {
    let numbers: Vec<String> = versions.data.iter().map(|it| it.number.to_string()).collect();
    let [newest, before, ..] = numbers.as_slice() else { return html! {} };
    let or = |text: &str, other: &str| {
        let known = numbers.iter().find(|number| *number == text);
        known.map_or_else(|| other.to_owned(), String::clone)
    };
    let (v1, v2) = (or(&asked.v1, before), or(&asked.v2, newest));
    let choices: Vec<Choice<'_>> =
        numbers.iter().map(|number| Choice { value: number, label: number }).collect();
    let id = &campaign.id;
    let (old, new) = future::join(snapshot(visitor, id, &v1), snapshot(visitor, id, &v2)).await;
    let content = html! {
        form class="filters" method="get" action=(campaign.path_of("versions")) autocomplete="off" {
            (view::select("v1", "From version", &v1, &choices))
            (view::select("v2", "To version", &v2, &choices))
            button class="button" type="submit" { "Compare" }
        }
        @match (old, new) {
            (Ok(old), Ok(new)) if old == new => p class="quiet" { "They are the same." },
            (Ok(old), Ok(new)) => (view::diff(&lines(&old), &lines(&new))),
            (Err(failure), _) | (_, Err(failure)) => (view::alert(&failure.text())),
        }
    };
    view::card("What changed", &content)
}

/// The content of a version.
pub(super) async fn snapshot(
    visitor: &Visitor,
    campaign: &str,
    version: &str,
) -> PageResult<Value> {
    let call = visitor.get(path(["campaigns", campaign, "versions", version]));
    call.read::<Snapshot>().await.map(|found| found.snapshot)
}

/// JSON in lines, without fields that are empty; texts of several lines stand as such.
fn lines(value: &Value) -> String {
    let mut plain = value.clone();
    if let Some(fields) = plain.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    let text = serde_json::to_string_pretty(&plain).unwrap_or_default();
    text.replace("\\r\\n", "\n").replace("\\n", "\n")
}

fn entries(visitor: &Visitor, history: &History) -> Markup {
    let text = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let moment = |entry: &Entry| {
        Moment {
            time: view::ago(entry.created_at, visitor.now(), visitor.zone()),
            tone: if entry.action == "failed" { Tone::Bad } else { Tone::Neutral },
            kind: frame::words(&entry.action),
            title: html! { "by " bdi { (entry.actor.name()) } },
            details: (!entry.changes.is_empty()).then(|| {
                html! {
                    ul {
                        @for change in &entry.changes {
                            li { code { (change.path) } ": " (text(&change.before)) " → " (text(&change.after)) }
                        }
                    }
                }
            }),
        }
    };
    let moments: Vec<Moment> = history.items.iter().map(moment).collect();
    view::timeline(&moments)
}
