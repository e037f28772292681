//! Making, changing and removing members. Each change is in the audit log.

use kernel::{Error, Result, WorkspaceId, fields::Patch, page::PageWindow};
use serde_json::{Map, json};
use sqlx::{PgConnection, PgPool};
use url::Url;
use web::{
    audit_log::{self, Author, Change, Entry},
    auth::ScopeSet,
};

use crate::{
    invitation::Invitation,
    model::{Member, MemberId},
    store,
};

/// Most members of a workspace.
const MEMBERS_MAX: i64 = 1_000;
/// The answer for an id that no member has.
pub(crate) const NOT_FOUND: Error = Error::NotFound("Member");
/// Why there is no link.
const NO_CONSOLE: &str = "the console is off on this server, so that a link would lead to no page";

/// A member to create.
#[derive(Debug, Clone)]
pub(crate) struct NewMember {
    /// The address in normal form.
    pub(crate) email: String,
    pub(crate) name: Option<String>,
    pub(crate) scopes: ScopeSet,
}

/// A change of a member. What is absent stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemberChange {
    pub(crate) name: Patch<String>,
    pub(crate) scopes: Option<ScopeSet>,
}

/// Who changes members, and what they may do themselves: more than that is not theirs to grant.
#[derive(Debug)]
pub(crate) struct Administrator {
    pub(crate) workspace: WorkspaceId,
    pub(crate) author: Author,
    pub(crate) scopes: ScopeSet,
}

impl Administrator {
    /// Refuses scopes that the administrator lacks.
    fn admit(&self, scopes: ScopeSet) -> Result<()> {
        match self.scopes.lacked_of(scopes) {
            Some(scope) => Err(Error::Forbidden { scope: scope.as_str(), channel: None }),
            None => Ok(()),
        }
    }

    async fn log(
        &self,
        connection: &mut PgConnection,
        change: Change,
        member: &Member,
    ) -> Result<()> {
        let mut details = Map::new();
        details.insert("scopes".to_owned(), json!(member.scopes.to_stored()));
        let id = member.id.to_string();
        let object_name = Some(member.email.as_str());
        let entry = Entry { change, object_id: &id, object_name, details };
        audit_log::append(connection, self.workspace, &self.author, entry).await
    }
}

pub(crate) async fn list(
    pool: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<Member>, u64)> {
    store::list(pool, workspace, window).await
}

pub(crate) async fn get(pool: &PgPool, workspace: WorkspaceId, id: MemberId) -> Result<Member> {
    store::get(pool, workspace, id).await?.ok_or(NOT_FOUND)
}

/// Creates a member, and the link with which it sets its password where there is a console.
pub(crate) async fn create(
    pool: &PgPool,
    administrator: &Administrator,
    new: NewMember,
    console_url: Option<&Url>,
) -> Result<(Member, Option<Invitation>)> {
    administrator.admit(new.scopes)?;
    let now = administrator.author.now;
    let member = Member {
        id: MemberId::mint(),
        email: new.email,
        name: new.name,
        scopes: new.scopes,
        has_password: false,
        has_account: false,
        created_at: now,
        updated_at: now,
        signed_in_at: None,
    };
    let invitation = console_url.map(|url| Invitation::mint(url, now));
    let mut tx = pool.begin().await?;
    store::lock_members(&mut tx, administrator.workspace).await?;
    if store::count(&mut tx, administrator.workspace).await? >= MEMBERS_MAX {
        return Err(Error::Conflict(format!("the workspace has {MEMBERS_MAX} members already")));
    }
    if !store::insert(&mut tx, administrator.workspace, &member).await? {
        return Err(Error::Conflict("email is that of another member already".to_owned()));
    }
    if let Some(link) = &invitation {
        store::insert_invitation(&mut tx, administrator.workspace, member.id, link, now).await?;
    }
    administrator.log(&mut tx, Change::MemberCreated, &member).await?;
    tx.commit().await?;
    Ok((member, invitation))
}

/// Makes another link for a member, and ends those made before. Refused where there is no console.
pub(crate) async fn invite(
    pool: &PgPool,
    administrator: &Administrator,
    id: MemberId,
    console_url: Option<&Url>,
) -> Result<Invitation> {
    let console_url = console_url.ok_or_else(|| Error::Conflict(NO_CONSOLE.to_owned()))?;
    let now = administrator.author.now;
    let mut tx = pool.begin().await?;
    let member = locked(&mut tx, administrator, id).await?;
    let invitation = Invitation::mint(console_url, now);
    store::delete_invitations(&mut tx, administrator.workspace, id).await?;
    store::insert_invitation(&mut tx, administrator.workspace, id, &invitation, now).await?;
    administrator.log(&mut tx, Change::MemberInvited, &member).await?;
    tx.commit().await?;
    Ok(invitation)
}

/// Changes a member. Sessions have the new scopes at once.
pub(crate) async fn change(
    pool: &PgPool,
    administrator: &Administrator,
    id: MemberId,
    change: MemberChange,
) -> Result<Member> {
    let mut tx = pool.begin().await?;
    let mut member = locked(&mut tx, administrator, id).await?;
    if let Some(scopes) = change.scopes {
        administrator.admit(scopes)?;
        member.scopes = scopes;
    }
    member.name = change.name.over(member.name);
    member.updated_at = administrator.author.now;
    store::update(&mut tx, administrator.workspace, &member).await?;
    administrator.log(&mut tx, Change::MemberChanged, &member).await?;
    tx.commit().await?;
    Ok(member)
}

/// Removes a member. Its sessions end.
pub(crate) async fn delete(
    pool: &PgPool,
    administrator: &Administrator,
    id: MemberId,
) -> Result<()> {
    let mut tx = pool.begin().await?;
    let member = locked(&mut tx, administrator, id).await?;
    store::delete(&mut tx, administrator.workspace, id).await?;
    administrator.log(&mut tx, Change::MemberDeleted, &member).await?;
    tx.commit().await?;
    Ok(())
}

/// The member, kept from changes by others. One who may do more than the administrator is not theirs to change.
async fn locked(
    tx: &mut PgConnection,
    administrator: &Administrator,
    id: MemberId,
) -> Result<Member> {
    let found = store::lock(tx, administrator.workspace, id).await?;
    let member = found.ok_or(NOT_FOUND)?;
    administrator.admit(member.scopes)?;
    Ok(member)
}
