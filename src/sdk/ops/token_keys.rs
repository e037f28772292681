//! The secrets and public keys of user tokens, managed on the command line. A running server picks up changes
//! within a second.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::PgPool;

pub use crate::store::token_keys::RegisteredKey;
use engines::vault::{ForeignSeal, Vault};
use kernel::{Error, Result, Timestamp, WorkspaceId};

use crate::{model::PublicKey, store::token_keys as store};

/// How long a replaced secret stays valid.
pub const RETIRED_SECRET_HOLDS: Duration = Duration::from_hours(24);
/// Valid secrets of a workspace: each is tried on a token.
pub const SECRETS_MAX: usize = 5;
/// Public keys of a workspace: each is tried on a token.
pub const PUBLIC_KEYS_MAX: usize = 10;
/// A prefix that secret scanners recognise.
const PREFIX: &str = "mrt_";
/// Random bytes of a secret: the output size of SHA-256 (RFC 7518, 3.2).
const SECRET_BYTES: usize = 32;

/// The current secret of a workspace; creates the first one.
///
/// # Errors
/// If the store is unavailable, or the secret was sealed with another master key.
pub async fn secret(
    db: &PgPool,
    vault: &Vault,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<SecretString> {
    let mut tx = db.begin().await?;
    store::lock(&mut tx, workspace).await?;
    let secret = if let Some(sealed) = store::current_secret(&mut tx, workspace).await? {
        opened(vault, workspace, &sealed)?
    } else {
        let secret = mint();
        let sealed = vault.seal(workspace, secret.expose_secret());
        store::insert_secret(&mut tx, workspace, now, &sealed).await?;
        secret
    };
    tx.commit().await?;
    Ok(secret)
}

/// Creates a new secret; the previous one stays valid for [`RETIRED_SECRET_HOLDS`].
///
/// # Errors
/// A conflict if [`SECRETS_MAX`] secrets are valid already.
pub async fn rotate(
    db: &PgPool,
    vault: &Vault,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<SecretString> {
    let mut tx = db.begin().await?;
    store::lock(&mut tx, workspace).await?;
    if store::secrets(&mut *tx, workspace, now).await?.len() >= SECRETS_MAX {
        return Err(Error::Conflict(format!(
            "{SECRETS_MAX} secrets of this workspace are taken at the moment: wait until one has retired, \
             24 hours after it was replaced"
        )));
    }
    let holds = i64::try_from(RETIRED_SECRET_HOLDS.as_millis()).unwrap_or(i64::MAX);
    let until = Timestamp::from_millis(now.millis().saturating_add(holds));
    store::retire_secrets(&mut tx, workspace, now, until).await?;
    let secret = mint();
    let sealed = vault.seal(workspace, secret.expose_secret());
    store::insert_secret(&mut tx, workspace, now, &sealed).await?;
    tx.commit().await?;
    Ok(secret)
}

/// Registers a public key; registering it again changes nothing.
///
/// # Errors
/// A bad request for a malformed or unsupported key, a conflict if there are [`PUBLIC_KEYS_MAX`].
pub async fn add(
    db: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    pem: &str,
) -> Result<PublicKey> {
    let key = PublicKey::read(workspace, pem)?;
    let mut tx = db.begin().await?;
    store::lock(&mut tx, workspace).await?;
    let known = store::public_keys(&mut *tx, workspace).await?;
    let is_known = known.iter().any(|it| it.key.id == key.id);
    if !is_known && known.len() >= PUBLIC_KEYS_MAX {
        return Err(Error::Conflict(format!(
            "a workspace has at most {PUBLIC_KEYS_MAX} public keys: remove one first"
        )));
    }
    store::insert_public_key(&mut tx, workspace, now, &key).await?;
    tx.commit().await?;
    Ok(key)
}

/// The public keys of a workspace, the oldest first.
///
/// # Errors
/// If the store is unavailable.
pub async fn list(db: &PgPool, workspace: WorkspaceId) -> Result<Vec<RegisteredKey>> {
    store::public_keys(db, workspace).await
}

/// Removes a public key.
///
/// # Errors
/// Not found if there is no key with this id.
pub async fn remove(db: &PgPool, id: &str) -> Result<()> {
    if store::delete_public_key(db, id).await? { Ok(()) } else { Err(Error::NotFound("Key")) }
}

pub(super) fn opened(vault: &Vault, workspace: WorkspaceId, sealed: &str) -> Result<SecretString> {
    let opened = vault.open(workspace, sealed).map_err(|fault: ForeignSeal| {
        Error::Internal(anyhow::Error::new(fault).context("the secret of user tokens"))
    })?;
    opened.ok_or_else(|| Error::internal("the secret of user tokens is not sealed"))
}

fn mint() -> SecretString {
    let secret = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
    SecretString::from(format!("{PREFIX}{secret}"))
}
