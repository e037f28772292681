//! Phone numbers that were read by another country than their workspace's.

use kernel::{Country, Error, OrganizationId, Result, Tenant, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::{bytes_of, user_id};

/// A workspace whose stored numbers were read by another country than it has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::users) struct Outdated {
    pub(in crate::users) tenant: Tenant,
    pub(in crate::users) country: Option<Country>,
}

/// Such workspaces; `default` is the country of those that have none of their own.
pub(in crate::users) async fn outdated(
    db: &PgPool,
    default: Option<Country>,
) -> Result<Vec<Outdated>> {
    let rows = sqlx::query!(
        "select id, organization_id, coalesce(country, $1) as country
         from workspace
         where phones_read_by is distinct from coalesce(country, $1)
         order by id",
        default.as_ref().map(Country::as_str),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let organization = OrganizationId::new(row.organization_id);
            let tenant = Tenant { organization, workspace: WorkspaceId::new(row.id) };
            let country = row.country.map(|code| code.parse().map_err(Error::internal));
            Ok(Outdated { tenant, country: country.transpose()? })
        })
        .collect()
}

/// Notes by which country all numbers of a workspace have been read.
pub(in crate::users) async fn set_read_by(db: &PgPool, read: &Outdated) -> Result<()> {
    sqlx::query!(
        "update workspace set phones_read_by = $2 where id = $1",
        read.tenant.workspace.uuid(),
        read.country.as_ref().map(Country::as_str),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A profile's phone, as it was sent and as it is read.
#[derive(Debug, Clone)]
pub(in crate::users) struct StoredPhone {
    pub(in crate::users) user: UserId,
    pub(in crate::users) phone: String,
    pub(in crate::users) number: Option<String>,
}

/// A page of the phones of a workspace's profiles, deleted ones included, by profile.
pub(in crate::users) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    after: Option<UserId>,
    limit: i64,
) -> Result<Vec<StoredPhone>> {
    let after = after.map_or_else(Vec::new, |user| user.bytes().to_vec());
    let rows = sqlx::query!(
        r#"select id, phone as "phone!", phone_normal
         from users
         where workspace_id = $1 and id > $2 and phone is not null
         order by id
         limit $3"#,
        workspace.uuid(),
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (phone, number) = (row.phone, row.phone_normal);
            Ok(StoredPhone { user: user_id(&row.id)?, phone, number })
        })
        .collect()
}

/// What a profile's phone is now read as.
#[derive(Debug)]
pub(in crate::users) struct NumberRead<'p> {
    pub(in crate::users) user: UserId,
    pub(in crate::users) phone: &'p str,
    pub(in crate::users) number: &'p str,
}

/// Stores what phones are read as, where they are still the same.
pub(in crate::users) async fn set_numbers(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    read: &[NumberRead<'_>],
) -> Result<()> {
    let users = bytes_of(read.iter().map(|one| one.user));
    let phones: Vec<&str> = read.iter().map(|one| one.phone).collect();
    let numbers: Vec<&str> = read.iter().map(|one| one.number).collect();
    sqlx::query!(
        "with locked as (
             select u.id, wish.number
             from unnest($2::bytea[], $3::text[], $4::text[]) as wish (id, phone, number)
             join users u on u.workspace_id = $1 and u.id = wish.id and u.phone = wish.phone
             order by u.id
             for no key update of u)
         update users u
         set phone_read = locked.number
         from locked
         where u.workspace_id = $1 and u.id = locked.id",
        workspace.uuid(),
        &users,
        &phones as &[&str],
        &numbers as &[&str],
    )
    .execute(connection)
    .await?;
    Ok(())
}
