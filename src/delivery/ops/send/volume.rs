//! Volume limits, while a campaign is sent. The limit is checked where messages are claimed, under a lock that all
//! senders of the campaign share; campaigns without a limit take no lock.
//!
//! An audience larger than the limit is split when it is enqueued: the first ones in random order are
//! queued, the others are put in reserve. When all others are settled and part of the limit is left, because the
//! eligibility check or the provider refused some, messages are taken out of the reserve. When the limit is used up and nothing is
//! in flight that could fail, the rest is skipped.

use campaigns::model::{
    CampaignKey, CampaignKind,
    settings::limits::{Cadence, SendVolumeLimit},
};
use kernel::{Result, Timestamp};
use sqlx::PgConnection;

use super::campaign_context::CampaignContext;
use crate::{
    model::{
        claimed::{Claimed, MessageStatus},
        skip::{Skip, SkipReason},
    },
    store::{
        claims, runs,
        scope::{DuePage, MessageScope},
        volume,
    },
};

/// Messages skipped in one transaction.
const PAGE: i64 = 2_000;
/// Messages taken out of the reserve together at least.
const RESERVE_MIN: i64 = 64;

/// The decision for a campaign in this transaction.
pub(crate) enum VolumeDecision {
    /// Messages may be sent.
    Send {
        /// Only those of this occurrence, where one is named.
        occurrence: Option<i32>,
        /// The maximum number of messages.
        max: i64,
        /// Whether what is sent has to be counted.
        is_counted: bool,
    },
    /// Nothing may be sent now.
    Wait,
    /// Messages were taken out of the reserve.
    Refilled,
    /// The limit is used up: these messages are skipped.
    UsedUp(Vec<Claimed>),
}

/// The limit of a campaign, where one holds. The events of a triggered campaign are each a send of their own, so that
/// a limit for each send never cuts anything off.
fn limit_of(campaign_context: &CampaignContext) -> Option<(Cadence, u32)> {
    let (limit, max) =
        campaign_context.volume().and_then(|limit| Some((limit, limit.max_sends()?)))?;
    let cadence = SendVolumeLimit::cadence(limit);
    let is_triggered = campaign_context.campaign.definition.kind() == CampaignKind::Triggered;
    (!is_triggered || cadence == Cadence::Lifetime).then_some((cadence, max))
}

/// Decides which messages of a campaign are next, at most `size`.
pub(crate) async fn decide(
    connection: &mut PgConnection,
    campaign_context: &CampaignContext,
    now: Timestamp,
    size: i64,
) -> Result<VolumeDecision> {
    let CampaignKey { workspace, id: campaign } = campaign_context.key();
    let Some((cadence, max)) = limit_of(campaign_context) else {
        let is_counted = volume::lock_kept(connection, workspace, campaign).await?;
        return Ok(VolumeDecision::Send { occurrence: None, max: size, is_counted });
    };
    if runs::is_being_written(&mut *connection, workspace, campaign).await? {
        // Which messages are kept in reserve is known when the whole audience is enqueued.
        return Ok(VolumeDecision::Wait);
    }
    let mut scope = MessageScope { workspace, campaign, occurrence: None };
    if cadence == Cadence::PerSend {
        let Some(first) = volume::first(connection, scope).await? else {
            return Ok(VolumeDecision::Wait);
        };
        scope.occurrence = Some(first.occurrence);
    }
    let Some(used) = volume::lock(connection, scope).await? else {
        return Ok(VolumeDecision::Wait);
    };
    let Some(first) = volume::first(connection, scope).await? else {
        return Ok(VolumeDecision::Wait);
    };
    let left = i64::from(max) - used;
    if left <= 0 {
        if volume::is_in_flight(connection, scope).await? {
            // A failed message leaves room for another.
            return Ok(VolumeDecision::Wait);
        }
        return beyond_limit(connection, scope, campaign_context, now)
            .await
            .map(VolumeDecision::UsedUp);
    }
    if first.is_reserved {
        volume::use_reserve(connection, scope, left.max(RESERVE_MIN)).await?;
        return Ok(VolumeDecision::Refilled);
    }
    if first.due > now {
        return Ok(VolumeDecision::Wait);
    }
    Ok(VolumeDecision::Send { occurrence: scope.occurrence, max: left.min(size), is_counted: true })
}

/// The messages beyond a limit that is used up. Of a triggered campaign only the due ones: it may get a
/// higher limit.
async fn beyond_limit(
    connection: &mut PgConnection,
    scope: MessageScope,
    campaign_context: &CampaignContext,
    now: Timestamp,
) -> Result<Vec<Claimed>> {
    if campaign_context.campaign.definition.kind() == CampaignKind::Triggered {
        let page = DuePage { now, limit: PAGE };
        return claims::of_campaign(connection, scope, None, page).await;
    }
    claims::waiting(connection, scope, PAGE).await
}

/// The status of a message beyond a limit.
pub(crate) fn beyond(campaign_context: &CampaignContext) -> MessageStatus {
    let max = limit_of(campaign_context).map_or(0, |(_, max)| max);
    let detail = format!("the campaign may send {max} messages");
    MessageStatus::Skipped(Skip::new(SkipReason::VolumeLimit, detail))
}

/// Takes messages out of the reserve of a campaign without a limit; returns whether there were any.
pub(crate) async fn release(
    connection: &mut PgConnection,
    campaign_context: &CampaignContext,
) -> Result<bool> {
    if limit_of(campaign_context).is_some() {
        return Ok(false);
    }
    let CampaignKey { workspace, id: campaign } = campaign_context.key();
    let scope = MessageScope { workspace, campaign, occurrence: None };
    Ok(volume::use_reserve(connection, scope, PAGE).await? > 0)
}
