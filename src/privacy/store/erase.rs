//! Deletes what PostgreSQL has of a person.

use std::collections::HashMap;

use kernel::{Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::user_id;
use crate::{erasures_file::ErasedPerson, model::EventsFate, store::work::Work};

/// Locks the profile of an erasure and those merged into it. Empty where it is gone.
pub(crate) async fn lock_profiles(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<UserId>> {
    let rows = sqlx::query_scalar!(
        "select id from users
         where workspace_id = $1 and (
             id = survivor_of($1, $2) or merged_into = survivor_of($1, $2))
         order by id
         for update",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(tx)
    .await?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// Stores the identifiers of profiles, those excepted that other active profiles have by now.
pub(crate) async fn store_identifiers(
    tx: &mut PgConnection,
    work: &Work,
    users: &[UserId],
) -> Result<()> {
    let ids = bytes(users);
    sqlx::query!(
        "insert into privacy_identifier (workspace_id, request_id, kind, value)
         select distinct $1::uuid, $2::uuid, found.kind, found.value
         from (
             select 'internal' as kind, encode(id, 'hex') as value
             from users where workspace_id = $1 and id = any($3)
             union all
             select 'external', u.external_id
             from users u
             where u.workspace_id = $1 and u.id = any($3) and not exists (
                 select from users o
                 where o.workspace_id = $1 and o.external_id = u.external_id and o.id <> all($3)
                     and (o.deleted_at is null or o.keeps_external_id))
             union all
             select 'email', email from users where workspace_id = $1 and id = any($3)
             union all
             select 'phone', phone_normal from users where workspace_id = $1 and id = any($3)
             union all
             select type, id from identity where workspace_id = $1 and user_id = any($3)
         ) found
         where found.value is not null
         on conflict do nothing",
        work.workspace.uuid(),
        work.id.uuid(),
        &ids,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Ends profiles: no message is made for them any more.
pub(crate) async fn end_profiles(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    now: Timestamp,
) -> Result<()> {
    let ids = bytes(users);
    sqlx::query!(
        "update users set deleted_at = $3, deleted_by = 'privacy', deleted_via = 'system'
         where workspace_id = $1 and id = any($2) and deleted_at is null",
        workspace.uuid(),
        &ids,
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes messages that wait, and says how many a provider has.
pub(crate) async fn settle_messages(db: &PgPool, works: &[&Work]) -> Result<i64> {
    let (workspaces, requests): (Vec<_>, Vec<_>) =
        works.iter().map(|work| (work.workspace.uuid(), work.id.uuid())).unzip();
    sqlx::query!(
        "delete from message m
         using unnest($1::uuid[], $2::uuid[]) as k (workspace_id, request_id)
         join privacy_identifier i on i.workspace_id = k.workspace_id and i.request_id = k.request_id
             and i.kind = 'internal'
         where m.workspace_id = i.workspace_id and m.user_id = decode(i.value, 'hex') and m.status = 'queued'",
        &workspaces,
        &requests,
    )
    .execute(db)
    .await?;
    let sending = sqlx::query_scalar!(
        r#"select count(*) as "count!"
           from unnest($1::uuid[], $2::uuid[]) as k (workspace_id, request_id)
           join privacy_identifier i on i.workspace_id = k.workspace_id and i.request_id = k.request_id
               and i.kind = 'internal'
           join message m on m.workspace_id = i.workspace_id and m.user_id = decode(i.value, 'hex')
           where m.status = 'sending'"#,
        &workspaces,
        &requests,
    );
    Ok(sending.fetch_one(db).await?)
}

/// An identifier of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identifier {
    pub(crate) kind: String,
    pub(crate) value: String,
}

/// The identifiers of an erasure.
pub(crate) async fn identifiers(db: &PgPool, work: &Work) -> Result<Vec<Identifier>> {
    let rows = sqlx::query_as!(
        Identifier,
        "select kind, value from privacy_identifier
         where workspace_id = $1 and request_id = $2
         order by kind, value",
        work.workspace.uuid(),
        work.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// The ids of events in the erasures that are under way: their workspace, and a value.
#[derive(Debug, Clone)]
pub(crate) struct EventIdentifier {
    pub(crate) workspace_id: uuid::Uuid,
    pub(crate) value: String,
}

/// Ids that events of people bear who are being erased.
pub(crate) async fn event_identifiers(db: &PgPool) -> Result<Vec<EventIdentifier>> {
    let rows = sqlx::query_as!(
        EventIdentifier,
        "select workspace_id, value from privacy_identifier where kind not in ('email', 'phone')",
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Keeps the opt-outs of a person as hashes of the addresses, numbers and external ids.
pub(crate) async fn keep_opt_outs(
    tx: &mut PgConnection,
    work: &Work,
    users: &[UserId],
    now: Timestamp,
) -> Result<()> {
    let ids = bytes(users);
    sqlx::query!(
        "with named as (
             select kind, value, privacy_hash($1, kind, value) as hash
             from privacy_identifier
             where workspace_id = $1 and request_id = $2 and kind in ('email', 'phone', 'external')
         )
         insert into erased_opt_out
             (workspace_id, hash, kind, channel, list_id, reason, scope, opted_out_at)
         select $1, n.hash, 'consent', c.channel, null, null, null, coalesce(max(c.opt_out_date), $4)
         from named n, channel_consent c
         where c.workspace_id = $1 and c.user_id = any($3) and c.status = 'unsubscribed'
         group by n.hash, c.channel
         union all
         select $1, n.hash, 'list', m.channel, m.list_id, null, null, max(m.updated_at)
         from named n, list_membership m
         where m.workspace_id = $1 and m.user_id = any($3) and m.status = 'unsubscribed'
         group by n.hash, m.channel, m.list_id
         union all
         select $1, n.hash, 'suppression', s.channel, s.list_id, s.reason, s.scope, min(s.created_at)
         from named n
         join suppression s on s.workspace_id = $1 and s.identifier = n.value
             and s.channel = any(case n.kind when 'email' then array['email'] else array['sms', 'whatsapp'] end)
         where n.kind in ('email', 'phone')
         group by n.hash, s.channel, s.list_id, s.reason, s.scope
         on conflict do nothing",
        work.workspace.uuid(),
        work.id.uuid(),
        &ids,
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// What is deleted by the internal ids in `$2`, in this order, in the workspace `$1`.
const BY_USER: &[&str] = &[
    "delete from short_link l using message m
     where l.workspace_id = $1 and m.workspace_id = $1 and m.id = l.message_id and m.user_id = any($2)",
    "delete from feedback_heard f using message m
     where f.workspace_id = $1 and m.workspace_id = $1 and m.user_id = any($2) and left(f.key, 36) = m.id::text",
    "delete from idempotency_key k using message m
     where k.workspace_id = $1 and m.workspace_id = $1 and m.user_id = any($2) and k.answer->>'message' = m.id::text",
    "delete from message where workspace_id = $1 and user_id = any($2)",
    "delete from campaign_exposure where workspace_id = $1 and user_id = any($2)",
    "delete from campaign_entry where workspace_id = $1 and user_id = any($2)",
    "delete from campaign_received where workspace_id = $1 and user_id = any($2)",
    "delete from send_tally where workspace_id = $1 and user_id = any($2)",
    "delete from send_tally_lock where workspace_id = $1 and user_id = any($2)",
    "delete from in_app_recipient where workspace_id = $1 and user_id = any($2)",
    "delete from in_app_test where workspace_id = $1 and user_id = any($2)",
    "delete from device where workspace_id = $1 and user_id = any($2)",
    "delete from pending_membership where workspace_id = $1 and user_id = any($2)",
    "delete from pending_channel where workspace_id = $1 and user_id = any($2)",
    "delete from subscription_history where workspace_id = $1 and user_id = any($2)",
    "delete from list_membership where workspace_id = $1 and user_id = any($2)",
    "delete from channel_consent where workspace_id = $1 and user_id = any($2)",
    "delete from identity where workspace_id = $1 and user_id = any($2)",
    "delete from privacy_export e using privacy_request r
     where e.workspace_id = $1 and r.workspace_id = $1 and r.id = e.request_id and r.user_id = any($2)",
    "update privacy_request
     set user_id = null, expires_at = least(expires_at, now()),
         state = case when state in ('pending', 'running') then 'failed' else state end,
         failure = case when state in ('pending', 'running') then 'the person was erased' else failure end
     where workspace_id = $1 and user_id = any($2) and type = 'export'",
    // How far retention came. It begins again.
    "update retention_task set workspace_id = null, campaign_id = null, user_id = null, entry = null
     where workspace_id = $1 and user_id = any($2)",
    "delete from users where workspace_id = $1 and id = any($2)",
];

/// What is deleted by the identifiers of the request `$2`, in the workspace `$1`. What another active profile shares stays.
const BY_IDENTIFIER: &[&str] = &[
    // Tests to an address without a profile.
    "delete from message m using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = $2 and i.kind in ('email', 'phone')
         and m.workspace_id = $1 and m.user_id is null and m.context->>'to' = i.value",
    "delete from confirmation_count c using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = $2 and c.workspace_id = $1 and c.identifier = i.value",
    "delete from suppression s using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = $2 and i.kind in ('email', 'phone')
         and s.workspace_id = $1 and s.identifier = i.value and not exists (
             select from users u
             where u.workspace_id = $1 and u.deleted_at is null
                 and (u.email = i.value or u.phone_normal = i.value))",
    // Quoted, since a short id may be a part of many texts.
    "delete from rejected_event e using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = $2 and e.workspace_id = $1
         and (e.user_id = i.value or position(to_jsonb(i.value)::text in e.body) > 0)",
];

/// Opt-outs of a number are in every workspace of the organization: elsewhere they become hashes, too, where no profile has
/// the number.
const ELSEWHERE: &str = "
    with gone as (
        delete from suppression s
        using privacy_identifier i, workspace w, workspace other
        where i.workspace_id = $1 and i.request_id = $2 and i.kind = 'phone' and w.id = $1
            and other.organization_id = w.organization_id and other.id <> $1
            and s.workspace_id = other.id and s.identifier = i.value and s.channel in ('sms', 'whatsapp')
            and not exists (
                select from users u where u.workspace_id = other.id and u.deleted_at is null
                    and u.phone_normal = i.value)
        returning s.*
    )
    insert into erased_opt_out (workspace_id, hash, kind, channel, list_id, reason, scope, opted_out_at)
    select workspace_id, privacy_hash(workspace_id, 'phone', identifier), 'suppression', channel, list_id, reason,
        scope, created_at
    from gone
    on conflict do nothing";

/// Deletes every row of a person.
pub(crate) async fn delete_rows(
    tx: &mut PgConnection,
    work: &Work,
    users: &[UserId],
) -> Result<()> {
    let ids = bytes(users);
    for sql in BY_IDENTIFIER.iter().chain([&ELSEWHERE]) {
        sqlx::query(*sql)
            .bind(work.workspace.uuid())
            .bind(work.id.uuid())
            .execute(&mut *tx)
            .await?;
    }
    for sql in BY_USER {
        sqlx::query(*sql).bind(work.workspace.uuid()).bind(&ids).execute(&mut *tx).await?;
    }
    for user in users {
        move_cursors(tx, work.workspace, *user).await?;
    }
    Ok(())
}

/// Cursors that name a profile name the id before it instead, which leaves the same ids after them.
async fn move_cursors(tx: &mut PgConnection, workspace: WorkspaceId, user: UserId) -> Result<()> {
    let before = id_before(user);
    for sql in [
        "update campaign_run set audience_after = $3 where workspace_id = $1 and audience_after = $2",
        "update people_rebuild set user_id = $3 where workspace_id = $1 and user_id = $2",
    ] {
        sqlx::query(sql)
            .bind(workspace.uuid())
            .bind(&user.bytes()[..])
            .bind(&before.bytes()[..])
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

fn id_before(user: UserId) -> UserId {
    let mut bytes = *user.bytes();
    for byte in bytes.iter_mut().rev() {
        let (less, borrows) = byte.overflowing_sub(1);
        *byte = less;
        if !borrows {
            break;
        }
    }
    UserId::from_bytes(bytes)
}

/// Notes who was erased, as hashes of internal ids, and returns them.
pub(crate) async fn note_erased(
    tx: &mut PgConnection,
    work: &Work,
    now: Timestamp,
) -> Result<Vec<ErasedPerson>> {
    let events = work.events.unwrap_or(EventsFate::Delete);
    let hashes = sqlx::query_scalar!(
        r#"insert into erased_person (workspace_id, hash, events, erased_at)
           select $1, privacy_hash($1, 'internal', value), $3, $4
           from privacy_identifier
           where workspace_id = $1 and request_id = $2 and kind = 'internal'
           on conflict (workspace_id, hash) do update set erased_at = excluded.erased_at
           returning hash"#,
        work.workspace.uuid(),
        work.id.uuid(),
        events.as_str(),
        now.utc(),
    )
    .fetch_all(tx)
    .await?;
    let people = hashes.iter().map(|hash| ErasedPerson {
        workspace: work.workspace,
        hash: hex::encode(hash),
        events,
        at: now,
    });
    Ok(people.collect())
}

/// Forgets whom an erasure is of.
pub(crate) async fn forget(tx: &mut PgConnection, work: &Work) -> Result<()> {
    sqlx::query!(
        "delete from privacy_identifier where workspace_id = $1 and request_id = $2",
        work.workspace.uuid(),
        work.id.uuid(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update privacy_request set user_id = null, hash_key = null, step = 'rewrite'
         where workspace_id = $1 and id = $2",
        work.workspace.uuid(),
        work.id.uuid(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Everyone who was erased.
pub(crate) async fn erased(db: &PgPool) -> Result<Vec<ErasedPerson>> {
    let rows = sqlx::query!("select workspace_id, hash, events, erased_at from erased_person")
        .fetch_all(db)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| ErasedPerson {
            workspace: WorkspaceId::new(row.workspace_id),
            hash: hex::encode(row.hash),
            events: EventsFate::named(&row.events).unwrap_or(EventsFate::Delete),
            at: row.erased_at.into(),
        })
        .collect())
}

/// The profiles whose internal ids have these hashes, by their hashes. Looks at every profile of these workspaces, once.
pub(crate) async fn with_hashes(
    db: &PgPool,
    people: &[ErasedPerson],
) -> Result<HashMap<String, UserId>> {
    let workspaces: Vec<_> = people.iter().map(|person| person.workspace.uuid()).collect();
    let hashes: Vec<&str> = people.iter().map(|person| person.hash.as_str()).collect();
    let rows = sqlx::query!(
        r#"select id, hash as "hash!"
           from (
               select id, encode(privacy_hash(workspace_id, 'internal', encode(id, 'hex')), 'hex') as hash
               from users where workspace_id = any($1)
           ) hashed
           where hash = any($2)"#,
        &workspaces,
        &hashes as _,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.hash, user_id(&row.id)?))).collect()
}

/// Notes an erasure that the list in the data directory has and the database has not.
pub(crate) async fn note_listed(
    connection: &mut PgConnection,
    person: &ErasedPerson,
) -> Result<()> {
    let hash = hex::decode(&person.hash).map_err(anyhow::Error::from)?;
    sqlx::query!(
        "insert into erased_person (workspace_id, hash, events, erased_at) values ($1, $2, $3, $4)
         on conflict do nothing",
        person.workspace.uuid(),
        hash,
        person.events.as_str(),
        person.at.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn bytes(users: &[UserId]) -> Vec<Vec<u8>> {
    users.iter().map(|user| user.bytes().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_before_borrows_from_the_bytes_before() {
        let user = UserId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0]);
        assert_eq!(id_before(user).bytes(), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 255, 255]);
        assert!(id_before(user) < user);
    }
}
