//! Links that sign in once.

use std::time::Duration;

use kernel::{Error, Result, Timestamp, WorkspaceId};
use secrecy::ExposeSecret as _;
use sqlx::PgPool;
use url::Url;
use web::auth::ScopeSet;

use super::{
    store::{self, LinkToStore},
    token::{self, Purpose},
};

/// How long a link signs in.
const LINK_LIFE: Duration = Duration::from_hours(1);
/// Who signs in by a link that names no other.
pub const LINK_ACTOR: &str = "console";
/// Longest name of who signs in, in characters.
const ACTOR_CHARS_MAX: usize = 255;

/// A link to create.
#[derive(Debug, Clone)]
pub struct NewLink {
    pub workspace: WorkspaceId,
    /// Who signs in by it, in audit entries.
    pub actor: String,
    /// What the session may do.
    pub scopes: ScopeSet,
}

/// Creates a link that signs in once, on a server with this public address.
///
/// # Errors
/// A bad request without a scope, or for an actor without a name.
pub async fn create_link(
    pool: &PgPool,
    now: Timestamp,
    public_url: &Url,
    new: &NewLink,
) -> Result<Url> {
    if new.scopes.is_empty() {
        return Err(Error::bad_request("a link needs at least one scope"));
    }
    let is_name = (1..=ACTOR_CHARS_MAX).contains(&new.actor.chars().count());
    if !is_name || new.actor.chars().any(char::is_control) {
        return Err(Error::bad_request("an actor must be between 1 and 255 printable characters"));
    }
    let token = token::mint(Purpose::Link);
    let link = LinkToStore {
        workspace: new.workspace,
        token: token::hash(&token),
        actor: &new.actor,
        scopes: &new.scopes.to_stored(),
        created_at: now,
        expires_at: now.after(LINK_LIFE),
    };
    store::insert_link(pool, &link).await?;
    let mut url = public_url.clone();
    url.set_path(crate::SIGN_IN);
    url.set_fragment(None);
    url.query_pairs_mut().clear().append_pair("token", token.expose_secret());
    Ok(url)
}
