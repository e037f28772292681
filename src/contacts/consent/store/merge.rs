//! Moves the consent of a contact to another.

use kernel::{Channel, Error, ListId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;

use super::channels::channel;
use crate::consent::model::MembershipStatus;

/// Moves the history; its order stays.
pub(in crate::consent) async fn move_history(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    from: UserId,
    into: UserId,
) -> Result<()> {
    sqlx::query!(
        "update subscription_history set user_id = $3 where workspace_id = $1 and user_id = $2",
        workspace.uuid(),
        &from.bytes()[..],
        &into.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes the channels of a contact, which are merged already.
pub(in crate::consent) async fn forget_channels(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    from: UserId,
) -> Result<()> {
    sqlx::query!(
        "delete from channel_consent where workspace_id = $1 and user_id = $2",
        workspace.uuid(),
        &from.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A membership that changed by a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consent) struct MovedMembership {
    pub(in crate::consent) list: ListId,
    pub(in crate::consent) channel: Channel,
    /// The survivor's status before; none for a list that it was not on.
    pub(in crate::consent) previous: Option<MembershipStatus>,
    pub(in crate::consent) status: MembershipStatus,
}

/// Moves memberships. Where both have one, an opt-out of either stays. Returns what changed for the survivor.
pub(in crate::consent) async fn move_memberships(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    from: UserId,
    into: UserId,
) -> Result<Vec<MovedMembership>> {
    let (workspace, from, into) = (workspace.uuid(), from.bytes(), into.bytes());
    let rows = sqlx::query!(
        r#"with dropped as (
               delete from list_membership f
               using list_membership u
               where f.workspace_id = $1 and f.user_id = $2 and u.workspace_id = $1 and u.user_id = $3
                   and u.list_id = f.list_id and u.channel = f.channel
               returning f.list_id, f.channel, f.status, f.opt_in_source, f.consent_text
           ), opted_out as (
               update list_membership u
               set status = 'unsubscribed', opt_in_source = d.opt_in_source,
                   consent_text = coalesce(d.consent_text, u.consent_text), updated_at = $4
               from dropped d
               where u.workspace_id = $1 and u.user_id = $3 and u.list_id = d.list_id
                   and u.channel = d.channel and u.status = 'subscribed' and d.status = 'unsubscribed'
               returning u.list_id, u.channel
           ), moved as (
               update list_membership f
               set user_id = $3, updated_at = $4
               where f.workspace_id = $1 and f.user_id = $2 and not exists (
                   select from list_membership u
                   where u.workspace_id = $1 and u.user_id = $3 and u.list_id = f.list_id
                       and u.channel = f.channel)
               returning f.list_id, f.channel, f.status
           )
           select list_id as "list_id!", channel as "channel!", 'unsubscribed' as "status!",
               'subscribed' as previous
           from opted_out
           union all
           select list_id, channel, status, null from moved"#,
        workspace,
        &from[..],
        &into[..],
        now.utc(),
    )
    .fetch_all(tx)
    .await?;
    let named = |name: &str| {
        MembershipStatus::named(name)
            .ok_or_else(|| Error::internal("a membership of an unknown status"))
    };
    rows.into_iter()
        .map(|row| {
            Ok(MovedMembership {
                list: ListId::new(row.list_id),
                channel: channel(&row.channel)?,
                previous: row.previous.as_deref().map(named).transpose()?,
                status: named(&row.status)?,
            })
        })
        .collect()
}

/// Moves requests that wait for their confirmation; of two for the same, the survivor's stays.
pub(in crate::consent) async fn move_pending(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    from: UserId,
    into: UserId,
) -> Result<()> {
    let (workspace, from, into) = (workspace.uuid(), from.bytes(), into.bytes());
    sqlx::query!(
        "with gone as (
             delete from pending_membership where workspace_id = $1 and user_id = $2 returning *
         )
         insert into pending_membership
             (workspace_id, user_id, list_id, channel, source, consent_text, requested_at, expires_at)
         select $1, $3, list_id, channel, source, consent_text, requested_at, expires_at from gone
         on conflict (workspace_id, user_id, list_id, channel) do nothing",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "with gone as (
             delete from pending_channel where workspace_id = $1 and user_id = $2 returning *
         )
         insert into pending_channel
             (workspace_id, user_id, channel, status, source, consent_text, requested_at, expires_at, asked_at)
         select $1, $3, channel, status, source, consent_text, requested_at, expires_at, asked_at from gone
         on conflict (workspace_id, user_id, channel) do nothing",
        workspace,
        &from[..],
        &into[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}
