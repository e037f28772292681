//! Who may sign in: by a password, by an invitation, by an account at an OpenID provider.

use std::collections::HashSet;

use kernel::{EmailAddress, Result, Timestamp, WorkspaceId};
use secrecy::SecretString;
use sqlx::PgPool;
use web::auth::ScopeSet;

use crate::{
    invitation::TokenHash,
    model::MemberId,
    password::{self, PasswordFault, Passwords},
    store::{self, Membership},
};

/// A member who signs in.
#[derive(Debug, Clone)]
pub struct SigningIn {
    /// The workspace that the session is for.
    pub workspace: WorkspaceId,
    /// The id of the member.
    pub member: MemberId,
    /// The name in audit entries.
    pub email: String,
    /// What the member may do.
    pub scopes: ScopeSet,
}

impl SigningIn {
    fn of(membership: &Membership) -> Self {
        Self {
            workspace: WorkspaceId::new(membership.workspace_id),
            member: MemberId::new(membership.id),
            email: membership.email.clone(),
            scopes: ScopeSet::of_stored(&membership.scopes),
        }
    }
}

/// An address and a password as they were typed.
#[derive(Debug)]
pub struct Attempt {
    /// The address as it was typed.
    pub email: String,
    /// The password as it was typed.
    pub password: SecretString,
    /// The name of the workspace; without it the one used last.
    pub workspace: Option<String>,
}

/// The member with this address and password.
///
/// # Errors
/// When the store fails, or too many people sign in. A wrong password is none.
pub async fn by_password(
    pool: &PgPool,
    passwords: &Passwords,
    now: Timestamp,
    attempt: Attempt,
) -> Result<Option<SigningIn>> {
    let Attempt { email, password, workspace } = attempt;
    let memberships = match email.parse::<EmailAddress>() {
        Ok(email) => store::of_email(pool, email.as_str(), workspace.as_deref()).await?,
        Err(_) => Vec::new(),
    };
    let mut hashes: Vec<_> = memberships.iter().map(|it| it.password_hash.clone()).collect();
    if hashes.is_empty() {
        hashes.push(None);
    }
    let first = passwords.first_of(password, hashes).await?;
    match first.and_then(|at| memberships.get(at)) {
        Some(membership) => signed_in(pool, now, membership).await.map(Some),
        None => Ok(None),
    }
}

async fn signed_in(pool: &PgPool, now: Timestamp, membership: &Membership) -> Result<SigningIn> {
    store::note_sign_in(pool, membership.workspace_id, membership.id, now).await?;
    Ok(SigningIn::of(membership))
}

/// The member and the workspace of an invitation.
#[derive(Debug, Clone)]
pub struct Invited {
    /// The address of the member.
    pub email: String,
    /// The name of the workspace.
    pub workspace_name: String,
}

/// The member and the workspace of an invitation that still holds.
///
/// # Errors
/// When the store fails.
pub async fn invited(
    pool: &PgPool,
    now: Timestamp,
    token: &SecretString,
) -> Result<Option<Invited>> {
    let Some(hash) = TokenHash::of(token) else { return Ok(None) };
    let found = store::of_invitation(pool, hash, now).await?;
    Ok(found.map(|Membership { email, workspace_name, .. }| Invited { email, workspace_name }))
}

/// A new password and the link that allows it.
#[derive(Debug)]
pub struct PasswordChoice {
    /// The token of the link.
    pub token: SecretString,
    /// The password that is to hold.
    pub new: SecretString,
}

/// What became of a new password.
#[derive(Debug)]
pub enum PasswordSet {
    /// It is the member's from now on; earlier sessions have ended.
    Done(SigningIn),
    /// It is refused. The invitation holds on.
    Refused(PasswordFault),
    /// The invitation was used, is too old, or never was.
    NotInvited,
}

/// Sets a password by an invitation, which is used up.
///
/// # Errors
/// When the store fails.
pub async fn set_password(
    pool: &PgPool,
    passwords: &Passwords,
    now: Timestamp,
    choice: PasswordChoice,
) -> Result<PasswordSet> {
    let PasswordChoice { token, new } = choice;
    let Some(hash) = TokenHash::of(&token) else { return Ok(PasswordSet::NotInvited) };
    let Some(membership) = store::of_invitation(pool, hash, now).await? else {
        return Ok(PasswordSet::NotInvited);
    };
    if let Err(fault) = password::check(&new, &membership.email) {
        return Ok(PasswordSet::Refused(fault));
    }
    let password_hash = passwords.hashed(new).await?;
    if !store::use_invitation(pool, hash, &password_hash, now).await? {
        return Ok(PasswordSet::NotInvited);
    }
    Ok(PasswordSet::Done(signed_in(pool, now, &membership).await?))
}

/// An account at an OpenID provider, as its ID token says.
#[derive(Debug, Clone)]
pub struct Account {
    /// The issuer of its tokens.
    pub issuer: String,
    /// The account's id there.
    pub subject: String,
    /// The account's address, where the provider has verified it.
    pub email: Option<EmailAddress>,
}

/// Who an account signs in.
#[derive(Debug)]
pub enum OfAccount {
    /// The one member with this account, or that of the workspace that was named.
    Member(SigningIn),
    /// It is a member of these workspaces, and none was named; the one used last first.
    Several(Vec<String>),
    /// No member has this account.
    NoMember,
}

/// The member with this account, of one workspace where it is named. Members without an account get this one by the verified
/// address, at each sign-in; from then on the account alone counts, since an address may pass to another person. An address
/// whose members have another account already has passed to another person.
///
/// # Errors
/// When the store fails.
pub async fn by_account(
    pool: &PgPool,
    now: Timestamp,
    account: &Account,
    workspace: Option<&str>,
) -> Result<OfAccount> {
    let Account { issuer, subject, email } = account;
    if let Some(email) = email {
        let mut tx = pool.begin().await?;
        store::lock_account(&mut tx, email.as_str()).await?;
        store::bind_account(&mut tx, email.as_str(), issuer, subject, now).await?;
        tx.commit().await?;
    }
    let memberships = store::of_account(pool, issuer, subject, workspace).await?;
    let Some(last) = memberships.first() else { return Ok(OfAccount::NoMember) };
    if memberships.iter().all(|it| it.workspace_id == last.workspace_id) {
        return signed_in(pool, now, last).await.map(OfAccount::Member);
    }
    let mut seen = HashSet::new();
    let of_each = memberships.iter().filter(|it| seen.insert(it.workspace_id));
    Ok(OfAccount::Several(of_each.map(|it| it.workspace_name.clone()).collect()))
}
