//! Facts about the recipients of a batch.

use std::collections::HashMap;

use campaigns::model::message::MessageChannel;
use contacts::consent::model::ChannelStatus;
use kernel::{ListId, Result, Timestamp, UserId, WorkspaceId};
use serde_json::{Map, Value};
use sqlx::{PgConnection, types::Json};
use suppressions::model::Reason;

use crate::model::{Recipient, eligibility::Facts, message::channel_name};

/// The facts about these users for a channel and a list. Unknown users are absent.
pub(crate) async fn facts(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    channel: MessageChannel,
    list: Option<ListId>,
    users: &[UserId],
) -> Result<HashMap<UserId, Facts>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select u.id, u.external_id, u.email, u.phone, u.phone_normal,
               u.attributes as "attributes: Json<Map<String, Value>>",
               u.deleted_at is not null as "is_deleted!",
               exists (select from users f where f.workspace_id = $1 and f.merged_into = u.id)
                   as "is_survivor!",
               c.status as "consent?", coalesce(not c.is_valid, false) as "is_invalid!",
               coalesce(o.status = 'unsubscribed', false) as "has_left_list!",
               array(
                   select s.reason from suppression s
                   where s.workspace_id = $1 and s.channel = $3 and s.scope = 'global'
                       and s.identifier = case when $3 = 'email' then u.email else u.phone_normal end)
                   as "suppressed!",
               (select min(s.reason) from suppression s
                where s.workspace_id = $1 and s.channel = $3 and s.list_id = $4
                    and s.identifier = case when $3 = 'email' then u.email else u.phone_normal end)
                   as suppressed_for_list
           from users u
           left join channel_consent c
               on c.workspace_id = $1 and c.user_id = u.id and c.channel = $3
           left join list_membership o
               on o.workspace_id = $1 and o.user_id = u.id and o.list_id = $4 and o.channel = $3
           where u.workspace_id = $1 and u.id = any($2)"#,
        workspace.uuid(),
        &ids as _,
        channel_name(channel),
        list.map(ListId::uuid),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let user = super::runs::user_id(&row.id)?;
            let attributes = row.attributes.0;
            let timezone = attributes.get("timezone").and_then(Value::as_str).map(str::to_owned);
            let facts = Facts {
                recipient: Recipient {
                    user: Some(user),
                    external_id: row.external_id,
                    email: row.email,
                    phone: row.phone,
                    attributes,
                    timezone,
                },
                phone_normal: row.phone_normal,
                is_deleted: row.is_deleted,
                is_survivor: row.is_survivor,
                consent: row.consent.as_deref().and_then(ChannelStatus::named),
                is_invalid: row.is_invalid,
                has_left_list: row.has_left_list,
                suppressed: row.suppressed.iter().filter_map(|name| Reason::named(name)).collect(),
                suppressed_for_list: row.suppressed_for_list.as_deref().and_then(Reason::named),
                devices: Vec::new(),
            };
            Ok((user, facts))
        })
        .collect()
}

/// The reasons for which an address is suppressed globally.
pub(crate) async fn suppressed(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    channel: MessageChannel,
    identifier: &str,
) -> Result<Vec<Reason>> {
    let reasons = sqlx::query_scalar!(
        "select reason from suppression
         where workspace_id = $1 and channel = $2 and identifier = $3 and scope = 'global'",
        workspace.uuid(),
        channel_name(channel),
        identifier,
    )
    .fetch_all(connection)
    .await?;
    Ok(reasons.iter().filter_map(|name| Reason::named(name)).collect())
}

/// The time zone of a workspace, an IANA name.
pub(crate) async fn workspace_zone(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
) -> Result<Option<String>> {
    let zone =
        sqlx::query_scalar!("select timezone from workspace where id = $1", workspace.uuid())
            .fetch_optional(connection)
            .await?;
    Ok(zone)
}

/// The time zones and countries of these users, in the form that audiences use.
pub(crate) async fn clocks(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, audience::model::Recipient>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        "select id, external_id,
             case when jsonb_typeof(attributes -> 'timezone') = 'string'
                 then attributes ->> 'timezone' end as timezone,
             case when jsonb_typeof(attributes -> 'country') = 'string'
                 and length(attributes ->> 'country') = 2
                 then upper(attributes ->> 'country') end as country
         from users
         where workspace_id = $1 and id = any($2)",
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let user = super::runs::user_id(&row.id)?;
            let (external_id, timezone, country) = (row.external_id, row.timezone, row.country);
            Ok((user, audience::model::Recipient { user, external_id, timezone, country }))
        })
        .collect()
}

/// The variants that these users were first assigned in a campaign, themselves or as a profile that was merged into them.
pub(crate) async fn exposures(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: kernel::CampaignId,
    users: &[UserId],
) -> Result<HashMap<UserId, String>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select distinct on (p.survivor) p.survivor as "user_id!", e.variant_id
         from (
             select id, id as survivor from unnest($3::bytea[]) as id
             union all
             select id, merged_into from users where workspace_id = $1 and merged_into = any($3)
         ) p
         join campaign_exposure e
             on e.workspace_id = $1 and e.campaign_id = $2 and e.user_id = p.id
         order by p.survivor, p.id <> p.survivor, p.id"#,
        workspace.uuid(),
        campaign.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((super::runs::user_id(&row.user_id)?, row.variant_id))).collect()
}

/// The variant assigned to a user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exposure<'a> {
    pub(crate) user: UserId,
    pub(crate) variant: &'a str,
}

/// Stores the variants of users who had none in the campaign.
pub(crate) async fn expose(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: kernel::CampaignId,
    given: &[Exposure<'_>],
) -> Result<()> {
    let ids: Vec<&[u8]> = given.iter().map(|it| it.user.bytes().as_slice()).collect();
    let variants: Vec<&str> = given.iter().map(|it| it.variant).collect();
    sqlx::query!(
        "insert into campaign_exposure (workspace_id, campaign_id, user_id, variant_id)
         select $1, $2, g.user_id, g.variant_id
         from unnest($3::bytea[], $4::text[]) as g (user_id, variant_id)
         order by g.user_id
         on conflict do nothing",
        workspace.uuid(),
        campaign.uuid(),
        &ids as _,
        &variants as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records when a campaign last sent a message, to the minute.
pub(crate) async fn sent_at(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: kernel::CampaignId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update campaign set last_sent_at = $3::timestamptz
         where workspace_id = $1 and id = $2
             and (last_sent_at is null or last_sent_at < $3::timestamptz - interval '1 minute')",
        workspace.uuid(),
        campaign.uuid(),
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
