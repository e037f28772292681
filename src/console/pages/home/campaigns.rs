//! Campaigns that need attention: those that failed, and those that wait on a channel without provider.

use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use crate::{in_process::path, view, visitor::Visitor};

/// A campaign that failed earlier is no news.
const FAILED_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Campaigns that are looked at.
const LIMIT: &str = "20";

#[derive(Deserialize)]
struct Campaigns {
    data: Vec<Campaign>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Campaign {
    id: String,
    name: String,
    channel: String,
    failure_reason: Option<String>,
    completed_at: Option<Timestamp>,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct Channels {
    data: Vec<Channel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Channel {
    #[serde(rename = "channel")]
    name: String,
    is_enabled: bool,
}

/// A line for each. Without their scopes, and where a store is away, there are none.
pub(super) async fn attention(visitor: &Visitor) -> Vec<Markup> {
    let (mut found, waiting) = future::join(failed(visitor), without_provider(visitor)).await;
    found.extend(waiting);
    found
}

async fn of_status(visitor: &Visitor, status: &str) -> Vec<Campaign> {
    if !visitor.may(ScopeName::CampaignsRead) {
        return Vec::new();
    }
    let call = visitor.get("/campaigns").query("status", status).query("limit", LIMIT);
    call.read::<Campaigns>().await.map(|campaigns| campaigns.data).unwrap_or_default()
}

async fn failed(visitor: &Visitor) -> Vec<Markup> {
    let since = visitor.now().millis() - FAILED_MS;
    let campaigns = of_status(visitor, "failed").await.into_iter();
    campaigns
        .filter(|it| it.completed_at.unwrap_or(it.updated_at).millis() >= since)
        .map(|it| {
            let reason = it.failure_reason.as_deref().unwrap_or_default();
            html! { (link(&it)) " failed: " (reason.replace('_', " ")) }
        })
        .collect()
}

async fn without_provider(visitor: &Visitor) -> Vec<Markup> {
    if !visitor.may(ScopeName::SettingsRead) {
        return Vec::new();
    }
    let (channels, scheduled, active) = future::join3(
        visitor.get("/channels").read::<Channels>(),
        of_status(visitor, "scheduled"),
        of_status(visitor, "active"),
    )
    .await;
    let channels = channels.map(|channels| channels.data).unwrap_or_default();
    let has_none = |name: &str| channels.iter().any(|it| it.name == name && !it.is_enabled);
    scheduled
        .iter()
        .chain(&active)
        .filter(|it| has_none(&it.channel))
        .map(|it| {
            html! { (link(it)) " waits: no provider is set for " (view::channel_label(&it.channel)) }
        })
        .collect()
}

fn link(campaign: &Campaign) -> Markup {
    html! {
        a href=(path(["console", "campaigns", &campaign.id])) { bdi { (campaign.name) } }
    }
}
