//! Campaigns that need attention: those that failed, and those that wait on a channel without provider.

use futures_util::future;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use crate::{in_process::path, view, visitor::Visitor};

/// A campaign that failed earlier is no news.
const FAILED_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Campaigns of which at least 10 messages and 5 % of all failed or bounced in the same time.
const FAILING: &str = "SELECT campaign_id, uniqExact(message_id) AS messages, \
                       uniqExactIf(message_id, type IN ('failed', 'bounced')) AS failed \
                       FROM message_events \
                       WHERE timestamp >= now() - INTERVAL 7 DAY AND type IN ('sent', 'failed', 'bounced') \
                       GROUP BY campaign_id HAVING failed >= 10 AND failed >= 0.05 * messages \
                       ORDER BY failed DESC, campaign_id LIMIT 5";
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

/// Whether campaigns whose messages fail can be found: without the listener for SQL they cannot.
pub(super) fn may_see_failing(visitor: &Visitor) -> bool {
    visitor.may(ScopeName::AnalyticsSql)
        && visitor.may(ScopeName::CampaignsRead)
        && visitor.sql(FAILING).is_some()
}

#[derive(Deserialize)]
struct Failing {
    data: Vec<FailingCampaign>,
}

#[derive(Deserialize)]
struct FailingCampaign {
    campaign_id: String,
    messages: u64,
    failed: u64,
}

/// The campaigns whose messages fail; nothing where none does.
pub(super) async fn failing(visitor: &Visitor) -> Markup {
    const TITLE: &str = "Campaigns whose messages fail";
    let Some(call) = visitor.sql(FAILING) else { return html! {} };
    let call = call.query("default_format", "JSON").shared();
    let found = match call.read::<Failing>().await {
        Ok(found) => found.data,
        Err(failure) => return failure.card(TITLE),
    };
    let named = future::join_all(found.into_iter().map(async |failing| {
        let campaign = visitor.get(path(["campaigns", &failing.campaign_id]));
        (campaign.read::<Campaign>().await.ok(), failing)
    }))
    .await;
    if named.is_empty() {
        return html! {};
    }
    let row = |(campaign, failing): &(Option<Campaign>, FailingCampaign)| {
        let report = path(["console", "campaigns", &failing.campaign_id, "report"]);
        let name = campaign.as_ref().map_or("(deleted)", |campaign| campaign.name.as_str());
        html! {
            a href=(report) { bdi { (name) } } ": "
            (view::count(failing.failed)) " of " (view::count(failing.messages)) " messages failed or bounced in 7 days"
        }
    };
    view::card(TITLE, &html! { ul { @for it in &named { li { (row(it)) } } } })
}

async fn of_status(visitor: &Visitor, status: &str) -> Vec<Campaign> {
    if !visitor.may(ScopeName::CampaignsRead) {
        return Vec::new();
    }
    let call = visitor.get("/campaigns").query("status", status).query("limit", LIMIT);
    call.shared().read::<Campaigns>().await.map(|campaigns| campaigns.data).unwrap_or_default()
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
        visitor.get("/channels").shared().read::<Channels>(),
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
