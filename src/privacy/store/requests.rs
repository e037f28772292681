//! Requests as callers see them.

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId, page::PageWindow};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::user_id;
use crate::model::{EventsFate, Kind, PrivacyRequest, RequestId, State, Step};

type Moment = chrono::DateTime<chrono::Utc>;

struct Row {
    id: Uuid,
    kind: String,
    events: Option<String>,
    user_id: Option<Vec<u8>>,
    state: String,
    step: Option<String>,
    failure: Option<String>,
    requested_by: String,
    requested_at: Moment,
    started_at: Option<Moment>,
    finished_at: Option<Moment>,
    expires_at: Option<Moment>,
}

impl TryFrom<Row> for PrivacyRequest {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let unknown = || Error::internal("a privacy request of no known type or state");
        Ok(Self {
            id: RequestId::new(row.id),
            kind: Kind::named(&row.kind).ok_or_else(unknown)?,
            events: row.events.as_deref().and_then(EventsFate::named),
            user: row.user_id.as_deref().map(user_id).transpose()?,
            state: State::named(&row.state).ok_or_else(unknown)?,
            step: row.step.as_deref().and_then(Step::named),
            failure: row.failure,
            requested_by: row.requested_by,
            requested_at: row.requested_at.into(),
            started_at: row.started_at.map(Timestamp::from),
            finished_at: row.finished_at.map(Timestamp::from),
            expires_at: row.expires_at.map(Timestamp::from),
        })
    }
}

/// A request to store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRow<'a> {
    pub(crate) id: RequestId,
    pub(crate) kind: Kind,
    pub(crate) events: Option<EventsFate>,
    pub(crate) user: UserId,
    pub(crate) requested_by: &'a str,
    pub(crate) now: Timestamp,
}

/// Stores a request. Returns false where one of its kind is open for the person.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    new: NewRow<'_>,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into privacy_request (workspace_id, id, type, events, user_id, state, requested_by, requested_at)
         values ($1, $2, $3, $4, $5, 'pending', $6, $7)
         on conflict (workspace_id, user_id, type) where state in ('pending', 'running') and user_id is not null
         do nothing",
        workspace.uuid(),
        new.id.uuid(),
        new.kind.as_str(),
        new.events.map(EventsFate::as_str),
        &new.user.bytes()[..],
        new.requested_by,
        new.now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The open request of a kind for a person.
pub(crate) async fn open(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    kind: Kind,
    user: UserId,
) -> Result<Option<PrivacyRequest>> {
    let row = sqlx::query_as!(
        Row,
        "select id, type as kind, events, user_id, state, step, failure, requested_by, requested_at,
             started_at, finished_at, expires_at
         from privacy_request
         where workspace_id = $1 and type = $2 and user_id = $3 and state in ('pending', 'running')",
        workspace.uuid(),
        kind.as_str(),
        &user.bytes()[..],
    )
    .fetch_optional(connection)
    .await?;
    row.map(PrivacyRequest::try_from).transpose()
}

/// A request of a workspace.
pub(crate) async fn get(
    db: &PgPool,
    workspace: WorkspaceId,
    id: RequestId,
) -> Result<Option<PrivacyRequest>> {
    let row = sqlx::query_as!(
        Row,
        "select id, type as kind, events, user_id, state, step, failure, requested_by, requested_at,
             started_at, finished_at, expires_at
         from privacy_request
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(PrivacyRequest::try_from).transpose()
}

/// A page of the requests of a workspace, newest first, with the number of all.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    state: Option<State>,
    window: PageWindow,
) -> Result<(Vec<PrivacyRequest>, u64)> {
    let state = state.map(State::as_str);
    let total = sqlx::query_scalar!(
        r#"select count(*) as "count!" from privacy_request
           where workspace_id = $1 and ($2::text is null or state = $2)"#,
        workspace.uuid(),
        state,
    )
    .fetch_one(db)
    .await?;
    let rows = sqlx::query_as!(
        Row,
        "select id, type as kind, events, user_id, state, step, failure, requested_by, requested_at,
             started_at, finished_at, expires_at
         from privacy_request
         where workspace_id = $1 and ($2::text is null or state = $2)
         order by requested_at desc, id desc
         limit $3 offset $4",
        workspace.uuid(),
        state,
        window.limit(),
        window.offset(),
    )
    .fetch_all(db)
    .await?;
    let rows = rows.into_iter().map(PrivacyRequest::try_from).collect::<Result<_>>()?;
    Ok((rows, u64::try_from(total).unwrap_or(0)))
}
