//! Versions of a campaign, and its history.

use chrono::{DateTime, Utc};
use kernel::{CampaignId, Error, Result, VersionId, WorkspaceId};
use sqlx::{PgExecutor, PgPool, types::Json};
use uuid::Uuid;

use crate::model::{Change, ChangeType, Entry, Page, Snapshot, Version, VersionName};

struct Row {
    id: Uuid,
    version: i32,
    change_type: String,
    changed_fields: Vec<String>,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl TryFrom<Row> for Version {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let known = ChangeType::NAMED.iter().find(|(name, _)| *name == row.change_type);
        let (_, change_type) =
            known.ok_or_else(|| Error::internal("a version with an unknown change type"))?;
        Ok(Self {
            id: VersionId::new(row.id),
            number: row.version,
            change_type: *change_type,
            changed_fields: row.changed_fields,
            created_by: row.created_by,
            created_at: row.created_at.into(),
        })
    }
}

/// A page of the versions of a campaign, newest first, and the total.
pub(crate) async fn versions(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    page: Page,
) -> Result<(Vec<Version>, i64)> {
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!" from campaign_version
           where workspace_id = $1 and campaign_id = $2"#,
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_one(db)
    .await?;
    let rows = sqlx::query_as!(
        Row,
        "select id, version, change_type, changed_fields, created_by, created_at
         from campaign_version
         where workspace_id = $1 and campaign_id = $2
         order by version desc
         limit $3 offset $4",
        workspace.uuid(),
        campaign.uuid(),
        i64::from(page.limit),
        i64::try_from(page.offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    let versions: Result<_> = rows.into_iter().map(Version::try_from).collect();
    Ok((versions?, total))
}

/// A version of a campaign with its snapshot.
pub(crate) async fn find_version(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: CampaignId,
    name: VersionName,
) -> Result<Option<Snapshot>> {
    let (id, number) = match name {
        VersionName::Id(id) => (Some(id.uuid()), None),
        VersionName::Number(number) => (None, Some(number)),
    };
    let row = sqlx::query!(
        "select id, version, change_type, changed_fields, created_by, created_at, snapshot
         from campaign_version
         where workspace_id = $1 and campaign_id = $2 and (id = $3 or version = $4)",
        workspace.uuid(),
        campaign.uuid(),
        id,
        number,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let version = Row {
            id: row.id,
            version: row.version,
            change_type: row.change_type,
            changed_fields: row.changed_fields,
            created_by: row.created_by,
            created_at: row.created_at,
        };
        Ok(Snapshot { version: version.try_into()?, snapshot: row.snapshot })
    })
    .transpose()
}

/// A page of a campaign's history, newest first, and the total.
pub(crate) async fn history(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    page: Page,
) -> Result<(Vec<Entry>, i64)> {
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!" from campaign_history
           where workspace_id = $1 and campaign_id = $2"#,
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_one(db)
    .await?;
    let rows = sqlx::query!(
        r#"select id, action, actor, changes as "changes: Json<Vec<Change>>", created_at
           from campaign_history
           where workspace_id = $1 and campaign_id = $2
           order by seq desc
           limit $3 offset $4"#,
        workspace.uuid(),
        campaign.uuid(),
        i64::from(page.limit),
        i64::try_from(page.offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    let entries = rows.into_iter().map(|row| Entry {
        id: row.id,
        action: row.action,
        actor: row.actor,
        changes: row.changes.0,
        created_at: row.created_at.into(),
    });
    Ok((entries.collect(), total))
}
