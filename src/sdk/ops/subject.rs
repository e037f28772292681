//! The person a call is about, and whether a user token proves it.

use contacts::users;
use kernel::{Error, Result, UserId, WorkspaceId};
use sqlx::PgPool;

/// The call names another person than its user token.
pub(super) const ANOTHER_PERSON: Error = Error::Denied("the user token is another person's");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The person of the call's user token.
    Proven(UserId),
    /// The person with the id that the call names, if there is one. The answer must not depend on that.
    Claimed(Option<UserId>),
}

impl Subject {
    pub(crate) const fn user(self) -> Option<UserId> {
        match self {
            Self::Proven(user) => Some(user),
            Self::Claimed(user) => user,
        }
    }
}

/// The profile with the external id of a user token, if there is one. The lookup is by external id only: a
/// token never stands for the person with that internal id.
pub(crate) async fn profile(
    db: &PgPool,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<UserId>> {
    match users::ops::by_external_id(db, workspace, external_id).await {
        Ok(user) => Ok(Some(user.id)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The person with the id `name`, external or internal. `proven` is the external id in the call's user token,
/// if it carries one.
///
/// # Errors
/// Denied if the token is another person's, whether or not `name` exists; not found if the person of the
/// token has no profile.
pub(crate) async fn subject(
    db: &PgPool,
    workspace: WorkspaceId,
    proven: Option<&str>,
    name: &str,
) -> Result<Subject> {
    let Some(proven) = proven else {
        let found = users::ops::id_of(db, workspace, name).await;
        return match found {
            Ok(user) => Ok(Subject::Claimed(Some(user))),
            Err(Error::NotFound(_)) => Ok(Subject::Claimed(None)),
            Err(fault) => Err(fault),
        };
    };
    match profile(db, workspace, proven).await? {
        Some(user) if name == proven || name == user.to_string() => Ok(Subject::Proven(user)),
        // The person may go by further ids.
        Some(user) => match users::ops::id_of(db, workspace, name).await {
            Ok(named) if named == user => Ok(Subject::Proven(user)),
            Ok(_) | Err(Error::NotFound(_)) => Err(ANOTHER_PERSON),
            Err(fault) => Err(fault),
        },
        None if name == proven => Err(Error::NotFound("User")),
        None => Err(ANOTHER_PERSON),
    }
}
