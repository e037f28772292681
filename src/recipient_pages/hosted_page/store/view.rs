//! The data of one recipient's page, read in one transaction.

use std::collections::HashMap;

use contacts::consent::model::ChannelStatus;
use kernel::{Channel, Error, ListId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::hosted_page::model::{ChannelFacts, Choices, Contact, ListChoice, State, is_displayed};

const LISTS_MAX: i64 = 200;

/// The workspace's name and the contact; none if it does not exist or was deleted.
pub(in crate::hosted_page) async fn workspace_and_contact(
    db: impl sqlx::PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<(String, Contact)>> {
    let row = sqlx::query!(
        "select w.name, u.id, u.external_id, u.email, u.phone, u.attributes
         from users u
         join workspace w on w.id = u.workspace_id
         where u.workspace_id = $1 and u.id = survivor_of($1, $2) and u.deleted_at is null",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let id: [u8; 12] = row.id.as_slice().try_into().map_err(Error::internal)?;
        let attributes = match row.attributes {
            serde_json::Value::Object(map) => map,
            _ => serde_json::Map::new(),
        };
        let contact = Contact {
            id: UserId::from_bytes(id),
            external_id: row.external_id,
            email: row.email,
            phone: row.phone,
            attributes,
        };
        Ok((row.name, contact))
    })
    .transpose()
}

/// A list's name, archived or not.
pub(in crate::hosted_page) async fn list_name(
    db: &PgPool,
    workspace: WorkspaceId,
    list: ListId,
) -> Result<Option<String>> {
    let row = sqlx::query!(
        "select name from subscription_list where workspace_id = $1 and id = $2",
        workspace.uuid(),
        list.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| row.name))
}

/// The data of one contact's page.
pub(in crate::hosted_page) async fn view(
    db: &PgPool,
    now: Timestamp,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<Choices>> {
    let mut connection = db.acquire().await?;
    let found = workspace_and_contact(&mut *connection, workspace, user).await?;
    let Some((name, contact)) = found else { return Ok(None) };
    let user = contact.id;
    let statuses = statuses(&mut connection, workspace, user).await?;
    let mut states = memberships(&mut connection, workspace, user).await?;
    for key in pending(&mut connection, now, workspace, user).await? {
        states.entry(key).and_modify(|state| *state = waiting(*state)).or_insert(State::Pending);
    }
    let lists = lists(&mut connection, workspace, &states).await?;
    let offered = |channel| {
        lists.iter().any(|list| list.channels.iter().any(|(offered, _)| *offered == channel))
    };
    let known = |channel| ChannelFacts {
        offered: offered(channel),
        status: statuses.get(&channel).copied(),
    };
    let is_closed = |channel: &Channel| statuses.get(channel) == Some(&ChannelStatus::Unsubscribed);
    let shown = |channel: &Channel| is_displayed(&contact, *channel, known(*channel));
    let channels: Vec<(Channel, bool)> = Channel::ALL
        .into_iter()
        .filter(shown)
        .map(|channel| (channel, !is_closed(&channel)))
        .collect();
    let closed = Channel::ALL.into_iter().filter(is_closed).collect();
    Ok(Some(Choices { workspace: name, contact, channels, closed, lists }))
}

/// An active membership has nothing to confirm.
fn waiting(state: State) -> State {
    if state == State::On { State::On } else { State::Pending }
}

fn channel(text: &str) -> Result<Channel> {
    text.parse().map_err(Error::internal)
}

async fn statuses(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<HashMap<Channel, ChannelStatus>> {
    let rows = sqlx::query!(
        r#"select channel, status as "status!" from channel_consent
           where workspace_id = $1 and user_id = $2 and status is not null"#,
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(connection)
    .await?;
    let known = rows.into_iter().filter_map(|row| {
        let status = ChannelStatus::named(&row.status)?;
        Some(channel(&row.channel).map(|channel| (channel, status)))
    });
    known.collect()
}

type States = HashMap<(ListId, Channel), State>;

async fn memberships(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<States> {
    let rows = sqlx::query!(
        r#"select list_id, channel, status = 'subscribed' as "subscribed!" from list_membership
           where workspace_id = $1 and user_id = $2"#,
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = if row.subscribed { State::On } else { State::Off };
            Ok(((ListId::new(row.list_id), channel(&row.channel)?), state))
        })
        .collect()
}

async fn pending(
    connection: &mut PgConnection,
    now: Timestamp,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<(ListId, Channel)>> {
    let rows = sqlx::query!(
        "select list_id, channel from pending_membership
         where workspace_id = $1 and user_id = $2 and expires_at > $3",
        workspace.uuid(),
        &user.bytes()[..],
        now.utc(),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((ListId::new(row.list_id), channel(&row.channel)?))).collect()
}

async fn lists(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    states: &States,
) -> Result<Vec<ListChoice>> {
    let rows = sqlx::query!(
        "select id, name, description, channels from subscription_list
         where workspace_id = $1 and is_public and archived_at is null
         order by display_order, created_at, id
         limit $2",
        workspace.uuid(),
        LISTS_MAX,
    )
    .fetch_all(connection)
    .await?;
    let choice = |id: Uuid, channels: Vec<String>| -> Result<Vec<(Channel, State)>> {
        let state_of = |text: &String| {
            let channel = channel(text)?;
            let state = states.get(&(ListId::new(id), channel)).copied();
            Ok((channel, state.unwrap_or(State::Off)))
        };
        channels.iter().map(state_of).collect()
    };
    rows.into_iter()
        .map(|row| {
            let channels = choice(row.id, row.channels)?;
            let id = ListId::new(row.id);
            Ok(ListChoice { id, name: row.name, description: row.description, channels })
        })
        .collect()
}
