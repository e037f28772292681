//! What is known of a person, a tab each.

use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::Profile;
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Column},
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

/// Every identifier of the person, the forms that remove some, and the devices.
pub(super) async fn identifiers(visitor: &Visitor, profile: &Profile, removal: &Markup) -> Markup {
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
        (removal)
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
