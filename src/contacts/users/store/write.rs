//! Inserts and updates profiles, any number in one statement.

use chrono::{DateTime, Utc};
use kernel::{Country, PhoneNumber, Result, UserId, WorkspaceId, fields::Patch};
use sqlx::PgConnection;

use super::{bytes_of, user_id};
use crate::users::model::{
    attributes::{BYTES_MAX, KEYS_MAX},
    dates,
};

/// Printed JSON of so few bytes cannot hold more than [`KEYS_MAX`] keys, each at least `"k": 1, `, so its keys
/// are not counted.
const FEW_BYTES: i32 = 1600;

#[derive(Debug)]
pub(in crate::users) struct NewUser<'u> {
    pub id: UserId,
    pub external_id: Option<&'u str>,
    pub email: Option<&'u str>,
    pub phone: Option<&'u str>,
    pub attributes: &'u str,
}

/// Inserts profiles. Returns how many: a profile is left out when its external id has just been taken.
pub(in crate::users) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    country: Option<Country>,
    at: DateTime<Utc>,
    users: &[NewUser<'_>],
) -> Result<u64> {
    let ids = bytes_of(users.iter().map(|user| user.id));
    let external_ids: Vec<Option<&str>> = users.iter().map(|user| user.external_id).collect();
    let emails: Vec<Option<&str>> = users.iter().map(|user| user.email).collect();
    let phones: Vec<Option<&str>> = users.iter().map(|user| user.phone).collect();
    let phones_read: Vec<Option<String>> =
        users.iter().map(|user| phone_read(user.phone?, country)).collect();
    let attributes: Vec<&str> = users.iter().map(|user| user.attributes).collect();
    let dates: Vec<Option<String>> = attributes.iter().map(|it| dates::of(it)).collect();
    // Ordered by the key that may conflict, so that two statements cannot deadlock.
    let done = sqlx::query!(
        "insert into users
             (workspace_id, id, external_id, email, phone, phone_read, attributes, dates, created_at,
              updated_at)
         select $1, wish.id, wish.external_id, wish.email, wish.phone, wish.phone_read,
             wish.attributes::jsonb, wish.dates::jsonb, $7, $7
         from unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $8::text[], $9::text[])
             as wish (id, external_id, email, phone, attributes, dates, phone_read)
         order by wish.external_id, wish.id
         on conflict (workspace_id, external_id) where deleted_at is null do nothing",
        workspace.uuid(),
        &ids,
        &external_ids as &[Option<&str>],
        &emails as &[Option<&str>],
        &phones as &[Option<&str>],
        &attributes as &[&str],
        at,
        &dates as &[Option<String>],
        &phones_read as &[Option<String>],
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}

/// The normal form of a phone number in the workspace's country; without a country a trigger computes it.
fn phone_read(phone: &str, country: Option<Country>) -> Option<String> {
    country?;
    let number: PhoneNumber = phone.parse().ok()?;
    Some(number.in_country(country).into_string())
}

#[derive(Debug, Clone)]
pub(in crate::users) struct Change<'u> {
    pub id: UserId,
    /// Set only on a profile that has none.
    pub external_id: Option<&'u str>,
    pub email: Patch<&'u str>,
    pub phone: Patch<&'u str>,
    /// A JSON object, merged into the stored one key by key.
    pub attributes: &'u str,
}

/// How merged attributes are checked against the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::users) enum Bounds {
    /// By the length of the printed JSON, which is never shorter than compact JSON.
    AsPrinted,
    /// They have been checked already.
    Checked,
}

/// Changes of profiles, made at one time.
#[derive(Debug, Clone, Copy)]
pub(in crate::users) struct Update<'c> {
    /// The country whose national phone numbers the workspace writes.
    pub(in crate::users) country: Option<Country>,
    pub(in crate::users) at: DateTime<Utc>,
    pub(in crate::users) bounds: Bounds,
    pub(in crate::users) changes: &'c [Change<'c>],
}

/// Updates locked profiles. Returns those whose merged attributes are within the limits; the others are not
/// changed.
pub(in crate::users) async fn update(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    update: Update<'_>,
) -> Result<Vec<UserId>> {
    fn sent<'u>(patch: &Patch<&'u str>) -> Option<&'u str> {
        match patch {
            Patch::Value(text) => Some(text),
            Patch::Null | Patch::Absent => None,
        }
    }
    let Update { country, at, bounds, changes } = update;
    let ids = bytes_of(changes.iter().map(|change| change.id));
    let external_ids: Vec<Option<&str>> = changes.iter().map(|change| change.external_id).collect();
    let emails: Vec<Option<&str>> = changes.iter().map(|change| sent(&change.email)).collect();
    let email_sent: Vec<bool> = changes.iter().map(|change| change.email.is_sent()).collect();
    let phones: Vec<Option<&str>> = changes.iter().map(|change| sent(&change.phone)).collect();
    let phones_read: Vec<Option<String>> =
        phones.iter().map(|phone| phone_read((*phone)?, country)).collect();
    let phone_sent: Vec<bool> = changes.iter().map(|change| change.phone.is_sent()).collect();
    let attributes: Vec<&str> = changes.iter().map(|change| change.attributes).collect();
    let dates: Vec<Option<String>> = attributes.iter().map(|it| dates::of(it)).collect();
    let rows = sqlx::query!(
        "update users u
         set external_id = coalesce(u.external_id, wish.external_id),
             email = case when wish.email_sent then wish.email else u.email end,
             phone = case when wish.phone_sent then wish.phone else u.phone end,
             phone_read = wish.phone_read,
             attributes = u.attributes || wish.attributes::jsonb,
             dates = (u.dates - array(select jsonb_object_keys(wish.attributes::jsonb)))
                 || wish.dates::jsonb,
             updated_at = greatest(u.updated_at, $9)
         from unnest($2::bytea[], $3::text[], $4::text[], $5::bool[], $6::text[], $7::bool[], $8::text[],
                 $14::text[], $15::text[])
             as wish (id, external_id, email, email_sent, phone, phone_sent, attributes, dates, phone_read)
         where u.workspace_id = $1 and u.id = wish.id
             and ($10 or octet_length((u.attributes || wish.attributes::jsonb)::text) <= $13 or (
                 octet_length((u.attributes || wish.attributes::jsonb)::text) <= $11
                 and (select count(*) from jsonb_object_keys(u.attributes || wish.attributes::jsonb)) <= $12))
         returning u.id",
        workspace.uuid(),
        &ids,
        &external_ids as &[Option<&str>],
        &emails as &[Option<&str>],
        &email_sent,
        &phones as &[Option<&str>],
        &phone_sent,
        &attributes as &[&str],
        at,
        bounds == Bounds::Checked,
        i32::try_from(BYTES_MAX).unwrap_or(i32::MAX),
        i64::try_from(KEYS_MAX).unwrap_or(i64::MAX),
        FEW_BYTES,
        &dates as &[Option<String>],
        &phones_read as &[Option<String>],
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|row| user_id(&row.id)).collect()
}

/// The merged attributes of a locked profile: their text and their number of keys.
pub(in crate::users) async fn merged(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    change: &Change<'_>,
) -> Result<(String, usize)> {
    let row = sqlx::query!(
        r#"select merged::text as "printed!",
             (select count(*) from jsonb_object_keys(merged)) as "keys!"
         from (
             select attributes || $3::text::jsonb as merged
             from users
             where workspace_id = $1 and id = $2
         ) u"#,
        workspace.uuid(),
        &change.id.bytes()[..],
        change.attributes,
    )
    .fetch_one(tx)
    .await?;
    Ok((row.printed, usize::try_from(row.keys).unwrap_or(usize::MAX)))
}
