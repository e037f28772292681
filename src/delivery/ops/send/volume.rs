//! Volume limits, while a campaign is sent. The limit is checked where messages are claimed, under a lock that all
//! senders of the campaign share; campaigns without a limit take no lock.
//!
//! An audience larger than the limit is split when it is written: those who come first in the order of chance are
//! sent to, the others are kept in reserve. When everyone else is settled and part of the limit is left, because the
//! gate or the provider refused some, messages are taken out of the reserve. When the limit is used up and nothing is
//! in flight that could fail, the rest is skipped.

use campaigns::model::{
    CampaignKind,
    settings::limits::{Cadence, SendVolumeLimit},
};
use kernel::{Result, Timestamp, WorkspaceId};
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

/// What is to be done for a campaign in this transaction.
pub(crate) enum Turn {
    /// Messages may be sent.
    Send {
        /// Only those of this occurrence, where one is named.
        occurrence: Option<i32>,
        /// So many at most.
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

/// Decides whose turn it is in a campaign, `size` messages at most.
pub(crate) async fn turn(
    connection: &mut PgConnection,
    (workspace, campaign_context): (WorkspaceId, &CampaignContext),
    (now, size): (Timestamp, i64),
) -> Result<Turn> {
    let campaign = campaign_context.campaign.id;
    let Some((cadence, max)) = limit_of(campaign_context) else {
        let is_counted = volume::lock_kept(connection, workspace, campaign).await?;
        return Ok(Turn::Send { occurrence: None, max: size, is_counted });
    };
    if runs::is_being_written(&mut *connection, workspace, campaign).await? {
        // Which messages are kept in reserve is known when the whole audience is enqueued.
        return Ok(Turn::Wait);
    }
    let mut scope = MessageScope { workspace, campaign, occurrence: None };
    if cadence == Cadence::PerSend {
        let Some(first) = volume::first(connection, scope).await? else { return Ok(Turn::Wait) };
        scope.occurrence = Some(first.occurrence);
    }
    let Some(used) = volume::lock(connection, scope).await? else { return Ok(Turn::Wait) };
    let Some(first) = volume::first(connection, scope).await? else { return Ok(Turn::Wait) };
    let left = i64::from(max) - used;
    if left <= 0 {
        if volume::is_in_flight(connection, scope).await? {
            // What fails leaves room for another.
            return Ok(Turn::Wait);
        }
        return skipped(connection, scope, (campaign_context, now)).await.map(Turn::UsedUp);
    }
    if first.is_reserved {
        volume::use_reserve(connection, scope, left.max(RESERVE_MIN)).await?;
        return Ok(Turn::Refilled);
    }
    if first.due > now {
        return Ok(Turn::Wait);
    }
    Ok(Turn::Send { occurrence: scope.occurrence, max: left.min(size), is_counted: true })
}

/// Those who get nothing, since the limit is used up. Of a triggered campaign only whose message is due: it may get a
/// higher limit.
async fn skipped(
    connection: &mut PgConnection,
    scope: MessageScope,
    (campaign_context, now): (&CampaignContext, Timestamp),
) -> Result<Vec<Claimed>> {
    if campaign_context.campaign.definition.kind() == CampaignKind::Triggered {
        let page = DuePage { now, limit: PAGE };
        return claims::of_campaign(connection, scope, None, page).await;
    }
    claims::waiting(connection, scope, PAGE).await
}

/// Where a message stands that a limit leaves out.
pub(crate) fn beyond(campaign_context: &CampaignContext) -> MessageStatus {
    let max = limit_of(campaign_context).map_or(0, |(_, max)| max);
    let detail = format!("the campaign may send {max} messages");
    MessageStatus::Skipped(Skip::new(SkipReason::VolumeLimit, detail))
}

/// Takes messages out of the reserve of a campaign that has no limit any more; answers whether there were any.
pub(crate) async fn release(
    connection: &mut PgConnection,
    (workspace, campaign_context): (WorkspaceId, &CampaignContext),
) -> Result<bool> {
    if limit_of(campaign_context).is_some() {
        return Ok(false);
    }
    let scope =
        MessageScope { workspace, campaign: campaign_context.campaign.id, occurrence: None };
    Ok(volume::use_reserve(connection, scope, PAGE).await? > 0)
}
