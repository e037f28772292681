//! Deletes what PostgreSQL has of people.

use std::collections::HashMap;

use kernel::{Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::user_id;
use crate::{
    erasures_file::ErasedPerson,
    model::EventsFate,
    store::work::{Group, Work},
};

/// The profiles of a group of erasures: of each request the profile that it names and those merged into it.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    requests: Vec<Uuid>,
    users: Vec<Vec<u8>>,
}

/// Locks the profiles of a group. Those that are gone already are left out.
pub(crate) async fn lock_profiles(tx: &mut PgConnection, group: &Group) -> Result<Profiles> {
    let rows = sqlx::query!(
        "select r.id as request_id, u.id as user_id
         from (
             select id, survivor_of(workspace_id, user_id) as survivor
             from privacy_request
             where workspace_id = $1 and id = any($2)
         ) r
         join users u on u.workspace_id = $1 and (u.id = r.survivor or u.merged_into = r.survivor)
         order by u.id
         for update of u",
        group.workspace.uuid(),
        &group.requests,
    )
    .fetch_all(tx)
    .await?;
    let (requests, users) = rows.into_iter().map(|row| (row.request_id, row.user_id)).unzip();
    Ok(Profiles { requests, users })
}

/// Stores the identifiers of profiles, those excepted that other active profiles have by now.
pub(crate) async fn store_identifiers(
    tx: &mut PgConnection,
    group: &Group,
    profiles: &Profiles,
) -> Result<()> {
    sqlx::query!(
        "with profile as (
             select p.request_id, u.*
             from unnest($2::uuid[], $3::bytea[]) as p (request_id, user_id)
             join users u on u.workspace_id = $1 and u.id = p.user_id
         )
         insert into privacy_identifier (workspace_id, request_id, kind, value)
         select distinct $1::uuid, found.request_id, found.kind, found.value
         from (
             select request_id, 'internal' as kind, encode(id, 'hex') as value from profile
             union all
             select p.request_id, 'external', p.external_id
             from profile p
             where not exists (
                 select from users o
                 where o.workspace_id = $1 and o.external_id = p.external_id
                     and (o.deleted_at is null or o.keeps_external_id)
                     and not exists (
                         select from profile also where also.request_id = p.request_id and also.id = o.id))
             union all
             select request_id, 'email', email from profile
             union all
             select request_id, 'phone', phone_normal from profile
             union all
             select p.request_id, i.type, i.id
             from profile p
             join identity i on i.workspace_id = $1 and i.user_id = p.id
         ) found
         where found.value is not null
         on conflict do nothing",
        group.workspace.uuid(),
        &profiles.requests,
        &profiles.users,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Ends profiles: no message is made for them any more.
pub(crate) async fn end_profiles(
    tx: &mut PgConnection,
    group: &Group,
    profiles: &Profiles,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update users set deleted_at = $3, deleted_by = 'privacy', deleted_via = 'system'
         where workspace_id = $1 and id = any($2) and deleted_at is null",
        group.workspace.uuid(),
        &profiles.users,
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
    pub(crate) workspace_id: Uuid,
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

/// Keeps the opt-outs of people as hashes of their addresses, numbers and external ids.
pub(crate) async fn keep_opt_outs(
    tx: &mut PgConnection,
    group: &Group,
    profiles: &Profiles,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "with named as (
             select request_id, kind, value, privacy_hash($1, kind, value) as hash
             from privacy_identifier
             where workspace_id = $1 and request_id = any($2) and kind in ('email', 'phone', 'external')
         ), profile as (
             select * from unnest($3::uuid[], $4::bytea[]) as p (request_id, user_id)
         )
         insert into erased_opt_out
             (workspace_id, hash, kind, channel, list_id, reason, scope, opted_out_at)
         select $1, n.hash, 'consent', c.channel, null, null, null, coalesce(max(c.opt_out_date), $5)
         from named n
         join profile p on p.request_id = n.request_id
         join channel_consent c on c.workspace_id = $1 and c.user_id = p.user_id
         where c.status = 'unsubscribed'
         group by n.hash, c.channel
         union all
         select $1, n.hash, 'list', m.channel, m.list_id, null, null, max(m.updated_at)
         from named n
         join profile p on p.request_id = n.request_id
         join list_membership m on m.workspace_id = $1 and m.user_id = p.user_id
         where m.status = 'unsubscribed'
         group by n.hash, m.channel, m.list_id
         union all
         select $1, n.hash, 'suppression', s.channel, s.list_id, s.reason, s.scope, min(s.created_at)
         from named n
         join suppression s on s.workspace_id = $1 and s.identifier = n.value
             and s.channel = any(case n.kind when 'email' then array['email'] else array['sms', 'whatsapp'] end)
         where n.kind in ('email', 'phone')
         group by n.hash, s.channel, s.list_id, s.reason, s.scope
         on conflict do nothing",
        group.workspace.uuid(),
        &group.requests,
        &profiles.requests,
        &profiles.users,
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
    // The entry keeps its actor and loses the profile that the identifiers were removed from.
    "update audit_log set object_id = ''
     where workspace_id = $1 and object_kind = 'user'
         and object_id in (select encode(id, 'hex') from unnest($2::bytea[]) as id)",
    // How far retention came. It begins again.
    "update retention_task set workspace_id = null, campaign_id = null, user_id = null, entry = null
     where workspace_id = $1 and user_id = any($2)",
    "delete from users where workspace_id = $1 and id = any($2)",
];

/// What is deleted by the identifiers of the requests in `$2`, in the workspace `$1`. What another active profile shares stays.
const BY_IDENTIFIER: &[&str] = &[
    // Tests to an address without a profile.
    "delete from message m using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = any($2) and i.kind in ('email', 'phone')
         and m.workspace_id = $1 and m.user_id is null and m.context->>'to' = i.value",
    "delete from confirmation_count c using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = any($2) and c.workspace_id = $1 and c.identifier = i.value",
    "delete from suppression s using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = any($2) and i.kind in ('email', 'phone')
         and s.workspace_id = $1 and s.identifier = i.value and not exists (
             select from users u
             where u.workspace_id = $1 and u.deleted_at is null
                 and (u.email = i.value or u.phone_normal = i.value))",
    // What was removed from another profile has none, and may be one of theirs.
    "delete from identity d using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = any($2) and d.workspace_id = $1
         and d.type in ('anonymous', 'alias') and d.id = i.value and d.user_id is null",
    // Quoted, since a short id may be a part of many texts.
    "delete from rejected_event e using privacy_identifier i
     where i.workspace_id = $1 and i.request_id = any($2) and e.workspace_id = $1
         and (e.user_id = i.value or position(to_jsonb(i.value)::text in e.body) > 0)",
];

/// Opt-outs of a number are in every workspace of the organization: elsewhere they become hashes, too, where no profile has
/// the number.
const ELSEWHERE: &str = "
    with gone as (
        delete from suppression s
        using privacy_identifier i, workspace w, workspace other
        where i.workspace_id = $1 and i.request_id = any($2) and i.kind = 'phone' and w.id = $1
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

/// What was removed from the ledgers, earlier and by these deletions: in the workspace `$1`, and of numbers in the others of
/// its organization. What another active profile there shares stays.
const REMOVED: &str = "
    delete from suppression_removal s
    using privacy_identifier i, workspace w, workspace other,
        (values ('email', 'email'), ('phone', 'sms'), ('phone', 'whatsapp')) as c (kind, channel)
    where i.workspace_id = $1 and i.request_id = any($2) and w.id = $1 and c.kind = i.kind
        and other.organization_id = w.organization_id and (other.id = $1 or i.kind = 'phone')
        and s.workspace_id = other.id and s.channel = c.channel and s.identifier = i.value
        and not exists (
            select from users u where u.workspace_id = other.id and u.deleted_at is null and u.email = i.value)
        and not exists (
            select from users u where u.workspace_id = other.id and u.deleted_at is null and u.phone_normal = i.value)";

/// Deletes every row of people.
pub(crate) async fn delete_rows(
    tx: &mut PgConnection,
    group: &Group,
    profiles: &Profiles,
) -> Result<()> {
    for sql in BY_IDENTIFIER.iter().chain([&ELSEWHERE, &REMOVED]) {
        let delete = sqlx::query(*sql).bind(group.workspace.uuid()).bind(&group.requests);
        delete.execute(&mut *tx).await?;
    }
    for sql in BY_USER {
        let delete = sqlx::query(*sql).bind(group.workspace.uuid()).bind(&profiles.users);
        delete.execute(&mut *tx).await?;
    }
    move_cursors(tx, group, profiles).await
}

/// Cursors that name a profile name the id before it instead, which leaves the same ids after them.
async fn move_cursors(tx: &mut PgConnection, group: &Group, profiles: &Profiles) -> Result<()> {
    let before: Vec<_> = profiles.users.iter().map(|user| id_before(user)).collect();
    for sql in [
        "update campaign_run r set audience_after = p.before
         from unnest($2::bytea[], $3::bytea[]) as p (id, before)
         where r.workspace_id = $1 and r.audience_after = p.id",
        "update people_rebuild r set user_id = p.before
         from unnest($2::bytea[], $3::bytea[]) as p (id, before)
         where r.workspace_id = $1 and r.user_id = p.id",
    ] {
        let update =
            sqlx::query(sql).bind(group.workspace.uuid()).bind(&profiles.users).bind(&before);
        update.execute(&mut *tx).await?;
    }
    Ok(())
}

fn id_before(user: &[u8]) -> Vec<u8> {
    let mut bytes = user.to_vec();
    for byte in bytes.iter_mut().rev() {
        let (less, borrows) = byte.overflowing_sub(1);
        *byte = less;
        if !borrows {
            break;
        }
    }
    bytes
}

/// Notes who was erased, as hashes of internal ids, and returns them.
pub(crate) async fn note_erased(
    tx: &mut PgConnection,
    group: &Group,
    now: Timestamp,
) -> Result<Vec<ErasedPerson>> {
    // A profile that two requests name has its events deleted where one of them asks for that.
    let rows = sqlx::query!(
        r#"insert into erased_person (workspace_id, hash, events, erased_at)
           select $1, privacy_hash($1, 'internal', i.value), max(coalesce(r.events, 'delete')), $3
           from privacy_identifier i
           join privacy_request r on r.workspace_id = i.workspace_id and r.id = i.request_id
           where i.workspace_id = $1 and i.request_id = any($2) and i.kind = 'internal'
           group by i.value
           on conflict (workspace_id, hash) do update set erased_at = excluded.erased_at
           returning hash, events"#,
        group.workspace.uuid(),
        &group.requests,
        now.utc(),
    )
    .fetch_all(tx)
    .await?;
    let people = rows.into_iter().map(|row| ErasedPerson {
        workspace: group.workspace,
        hash: hex::encode(row.hash),
        events: EventsFate::named(&row.events).unwrap_or(EventsFate::Delete),
        at: now,
    });
    Ok(people.collect())
}

/// Deletes the stored identifiers and keys of erasures.
pub(crate) async fn forget(tx: &mut PgConnection, group: &Group) -> Result<()> {
    sqlx::query!(
        "delete from privacy_identifier where workspace_id = $1 and request_id = any($2)",
        group.workspace.uuid(),
        &group.requests,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update privacy_request set user_id = null, hash_key = null, step = 'rewrite'
         where workspace_id = $1 and id = any($2)",
        group.workspace.uuid(),
        &group.requests,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_before_borrows_from_the_bytes_before() {
        let user = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0];
        assert_eq!(id_before(&user), [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 255, 255]);
    }
}
