//! Issues, lists and revokes keys, for the command line and for callers in their own workspace. Running servers
//! notice every change, which is in the audit log of the workspace.

use std::ops::RangeInclusive;

use kernel::{
    Country, Error, KeyId, OrganizationId, Result, Timestamp, WorkspaceId, page::PageWindow,
};
use secrecy::SecretString;
use serde_json::{Map, json};
use sqlx::{PgConnection, PgPool};

pub use super::store::KeyRow;

use super::{
    scope::ScopeSet,
    store,
    token::{self, KeyKind},
};
use crate::audit_log::{self, Author, Change, Entry};

/// Length of the name of a workspace or an organization, in characters.
const NAME_CHARS: RangeInclusive<usize> = 1..=255;
/// Longest label of a key, in characters.
pub const LABEL_CHARS_MAX: usize = 255;
const LABEL_CHARS: RangeInclusive<usize> = 0..=LABEL_CHARS_MAX;
/// Most keys of a workspace that are not revoked and come from its own callers.
const LIVE_KEYS_MAX: i64 = 1_000;

/// A key to create.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The workspace's name; it is created if it is new.
    pub workspace: String,
    /// The organization's name; by default that of the workspace.
    pub organization: Option<String>,
    /// Empty for SDK keys.
    pub scopes: ScopeSet,
    pub label: Option<String>,
    /// Sets the workspace's reporting currency (ISO 4217).
    pub currency: Option<String>,
    /// Sets the country of the workspace's national phone numbers.
    pub country: Option<Country>,
    pub kind: KeyKind,
}

/// A key to create in a workspace that is there.
#[derive(Debug, Clone)]
pub struct KeyOfWorkspace {
    pub label: Option<String>,
    pub kind: KeyKind,
    /// Empty for SDK keys.
    pub scopes: ScopeSet,
}

/// The answer for a key that does not exist or belongs to another workspace.
const NOT_FOUND: Error = Error::NotFound("Key");

/// A new key with its secret, shown once.
#[derive(Debug)]
pub struct CreatedKey {
    pub id: KeyId,
    /// The whole key; it is not stored.
    pub token: SecretString,
    pub workspace: WorkspaceId,
}

/// Creates a key, and its workspace and organization if they are new.
pub async fn create(pool: &PgPool, now: Timestamp, new: NewKey) -> Result<CreatedKey> {
    check(&new)?;
    let mut transaction = pool.begin().await?;
    store::lock_names(&mut transaction).await?;
    let workspace = match store::find_workspace(&mut transaction, &new.workspace).await? {
        Some(found) => {
            belongs(&new, &found)?;
            WorkspaceId::new(found.id)
        }
        None => open_workspace(&mut transaction, now, &new).await?,
    };
    if let Some(currency) = &new.currency {
        store::set_currency(&mut transaction, workspace, &currency.to_ascii_uppercase()).await?;
    }
    if let Some(country) = new.country {
        store::set_country(&mut transaction, workspace, country).await?;
    }
    let NewKey { label, kind, scopes, .. } = new;
    let key = KeyOfWorkspace { label, kind, scopes };
    let created = insert(&mut transaction, workspace, &Author::command_line(now), &key).await?;
    transaction.commit().await?;
    Ok(created)
}

/// Creates a key in the workspace of its author.
///
/// # Errors
/// A conflict if the workspace has the maximum number of keys.
pub async fn create_in(
    pool: &PgPool,
    workspace: WorkspaceId,
    author: &Author,
    new: &KeyOfWorkspace,
) -> Result<CreatedKey> {
    let mut transaction = pool.begin().await?;
    store::lock_keys(&mut transaction, workspace).await?;
    if store::count_live_keys(&mut transaction, workspace).await? >= LIVE_KEYS_MAX {
        return Err(Error::Conflict(format!(
            "the workspace has {LIVE_KEYS_MAX} keys already: revoke one that is not in use"
        )));
    }
    let created = insert(&mut transaction, workspace, author, new).await?;
    transaction.commit().await?;
    Ok(created)
}

async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    author: &Author,
    new: &KeyOfWorkspace,
) -> Result<CreatedKey> {
    let minted = token::mint(new.kind);
    let scopes = new.scopes.to_stored();
    let key = store::KeyToStore {
        id: minted.id,
        kind: new.kind,
        label: new.label.as_deref(),
        hash: minted.hash,
        scopes: &scopes,
    };
    store::insert_key(connection, workspace, key, author.now).await?;
    let mut details = Map::new();
    details.insert("kind".to_owned(), json!(new.kind.as_str()));
    details.insert("scopes".to_owned(), json!(scopes));
    let entry = Entry {
        change: Change::KeyCreated,
        object_id: minted.id.as_str(),
        object_name: new.label.as_deref(),
        details,
    };
    audit_log::append(connection, workspace, author, entry).await?;
    Ok(CreatedKey { id: minted.id, token: minted.text, workspace })
}

/// A page of the keys of a workspace, revoked ones included, newest first, and the number of all.
pub async fn list_in(
    pool: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<KeyRow>, u64)> {
    store::page_of_keys(pool, workspace, window).await
}

/// Revokes a key in the workspace of its author.
///
/// # Errors
/// Not found for a key of another workspace.
pub async fn revoke_in(
    pool: &PgPool,
    workspace: WorkspaceId,
    author: &Author,
    id: KeyId,
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    let found = store::key_to_revoke(&mut transaction, id).await?;
    let key = found.filter(|key| key.workspace == workspace.uuid()).ok_or(NOT_FOUND)?;
    revoke_found(&mut transaction, author, id, &key).await?;
    transaction.commit().await?;
    Ok(())
}

/// Revokes a key and says so in the audit log; one that is revoked already stays as it is.
async fn revoke_found(
    connection: &mut PgConnection,
    author: &Author,
    id: KeyId,
    key: &store::KeyToRevoke,
) -> Result<()> {
    if key.is_revoked {
        return Ok(());
    }
    store::revoke_key(connection, id, author.now).await?;
    let entry = Entry {
        change: Change::KeyRevoked,
        object_id: id.as_str(),
        object_name: key.label.as_deref(),
        details: Map::new(),
    };
    audit_log::append(connection, WorkspaceId::new(key.workspace), author, entry).await
}

/// Every key of a workspace, revoked ones included, oldest first.
pub async fn list(pool: &PgPool, workspace: &str) -> Result<Vec<KeyRow>> {
    let mut connection = pool.acquire().await?;
    let workspace = named(&mut connection, workspace).await?;
    store::list_keys(&mut connection, workspace).await
}

/// Revokes a key: running servers refuse it within a second.
pub async fn revoke(pool: &PgPool, now: Timestamp, id: KeyId) -> Result<()> {
    let mut transaction = pool.begin().await?;
    let key = store::key_to_revoke(&mut transaction, id).await?.ok_or(NOT_FOUND)?;
    revoke_found(&mut transaction, &Author::command_line(now), id, &key).await?;
    transaction.commit().await?;
    Ok(())
}

/// Finds a workspace by its name.
pub async fn find_workspace(pool: &PgPool, name: &str) -> Result<WorkspaceId> {
    let mut connection = pool.acquire().await?;
    named(&mut connection, name).await
}

/// Whether a workspace exists.
pub async fn any_workspace(pool: &PgPool) -> Result<bool> {
    store::any_workspace(pool).await
}

async fn named(connection: &mut PgConnection, name: &str) -> Result<WorkspaceId> {
    let found = store::find_workspace(connection, name).await?;
    found.map(|found| WorkspaceId::new(found.id)).ok_or(Error::NotFound("Workspace"))
}

fn check(new: &NewKey) -> Result<()> {
    let fits = |text: &str, chars: &RangeInclusive<usize>| {
        chars.contains(&text.chars().count()) && !text.chars().any(char::is_control)
    };
    let names = [Some(&new.workspace), new.organization.as_ref()];
    if !names.into_iter().flatten().all(|name| fits(name, &NAME_CHARS)) {
        return Err(Error::bad_request("a name must be between 1 and 255 printable characters"));
    }
    if !new.label.iter().all(|label| fits(label, &LABEL_CHARS)) {
        return Err(Error::bad_request("a label must be at most 255 printable characters"));
    }
    if !new
        .currency
        .iter()
        .all(|code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_alphabetic()))
    {
        return Err(Error::bad_request("a currency must be a code of three letters, such as EUR"));
    }
    match new.kind {
        KeyKind::Api if new.scopes.is_empty() => {
            Err(Error::bad_request("an API key needs at least one scope"))
        }
        KeyKind::Sdk if !new.scopes.is_empty() => {
            Err(Error::bad_request("an SDK key has no scopes"))
        }
        KeyKind::Api | KeyKind::Sdk => Ok(()),
    }
}

/// Refuses to move a workspace to another organization.
fn belongs(new: &NewKey, found: &store::NamedWorkspace) -> Result<()> {
    match &new.organization {
        Some(asked) if *asked != found.organization_name => Err(Error::Conflict(format!(
            "workspace \"{}\" belongs to organization \"{}\"",
            new.workspace, found.organization_name
        ))),
        _ => Ok(()),
    }
}

async fn open_workspace(
    connection: &mut PgConnection,
    now: Timestamp,
    new: &NewKey,
) -> Result<WorkspaceId> {
    let name = new.organization.as_ref().unwrap_or(&new.workspace);
    let organization = match store::find_organization(connection, name).await? {
        Some(found) if new.organization.is_some() => found,
        // A new workspace was requested with its own organization, and another workspace has that name already.
        Some(_) => {
            return Err(Error::Conflict(format!(
                "an organization named \"{name}\" exists already: join it with --organization \"{name}\", \
                 or name another"
            )));
        }
        None => {
            let minted = OrganizationId::mint(now);
            store::insert_organization(connection, minted, name, now).await?;
            minted
        }
    };
    let workspace = WorkspaceId::mint(now);
    store::insert_workspace(connection, workspace, organization, &new.workspace, now).await?;
    Ok(workspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_key() -> NewKey {
        NewKey {
            workspace: "shop".to_owned(),
            organization: None,
            scopes: ScopeSet::all(),
            label: None,
            currency: None,
            country: None,
            kind: KeyKind::Api,
        }
    }

    #[test]
    fn invalid_keys_are_refused_before_anything_is_stored() {
        let table: [(&str, NewKey); 7] = [
            ("no name", NewKey { workspace: String::new(), ..new_key() }),
            ("a name too long", NewKey { workspace: "x".repeat(256), ..new_key() }),
            ("a NUL", NewKey { organization: Some("a\0".to_owned()), ..new_key() }),
            ("a long label", NewKey { label: Some("x".repeat(256)), ..new_key() }),
            (
                "a currency of four letters",
                NewKey { currency: Some("EURO".to_owned()), ..new_key() },
            ),
            ("an API key without scopes", NewKey { scopes: ScopeSet::NONE, ..new_key() }),
            ("an SDK key with scopes", NewKey { kind: KeyKind::Sdk, ..new_key() }),
        ];
        for (what, new) in table {
            assert!(check(&new).is_err(), "{what}");
        }
        assert!(check(&NewKey { currency: Some("eur".to_owned()), ..new_key() }).is_ok());
    }
}
