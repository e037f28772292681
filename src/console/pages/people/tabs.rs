//! What is known of a person, a tab each.

use std::collections::BTreeMap;

use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::auth::ScopeName;

use super::Profile;
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Column, Moment, Tone},
    visitor::Visitor,
};

/// The attributes of the profile.
pub(super) fn attributes(profile: &Profile) -> Markup {
    if profile.attributes.is_empty() {
        return view::empty("No attributes", &html! { p { "They come with the profile." } });
    }
    let columns = [Column::text("Attribute"), Column::text("Value")];
    let value = |value: &Value| match value {
        Value::String(text) => html! { (text) },
        Value::Array(_) | Value::Object(_) => view::json(value),
        other => html! { code { (other.to_string()) } },
    };
    let rows: Vec<Vec<Markup>> = profile
        .attributes
        .iter()
        .map(|(name, found)| vec![html! { (name) }, value(found)])
        .collect();
    view::table("Attributes", &columns, &rows)
}

#[derive(Deserialize)]
struct Contact {
    channels: BTreeMap<String, ChannelConsent>,
    lists: Vec<Membership>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelConsent {
    status: Option<String>,
    opt_in_date: Option<Timestamp>,
    opt_out_date: Option<Timestamp>,
    opt_in_source: Option<String>,
    #[serde(default)]
    bounce_count: u32,
    is_valid: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Membership {
    list_id: String,
    channel: String,
    status: String,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct ListName {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct History {
    items: Vec<HistoryEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryEntry {
    channel: String,
    action: String,
    source: String,
    actor: String,
    created_at: Timestamp,
    previous_status: Option<String>,
    new_status: Option<String>,
}

/// Consent by channel and list, with its history.
pub(super) async fn consent(visitor: &Visitor, profile: &Profile) -> Markup {
    if !visitor.may(ScopeName::ComplianceRead) {
        return Failure::missing_scope(ScopeName::ComplianceRead.as_str()).card("Consent");
    }
    let contact = visitor.get(path(["subscriptions", "contacts", &profile.id])).read();
    let history = visitor.get(path(["subscriptions", "contacts", &profile.id, "history"]));
    let history = history.query("limit", "50").read();
    let (contact, history, names) = future::join3(contact, history, list_names(visitor)).await;
    let (contact, history): (PageResult<Contact>, PageResult<History>) = (contact, history);
    html! {
        @match contact {
            Ok(contact) => {
                (view::card("Channels", &channels(visitor, &contact)))
                (view::card("Lists", &memberships(visitor, &contact, &names)))
            }
            Err(failure) => (failure.card("Consent")),
        }
        @match history {
            Ok(history) => (view::card("History", &entries(visitor, &history))),
            Err(failure) => (failure.card("History")),
        }
    }
}

/// The names of the lists, where the session may read them.
async fn list_names(visitor: &Visitor) -> BTreeMap<String, String> {
    if !visitor.may(ScopeName::SettingsRead) {
        return BTreeMap::new();
    }
    let call = visitor.get("/lists").query("includeArchived", "true");
    let lists: PageResult<Vec<ListName>> = call.read().await;
    lists.unwrap_or_default().into_iter().map(|list| (list.id, list.name)).collect()
}

fn channels(visitor: &Visitor, contact: &Contact) -> Markup {
    if contact.channels.is_empty() {
        return html! { p class="quiet" { "Nothing is recorded on any channel." } };
    }
    let columns = [
        Column::text("Channel"),
        Column::text("Status"),
        Column::text("Since"),
        Column::text("Source"),
        Column::number("Bounces"),
    ];
    let row = |(channel, consent): (&String, &ChannelConsent)| {
        let since = match consent.status.as_deref() {
            Some("unsubscribed") => consent.opt_out_date,
            _ => consent.opt_in_date,
        };
        let invalid = consent.is_valid == Some(false);
        vec![
            html! { (channel) },
            html! {
                @match consent.status.as_deref() {
                    Some(status) => (status_badge(status)),
                    None => "–",
                }
                @if invalid { " " (view::badge(Tone::Bad, "invalid address")) }
            },
            html! {
                @match since {
                    Some(at) => (view::ago(at, visitor.now(), visitor.zone())),
                    None => "–",
                }
            },
            html! { (consent.opt_in_source.as_deref().unwrap_or("–")) },
            html! { (consent.bounce_count) },
        ]
    };
    let rows: Vec<Vec<Markup>> = contact.channels.iter().map(row).collect();
    view::table("Consent by channel", &columns, &rows)
}

fn status_badge(status: &str) -> Markup {
    let (tone, text) = match status {
        "optedIn" => (Tone::Good, "opted in"),
        "subscribed" => (Tone::Good, "subscribed"),
        "unsubscribed" => (Tone::Bad, "unsubscribed"),
        other => (Tone::Neutral, other),
    };
    view::badge(tone, text)
}

fn memberships(visitor: &Visitor, contact: &Contact, names: &BTreeMap<String, String>) -> Markup {
    if contact.lists.is_empty() {
        return html! { p class="quiet" { "In no list." } };
    }
    let columns = [
        Column::text("List"),
        Column::text("Channel"),
        Column::text("Status"),
        Column::text("Changed"),
    ];
    let row = |membership: &Membership| {
        let name = names.get(&membership.list_id).unwrap_or(&membership.list_id);
        vec![
            html! { a href=(path(["console", "lists", &membership.list_id])) { (name) } },
            html! { (membership.channel) },
            status_badge(&membership.status),
            view::ago(membership.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = contact.lists.iter().map(row).collect();
    view::table("Lists", &columns, &rows)
}

fn entries(visitor: &Visitor, history: &History) -> Markup {
    if history.items.is_empty() {
        return html! { p class="quiet" { "No change yet." } };
    }
    let moments: Vec<Moment> = history
        .items
        .iter()
        .map(|entry| Moment {
            time: view::ago(entry.created_at, visitor.now(), visitor.zone()),
            tone: Tone::Neutral,
            kind: entry.channel.clone(),
            title: html! {
                (entry.action.replace('_', " ")) ": "
                (entry.previous_status.as_deref().unwrap_or("none")) " → "
                (entry.new_status.as_deref().unwrap_or("none"))
                span class="quiet" { " by " (entry.actor) " (" (entry.source) ")" }
            },
            details: None,
        })
        .collect();
    view::timeline(&moments)
}

#[derive(Deserialize)]
struct Identities {
    data: Vec<Identity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    source: String,
    linked_at: Timestamp,
}

/// Every identifier of the person, and the devices.
pub(super) async fn identifiers(visitor: &Visitor, profile: &Profile) -> Markup {
    let identities = visitor.get(path(["users", &profile.id, "identities"])).read();
    let devices = visitor.get(path(["users", &profile.id, "devices"])).read();
    let (identities, devices) = future::join(identities, devices).await;
    let (identities, devices): (PageResult<Identities>, PageResult<Devices>) =
        (identities, devices);
    html! {
        @match &identities {
            Ok(identities) => (view::card("Identifiers", &linked(visitor, identities))),
            Err(failure) => (failure.card("Identifiers")),
        }
        @match &devices {
            Ok(devices) => (view::card("Devices", &registered(visitor, devices))),
            Err(failure) => (failure.card("Devices")),
        }
    }
}

fn linked(visitor: &Visitor, identities: &Identities) -> Markup {
    let columns = [
        Column::text("Identifier"),
        Column::text("Type"),
        Column::text("Linked by"),
        Column::text("Since"),
    ];
    let row = |identity: &Identity| {
        vec![
            html! { code { (identity.id) } },
            html! { (identity.kind) },
            html! { (identity.source) },
            view::ago(identity.linked_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = identities.data.iter().map(row).collect();
    view::table("Identifiers", &columns, &rows)
}

#[derive(Deserialize)]
struct Devices {
    data: Vec<Device>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    token: String,
    platform: String,
    app_id: Option<String>,
    updated_at: Timestamp,
}

fn registered(visitor: &Visitor, devices: &Devices) -> Markup {
    if devices.data.is_empty() {
        return html! { p class="quiet" { "No device gets push notifications." } };
    }
    let columns = [
        Column::text("Token"),
        Column::text("Platform"),
        Column::text("App"),
        Column::text("Registered"),
    ];
    let row = |device: &Device| {
        vec![
            html! { code { (device.token) } },
            html! { (device.platform) },
            html! { (device.app_id.as_deref().unwrap_or("–")) },
            view::ago(device.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = devices.data.iter().map(row).collect();
    view::table("Devices", &columns, &rows)
}
