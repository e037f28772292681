//! Issues, lists and revokes keys for the command line. Works beside a running server, which notices every
//! change.

use std::ops::RangeInclusive;

use kernel::{Country, Error, KeyId, OrganizationId, Result, Timestamp, WorkspaceId};
use secrecy::SecretString;
use sqlx::PgPool;

pub use super::store::KeyRow;

use super::{
    scope::ScopeSet,
    store,
    token::{self, KeyKind},
};

/// Length of the name of a workspace or an organization, in characters.
const NAME_CHARS: RangeInclusive<usize> = 1..=255;
/// Longest label of a key, in characters.
const LABEL_CHARS: RangeInclusive<usize> = 0..=255;

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
    let minted = token::mint(new.kind);
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
    let scopes: Vec<String> = stored(new.scopes);
    let key = store::KeyToStore {
        id: minted.id,
        kind: new.kind,
        label: new.label.as_deref(),
        hash: minted.hash,
        scopes: &scopes,
    };
    store::insert_key(&mut transaction, workspace, key, now).await?;
    transaction.commit().await?;
    Ok(CreatedKey { id: minted.id, token: minted.text, workspace })
}

/// Every key of a workspace, revoked ones included, oldest first.
pub async fn list(pool: &PgPool, workspace: &str) -> Result<Vec<KeyRow>> {
    let mut connection = pool.acquire().await?;
    let workspace = named(&mut connection, workspace).await?;
    store::list_keys(&mut connection, workspace).await
}

/// Revokes a key: running servers refuse it within a second.
pub async fn revoke(pool: &PgPool, now: Timestamp, id: KeyId) -> Result<()> {
    if store::revoke_key(pool, id, now).await? { Ok(()) } else { Err(Error::NotFound("Key")) }
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

async fn named(connection: &mut sqlx::PgConnection, name: &str) -> Result<WorkspaceId> {
    let found = store::find_workspace(connection, name).await?;
    found.map(|found| WorkspaceId::new(found.id)).ok_or(Error::NotFound("Workspace"))
}

/// `*` is stored as such, so that it includes the scopes of later versions.
fn stored(scopes: ScopeSet) -> Vec<String> {
    if scopes == ScopeSet::all() {
        return vec!["*".to_owned()];
    }
    let list = scopes.to_string();
    list.split(',').filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
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
    connection: &mut sqlx::PgConnection,
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

    #[test]
    fn every_scope_is_stored_as_the_wildcard() {
        assert_eq!(stored(ScopeSet::all()), ["*"]);
        assert_eq!(
            stored("users:read,events:write".parse().unwrap()),
            ["users:read", "events:write"]
        );
        assert!(stored(ScopeSet::NONE).is_empty());
    }
}
