//! Campaigns in PostgreSQL. A change is one statement: it updates the row that was read, and inserts the
//! version and the history entry.

use chrono::{DateTime, Utc};
use kernel::{CampaignId, Error, Result, Timestamp, VersionId, WorkspaceId};
use sqlx::{PgExecutor, types::Json};
use uuid::Uuid;

use crate::model::{Action, Campaign, Change, ChangeType, Definition, PendingDraft, State, Status};

/// A row of the table.
struct Row {
    id: Uuid,
    revision: i64,
    definition: Json<Definition>,
    pending_draft: Option<Json<Definition>>,
    pending_draft_updated_at: Option<DateTime<Utc>>,
    version: i32,
    status: String,
    paused_from: Option<String>,
    archived_from: Option<String>,
    ran: bool,
    failure_reason: Option<String>,
    occurrence: i32,
    next_send_at: Option<DateTime<Utc>>,
    last_sent_at: Option<DateTime<Utc>>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    cancelled_at: Option<DateTime<Utc>>,
    archived_at: Option<DateTime<Utc>>,
    rl: Option<serde_json::Value>,
    ab: Option<serde_json::Value>,
    created_by: String,
    updated_by: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

fn status(text: &str) -> Result<Status> {
    let known = Status::NAMED.iter().find(|(name, _)| *name == text).map(|(_, status)| *status);
    known.ok_or_else(|| Error::internal("a campaign with an unknown status"))
}

impl TryFrom<Row> for Campaign {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let pending_draft = row.pending_draft.zip(row.pending_draft_updated_at);
        Ok(Self {
            id: CampaignId::new(row.id),
            revision: row.revision,
            definition: row.definition.0,
            pending_draft: pending_draft.map(|(definition, updated_at)| PendingDraft {
                definition: definition.0,
                updated_at: updated_at.into(),
            }),
            version: row.version,
            state: State {
                status: status(&row.status)?,
                paused_from: row.paused_from.as_deref().map(status).transpose()?,
                archived_from: row.archived_from.as_deref().map(status).transpose()?,
                ran: row.ran,
                failure_reason: row.failure_reason,
                occurrence: row.occurrence,
                next_send_at: row.next_send_at.map(Timestamp::from),
                last_sent_at: row.last_sent_at.map(Timestamp::from),
                started_at: row.started_at.map(Timestamp::from),
                completed_at: row.completed_at.map(Timestamp::from),
                cancelled_at: row.cancelled_at.map(Timestamp::from),
                archived_at: row.archived_at.map(Timestamp::from),
                rl: row.rl,
                ab: row.ab,
            },
            created_by: row.created_by,
            updated_by: row.updated_by,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        })
    }
}

/// A version to insert.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavedVersion<'a> {
    pub(crate) change_type: ChangeType,
    pub(crate) changed_fields: &'a [String],
    pub(crate) snapshot: &'a Definition,
}

/// What is stored with a change.
#[derive(Debug)]
pub(crate) struct Saved<'a> {
    pub(crate) actor: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) action: Action,
    pub(crate) changes: &'a [Change],
    /// The new version, if the definition changed.
    pub(crate) version: Option<SavedVersion<'a>>,
}

/// Inserts a campaign, its first version and the first entry of its history.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: &Campaign,
    saved: &Saved<'_>,
) -> Result<()> {
    let fields = saved.version.map_or(&[][..], |version| version.changed_fields);
    sqlx::query!(
        "with made as (
             insert into campaign
                 (workspace_id, id, definition, status, next_send_at, created_by, updated_by, created_at, updated_at)
             values ($1, $2, $3, $4, $5, $6, $6, $7, $7)),
         kept as (
             insert into campaign_version
                 (workspace_id, campaign_id, version, id, change_type, changed_fields, snapshot, created_by, created_at)
             values ($1, $2, 1, $8, 'create', $9, $3, $6, $7))
         insert into campaign_history (workspace_id, campaign_id, id, action, actor, changes, created_at)
         values ($1, $2, gen_random_uuid(), $10, $6, $11, $7)",
        workspace.uuid(),
        campaign.id.uuid(),
        Json(&campaign.definition) as _,
        campaign.state.status.as_str(),
        campaign.state.next_send_at.map(Timestamp::utc),
        saved.actor,
        saved.now.utc(),
        VersionId::mint(saved.now).uuid(),
        fields,
        saved.action.as_str(),
        Json(saved.changes) as _,
    )
    .execute(db)
    .await?;
    Ok(())
}

pub(crate) async fn find(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<Option<Campaign>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, revision, definition as "definition: _", pending_draft as "pending_draft: _",
               pending_draft_updated_at, version, status, paused_from, archived_from, ran, failure_reason,
               occurrence, next_send_at, last_sent_at, started_at, completed_at, cancelled_at, archived_at,
               rl, ab, created_by, updated_by, created_at, updated_at
           from campaign
           where workspace_id = $1 and id = $2"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Campaign::try_from).transpose()
}

/// These campaigns, newest first; missing ones are left out.
pub(crate) async fn find_newest(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    ids: &[Uuid],
) -> Result<Vec<Campaign>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, revision, definition as "definition: _", pending_draft as "pending_draft: _",
               pending_draft_updated_at, version, status, paused_from, archived_from, ran, failure_reason,
               occurrence, next_send_at, last_sent_at, started_at, completed_at, cancelled_at, archived_at,
               rl, ab, created_by, updated_by, created_at, updated_at
           from campaign
           where workspace_id = $1 and id = any($2)
           order by created_at desc, id desc"#,
        workspace.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Campaign::try_from).collect()
}

/// Replaces `old` by `new` and stores the history entry; false if the row changed since it was read, and then
/// nothing is stored.
pub(crate) async fn save(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    old: &Campaign,
    new: &Campaign,
    saved: &Saved<'_>,
) -> Result<bool> {
    let definition = (old.definition != new.definition).then_some(Json(&new.definition));
    let draft = new.pending_draft.as_ref();
    let is_draft_another = old.pending_draft != new.pending_draft;
    let (state, version) = (&new.state, saved.version);
    let done = sqlx::query!(
        "with changed as (
             update campaign
             set revision = revision + 1,
                 definition = coalesce($4, definition),
                 pending_draft = case when $5 then $6 else pending_draft end,
                 pending_draft_updated_at = $7,
                 version = version + ($8::text is not null)::integer,
                 status = $9, paused_from = $10, archived_from = $11, ran = $12, failure_reason = $13,
                 occurrence = $14, next_send_at = $15, last_sent_at = $16, started_at = $17,
                 completed_at = $18, cancelled_at = $19, archived_at = $20, rl = $21, ab = $22,
                 updated_by = $23, updated_at = $24
             where workspace_id = $1 and id = $2 and revision = $3
             returning version),
         kept as (
             insert into campaign_version
                 (workspace_id, campaign_id, version, id, change_type, changed_fields, snapshot, created_by, created_at)
             select $1, $2, version, $25, $8, $26, $27, $28, $24
             from changed
             where $8::text is not null)
         insert into campaign_history (workspace_id, campaign_id, id, action, actor, changes, created_at)
         select $1, $2, gen_random_uuid(), $29, $28, $30, $24
         from changed",
        workspace.uuid(),
        old.id.uuid(),
        old.revision,
        definition as _,
        is_draft_another,
        draft.filter(|_| is_draft_another).map(|draft| Json(&draft.definition)) as _,
        draft.map(|draft| draft.updated_at.utc()),
        version.map(|it| it.change_type.as_str()),
        state.status.as_str(),
        state.paused_from.map(Status::as_str),
        state.archived_from.map(Status::as_str),
        state.ran,
        state.failure_reason,
        state.occurrence,
        state.next_send_at.map(Timestamp::utc),
        state.last_sent_at.map(Timestamp::utc),
        state.started_at.map(Timestamp::utc),
        state.completed_at.map(Timestamp::utc),
        state.cancelled_at.map(Timestamp::utc),
        state.archived_at.map(Timestamp::utc),
        state.rl,
        state.ab,
        new.updated_by,
        saved.now.utc(),
        VersionId::mint(saved.now).uuid(),
        version.map_or(&[][..], |it| it.changed_fields),
        version.map(|it| Json(it.snapshot)) as _,
        saved.actor,
        saved.action.as_str(),
        Json(saved.changes) as _,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Deletes a campaign as it was read, with its versions and its history; false as in [`save`].
pub(crate) async fn delete(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<bool> {
    let done = sqlx::query!(
        "delete from campaign where workspace_id = $1 and id = $2 and revision = $3",
        workspace.uuid(),
        campaign.id.uuid(),
        campaign.revision,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}
