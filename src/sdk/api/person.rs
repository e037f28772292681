//! Whom a call is about: the app knows the caller's own id, or was handed the internal one.

use sqlx::PgPool;

use crate::{
    http::{Fields, QueryFields},
    kernel::{Result, UserId, WorkspaceId},
    users,
};

/// Characters of an id.
const USER_ID_CHARS_MAX: usize = 255;
/// Name of the field and of the parameter.
const USER_ID: &str = "userId";

/// A person as a call names them.
#[derive(Debug)]
pub(super) struct Person(String);

impl Person {
    /// Reads the field `userId` of a body.
    pub(super) fn of_body(body: &mut Fields<'_>) -> Self {
        Self(body.required(USER_ID).text(1..=USER_ID_CHARS_MAX))
    }

    /// Reads the parameter `userId`.
    pub(super) fn of_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.required_text(USER_ID, USER_ID_CHARS_MAX))
    }

    /// As it was sent.
    pub(super) fn into_name(self) -> String {
        self.0
    }

    /// Whose profile it is.
    ///
    /// # Errors
    /// Not found.
    pub(super) async fn find(&self, db: &PgPool, workspace: WorkspaceId) -> Result<UserId> {
        users::ops::id_of(db, workspace, &self.0).await
    }
}
