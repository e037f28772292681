//! Campaigns that track conversions.

use campaigns::model::settings::conversion::ConversionTracking;
use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::{PgPool, types::Json};

use crate::model::goal::Tracker;

/// Other campaigns of the workspace that are considered in attribution; of more the ones that ran last.
const TRACKERS_MAX: i64 = 500;
/// Longest attribution window in days.
const WINDOW_DAYS_MAX: i32 = 30;

/// The other campaigns whose messages may compete for events in this period.
pub(crate) async fn beside(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    earliest: Timestamp,
    latest: Timestamp,
) -> Result<Vec<Tracker>> {
    let rows = sqlx::query!(
        r#"select id, definition->'conversionTracking' as "tracking!: Json<ConversionTracking>"
           from campaign
           where workspace_id = $1 and id <> $2 and ran
               and jsonb_typeof(definition->'conversionTracking') = 'object'
               and (started_at is null or started_at <= $4)
               and coalesce(completed_at, cancelled_at, 'infinity') >= $3::timestamptz - make_interval(days => $5)
           order by started_at desc nulls last, id
           limit $6"#,
        workspace.uuid(),
        campaign.uuid(),
        earliest.utc(),
        latest.utc(),
        WINDOW_DAYS_MAX,
        TRACKERS_MAX,
    )
    .fetch_all(db)
    .await?;
    let tracker = |id, tracking| Tracker { campaign: CampaignId::new(id), tracking };
    Ok(rows.into_iter().map(|row| tracker(row.id, row.tracking.0)).collect())
}

/// The names of the events that trigger a live campaign of a workspace. Any holder of a public key could send
/// these, so from apps they count only if they are trusted.
pub(crate) async fn triggering(db: &PgPool, workspace: WorkspaceId) -> Result<Vec<String>> {
    let names = sqlx::query_scalar!(
        r#"select distinct definition->'triggerConfig'->>'eventName' as "name!"
           from campaign
           where workspace_id = $1 and status = 'active' and definition->>'sendType' = 'triggered'
               and definition->'triggerConfig'->>'eventName' is not null"#,
        workspace.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(names)
}
