//! Rows of consent by channel.

use kernel::{Channel, Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::consent::model::{
    AddressChange, Bounce, BounceType, ChannelKey, ChannelState, ChannelStatus, Channels,
};
use suppressions::model::{Identifier, Ledger, OptOut};

/// Every channel with a row.
pub(in crate::consent) async fn find(
    executor: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<(Channel, ChannelState)>> {
    let rows = sqlx::query!(
        "select channel, status, opt_in_date, opt_out_date, opt_in_source, consent_text,
                is_valid, bounce_type, bounce_count, last_bounce_at
         from channel_consent
         where workspace_id = $1 and user_id = $2",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = ChannelState {
                status: row.status.as_deref().and_then(ChannelStatus::named),
                opt_in_date: row.opt_in_date.map(Timestamp::from),
                opt_out_date: row.opt_out_date.map(Timestamp::from),
                source: row.opt_in_source,
                consent_text: row.consent_text,
                bounce: Bounce {
                    is_valid: row.is_valid,
                    kind: row.bounce_type.as_deref().and_then(BounceType::named),
                    count: row.bounce_count,
                    last_at: row.last_bounce_at.map(Timestamp::from),
                },
            };
            Ok((channel(&row.channel)?, state))
        })
        .collect()
}

/// The same, as the API answers it.
pub(in crate::consent) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Channels> {
    let mut channels = Channels::default();
    for (channel, state) in find(db, workspace, user).await? {
        channels.put(channel, state);
    }
    Ok(channels)
}

/// The two facts that the boolean checks of a channel need.
#[derive(Debug)]
pub(in crate::consent) struct Check {
    pub(in crate::consent) subscribed: bool,
    /// Not marked invalid by a hard bounce.
    pub(in crate::consent) valid: bool,
}

/// Reads these facts of one channel; `None` for an unknown contact.
pub(in crate::consent) async fn check(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
    channel: Channel,
) -> Result<Option<Check>> {
    let row = sqlx::query_as!(
        Check,
        "select c.status is distinct from 'unsubscribed' as \"subscribed!\",
                coalesce(c.is_valid, true) as \"valid!\"
         from users u
         left join channel_consent c
             on c.workspace_id = u.workspace_id and c.user_id = u.id and c.channel = $3
         where u.workspace_id = $1 and u.id = survivor_of($1, $2) and u.deleted_at is null",
        workspace.uuid(),
        &user.bytes()[..],
        channel.as_str(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row)
}

/// Inserts or updates a channel's state.
pub(in crate::consent) async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    key: ChannelKey,
    state: &ChannelState,
) -> Result<()> {
    let ChannelKey { user, channel } = key;
    sqlx::query!(
        "insert into channel_consent
             (workspace_id, user_id, channel, status, opt_in_date, opt_out_date, opt_in_source,
              consent_text, is_valid, bounce_type, bounce_count, last_bounce_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (workspace_id, user_id, channel) do update
         set status = excluded.status,
             opt_in_date = excluded.opt_in_date,
             opt_out_date = excluded.opt_out_date,
             opt_in_source = excluded.opt_in_source,
             consent_text = excluded.consent_text,
             is_valid = excluded.is_valid,
             bounce_type = excluded.bounce_type,
             bounce_count = excluded.bounce_count,
             last_bounce_at = excluded.last_bounce_at,
             updated_at = excluded.updated_at",
        workspace.uuid(),
        &user.bytes()[..],
        channel.as_str(),
        state.status.map(ChannelStatus::as_str),
        state.opt_in_date.map(Timestamp::utc),
        state.opt_out_date.map(Timestamp::utc),
        state.source,
        state.consent_text,
        state.bounce.is_valid,
        state.bounce.kind.map(BounceType::as_str),
        state.bounce.count,
        state.bounce.last_at.map(Timestamp::utc),
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Clears the bounces of these contacts' former addresses.
pub(in crate::consent) async fn forget_bounces(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    users: &[UserId],
) -> Result<()> {
    let ids: Vec<&[u8]> = users.iter().map(|user| &user.bytes()[..]).collect();
    sqlx::query!(
        "update channel_consent c
         set is_valid = true, bounce_type = null, bounce_count = 0, last_bounce_at = null, updated_at = $3
         from unnest($2::bytea[]) as k (id)
         where c.workspace_id = $1 and c.user_id = k.id and c.channel = 'email'
             and (not c.is_valid or c.bounce_type is not null or c.bounce_count > 0)",
        workspace.uuid(),
        &ids as _,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Marks the addresses of these contacts invalid that have a `hard_bounce` row in the ledger from before.
pub(in crate::consent) async fn mark_bounced(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    users: &[UserId],
) -> Result<()> {
    let ids: Vec<&[u8]> = users.iter().map(|user| &user.bytes()[..]).collect();
    sqlx::query!(
        "insert into channel_consent
             (workspace_id, user_id, channel, is_valid, bounce_type, bounce_count, last_bounce_at, updated_at)
         select $1, u.id, 'email', false, 'hard', 1, s.created_at, $3
         from unnest($2::bytea[]) as k (id)
         join users u on u.workspace_id = $1 and u.id = k.id
         join suppression s
             on s.workspace_id = $1 and s.channel = 'email' and s.identifier = u.email
                 and s.reason = 'hard_bounce' and s.scope = 'global'
         order by u.id
         on conflict (workspace_id, user_id, channel) do update
         set is_valid = false,
             bounce_type = 'hard',
             bounce_count = 1,
             last_bounce_at = excluded.last_bounce_at,
             updated_at = excluded.updated_at",
        workspace.uuid(),
        &ids as _,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The opt-outs to mirror for the new addresses of these contacts.
pub(in crate::consent) async fn opt_outs(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    changes: &[AddressChange],
) -> Result<Vec<OptOut>> {
    let ids: Vec<&[u8]> = changes.iter().map(|change| &change.user.bytes()[..]).collect();
    let emails: Vec<bool> = changes.iter().map(|change| change.email).collect();
    let phones: Vec<bool> = changes.iter().map(|change| change.phone).collect();
    let rows = sqlx::query!(
        "select c.channel, c.opt_in_source,
                case when c.channel = 'email' then u.email else u.phone_normal end as \"identifier!\"
         from unnest($2::bytea[], $3::bool[], $4::bool[]) as k (id, email, phone)
         join users u on u.workspace_id = $1 and u.id = k.id
         join channel_consent c on c.workspace_id = $1 and c.user_id = k.id
         where u.deleted_at is null and c.status = 'unsubscribed'
             and ((c.channel = 'email' and k.email and u.email is not null)
                 or (c.channel in ('sms', 'whatsapp') and k.phone and u.phone_normal is not null))",
        workspace.uuid(),
        &ids as _,
        &emails,
        &phones,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(OptOut {
                ledger: Ledger::named(&row.channel)?,
                identifier: Identifier::of_stored(row.identifier),
                source: row.opt_in_source.unwrap_or_else(|| "api".to_owned()),
                actor: None,
            })
        })
        .collect())
}

pub(in crate::consent) fn channel(text: &str) -> Result<Channel> {
    text.parse().map_err(Error::internal)
}
