//! The document of an export: what PostgreSQL has of a person, and the pieces it is stored in.

use kernel::{Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgPool;

use super::user_id;
use crate::{model::RequestId, store::work::Work};

/// A profile and those merged into it.
pub(crate) async fn profiles(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<UserId>> {
    let rows = sqlx::query_scalar!(
        "select id from users
         where workspace_id = $1 and (id = survivor_of($1, $2) or merged_into = survivor_of($1, $2))
         order by id",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(db)
    .await?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// The ids that events of these profiles may bear.
pub(crate) async fn event_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<Vec<String>> {
    let ids = bytes(users);
    let rows = sqlx::query_scalar!(
        r#"select encode(id, 'hex') as "id!" from users where workspace_id = $1 and id = any($2)
           union
           select u.external_id from users u
           where u.workspace_id = $1 and u.id = any($2) and u.external_id is not null and not exists (
               select from users o
               where o.workspace_id = $1 and o.external_id = u.external_id and o.id <> all($2)
                   and (o.deleted_at is null or o.keeps_external_id))
           union
           select id from identity where workspace_id = $1 and user_id = any($2)"#,
        workspace.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Everything but events, as the text of one JSON object.
pub(crate) async fn document(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<String> {
    let ids = bytes(users);
    let text = sqlx::query_scalar!(
        r#"select jsonb_build_object(
               'profiles', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'id', encode(id, 'hex'), 'externalId', external_id, 'email', email, 'phone', phone,
                       'attributes', attributes, 'createdAt', created_at, 'updatedAt', updated_at,
                       'deletedAt', deleted_at, 'mergedInto', encode(merged_into, 'hex')) order by created_at, id), '[]')
                   from users where workspace_id = $1 and id = any($2)),
               'identifiers', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'type', type, 'id', id, 'linkedAt', linked_at, 'source', source) order by linked_at, id), '[]')
                   from identity where workspace_id = $1 and user_id = any($2)),
               'consents', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'channel', channel, 'status', status, 'optInDate', opt_in_date, 'optOutDate', opt_out_date,
                       'optInSource', opt_in_source, 'consentText', consent_text, 'isValid', is_valid,
                       'bounceType', bounce_type, 'bounceCount', bounce_count, 'lastBounceAt', last_bounce_at,
                       'updatedAt', updated_at) order by channel), '[]')
                   from channel_consent where workspace_id = $1 and user_id = any($2)),
               'consentHistory', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'channel', channel, 'listId', list_id, 'action', action, 'previousStatus', previous_status,
                       'newStatus', new_status, 'source', source, 'actor', actor, 'ipAddress', ip_address,
                       'userAgent', user_agent, 'consentText', consent_text, 'metadata', metadata,
                       'createdAt', created_at) order by seq), '[]')
                   from subscription_history where workspace_id = $1 and user_id = any($2)),
               'lists', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'listId', m.list_id, 'name', l.name, 'channel', m.channel, 'status', m.status,
                       'subscribedAt', m.subscribed_at, 'optInSource', m.opt_in_source,
                       'consentText', m.consent_text) order by l.name, m.channel), '[]')
                   from list_membership m
                   join subscription_list l on l.workspace_id = m.workspace_id and l.id = m.list_id
                   where m.workspace_id = $1 and m.user_id = any($2)),
               'devices', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'platform', platform, 'token', token, 'appId', app_id, 'createdAt', created_at)
                       order by created_at, token), '[]')
                   from device where workspace_id = $1 and user_id = any($2)),
               'suppressions', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'channel', s.channel, 'identifier', s.identifier, 'reason', s.reason, 'scope', s.scope,
                       'createdAt', s.created_at, 'actor', s.actor) order by s.created_at), '[]')
                   from suppression s
                   where s.workspace_id = $1 and s.identifier in (
                       select email from users where workspace_id = $1 and id = any($2)
                       union select phone_normal from users where workspace_id = $1 and id = any($2))),
               'removedSuppressions', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'channel', s.channel, 'identifier', s.identifier, 'reason', s.reason, 'scope', s.scope,
                       'createdAt', s.created_at, 'actor', s.actor, 'removedAt', s.removed_at,
                       'removedSource', s.removed_source, 'removedActor', s.removed_actor) order by s.removed_at, s.id), '[]')
                   from suppression_removal s where s.workspace_id = $1 and s.identifier in (
                       select unnest(array[email, phone_normal]) from users where workspace_id = $1 and id = any($2))),
               'messages', (
                   select coalesce(jsonb_agg(jsonb_build_object(
                       'id', id, 'purpose', purpose, 'campaignId', campaign_id, 'channel', channel,
                       'variantId', variant_id, 'context', context, 'status', status, 'code', code, 'reason', reason,
                       'createdAt', created_at, 'sentAt', sent_at) order by created_at, id), '[]')
                   from message where workspace_id = $1 and user_id = any($2))
           )::text as "document!""#,
        workspace.uuid(),
        &ids,
    )
    .fetch_one(db)
    .await?;
    Ok(text)
}

/// Deletes what an attempt before has stored.
pub(crate) async fn begin(db: &PgPool, work: &Work) -> Result<()> {
    sqlx::query!(
        "delete from privacy_export where workspace_id = $1 and request_id = $2",
        work.workspace.uuid(),
        work.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Stores a piece of a document.
pub(crate) async fn store(db: &PgPool, work: &Work, piece: i32, content: &[u8]) -> Result<()> {
    sqlx::query!(
        "insert into privacy_export (workspace_id, request_id, piece, content) values ($1, $2, $3, $4)",
        work.workspace.uuid(),
        work.id.uuid(),
        piece,
        content,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A piece of a document; none after the last.
pub(crate) async fn piece(
    db: &PgPool,
    workspace: WorkspaceId,
    id: RequestId,
    piece: i32,
) -> Result<Option<Vec<u8>>> {
    let found = sqlx::query_scalar!(
        "select content from privacy_export where workspace_id = $1 and request_id = $2 and piece = $3",
        workspace.uuid(),
        id.uuid(),
        piece,
    )
    .fetch_optional(db)
    .await?;
    Ok(found)
}

/// Deletes documents whose time is over; returns how many pieces.
pub(crate) async fn delete_expired(db: &PgPool, now: Timestamp) -> Result<u64> {
    let done = sqlx::query!(
        "delete from privacy_export e using privacy_request r
         where r.workspace_id = e.workspace_id and r.id = e.request_id and r.expires_at <= $1",
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

fn bytes(users: &[UserId]) -> Vec<Vec<u8>> {
    users.iter().map(|user| user.bytes().to_vec()).collect()
}
