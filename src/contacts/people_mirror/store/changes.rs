//! Changes that wait to be copied.

use kernel::{Result, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::user_id;
use crate::model::{CampaignKey, Changes, ProfileKey};

/// Whether there is something to copy.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// How long the oldest change waits; none without one.
    pub(crate) seconds: Option<f64>,
    /// Whether everything is being copied.
    pub(crate) is_rebuilding: bool,
}

/// What waits, of all workspaces.
pub(crate) async fn waiting(db: &PgPool) -> Result<Waiting> {
    let row = sqlx::query_as!(
        Waiting,
        r#"select greatest(
               (select extract(epoch from clock_timestamp() - changed_at)::float8
                from people_change order by seq limit 1),
               (select extract(epoch from clock_timestamp() - changed_at)::float8
                from campaign_change order by seq limit 1)) as seconds,
             exists (select from people_rebuild) as "is_rebuilding!""#
    )
    .fetch_one(db)
    .await?;
    Ok(row)
}

/// The oldest changes: campaigns up to the limit, and of profiles the rows before which there are fewer than the limit.
pub(crate) async fn oldest(tx: &mut PgConnection, limit: i64) -> Result<Changes> {
    let mut changes = Changes::default();
    let people = sqlx::query!(
        r#"select seq as "seq!", workspace_id as "workspace_id!", user_id, user_ids
           from (
               select *, sum(coalesce(cardinality(user_ids), 1))
                   over (order by seq rows between unbounded preceding and 1 preceding) as before
               from (select * from people_change order by seq limit $1) o
           ) c
           where coalesce(before, 0) < $1
           order by seq"#,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    for row in people {
        for user in row.user_ids.into_iter().flatten().chain(row.user_id) {
            let user = user_id(&user)?;
            changes.people.insert(ProfileKey { workspace: row.workspace_id, user });
            changes.change_count += 1;
        }
        changes.people_rows.push(row.seq);
    }
    let campaigns = sqlx::query!(
        "select seq, workspace_id, campaign_id from campaign_change order by seq limit $1",
        limit
    )
    .fetch_all(tx)
    .await?;
    for row in campaigns {
        let key = CampaignKey { workspace: row.workspace_id, campaign: row.campaign_id };
        changes.campaigns.insert(key);
        changes.campaign_rows.push(row.seq);
    }
    Ok(changes)
}

/// Deletes the rows of changes that are copied.
pub(crate) async fn forget(tx: &mut PgConnection, changes: &Changes) -> Result<()> {
    if !changes.people_rows.is_empty() {
        sqlx::query!("delete from people_change where seq = any($1)", &changes.people_rows)
            .execute(&mut *tx)
            .await?;
    }
    if !changes.campaign_rows.is_empty() {
        sqlx::query!("delete from campaign_change where seq = any($1)", &changes.campaign_rows)
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// The changes of a workspace that wait at one time.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The last row of a profile's change.
    people: Option<i64>,
    /// The last row of a campaign's change.
    campaigns: Option<i64>,
    /// The last version of an identifier.
    identities: Option<i64>,
    /// Whether a copy of everything has not passed this workspace yet.
    is_rebuilding: bool,
}

impl Pending {
    /// Those of profiles and identifiers alone.
    #[must_use]
    pub(crate) fn without_campaigns(self) -> Self {
        Self { campaigns: None, ..self }
    }

    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        let has_rows =
            self.people.is_some() || self.campaigns.is_some() || self.identities.is_some();
        !has_rows && !self.is_rebuilding
    }
}

/// The changes of a workspace that wait now.
pub(crate) async fn pending(db: &PgPool, workspace: WorkspaceId) -> Result<Pending> {
    let pending = sqlx::query_as!(
        Pending,
        r#"select (select max(seq) from people_change where workspace_id = $1) as people,
             (select max(seq) from campaign_change where workspace_id = $1) as campaigns,
             (select max(version) from identity_change where workspace_id = $1) as identities,
             exists (select from people_rebuild where workspace_id <= $1) as "is_rebuilding!""#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(pending)
}

/// Whether some of these changes wait still.
pub(crate) async fn still_pending(
    db: &PgPool,
    workspace: WorkspaceId,
    pending: &Pending,
) -> Result<bool> {
    let waits = sqlx::query_scalar!(
        r#"select (exists (select from people_change where workspace_id = $1 and seq <= $2)
             or exists (select from campaign_change where workspace_id = $1 and seq <= $3)
             or exists (select from identity_change where workspace_id = $1 and version <= $4)
             or ($5 and exists (select from people_rebuild where workspace_id <= $1))) as "waits!""#,
        workspace.uuid(),
        pending.people,
        pending.campaigns,
        pending.identities,
        pending.is_rebuilding,
    )
    .fetch_one(db)
    .await?;
    Ok(waits)
}
