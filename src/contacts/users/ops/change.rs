//! Changing one existing profile: the PUT calls.

use kernel::{EmailAddress, Result, UserId, fields::Patch};
use web::db;

use crate::users::{
    model::{
        User,
        attributes::{self, Attributes},
    },
    ops::{
        NO_USER, locks,
        upsert::{WriteContext, apply, merged_fault},
    },
    store::{self, write::Change},
};

/// The fields of a profile to change.
#[derive(Debug)]
pub struct Update {
    pub email: Patch<EmailAddress>,
    pub phone: Patch<String>,
    /// Merged into the stored attributes key by key.
    pub attributes: Option<Attributes>,
}

impl Update {
    fn is_empty(&self) -> bool {
        !self.email.is_sent() && !self.phone.is_sent() && self.attributes.is_none()
    }

    fn change(&self, id: UserId) -> Change<'_> {
        fn borrowed<T>(patch: &Patch<T>, text: impl FnOnce(&T) -> &str) -> Patch<&str> {
            match patch {
                Patch::Absent => Patch::Absent,
                Patch::Null => Patch::Null,
                Patch::Value(value) => Patch::Value(text(value)),
            }
        }
        Change {
            id,
            external_id: None,
            email: borrowed(&self.email, EmailAddress::as_str),
            phone: borrowed(&self.phone, String::as_str),
            attributes: self.attributes.as_ref().map_or(attributes::NONE, Attributes::as_str),
        }
    }
}

/// Changes an active profile and returns it. An empty change leaves `updated_at` as it was.
pub async fn update(context: WriteContext<'_>, user: User, update: &Update) -> Result<User> {
    if update.is_empty() {
        return Ok(user);
    }
    db::retried(|| attempt(context, user.id, update)).await
}

async fn attempt(context: WriteContext<'_>, id: UserId, update: &Update) -> Result<User> {
    let mut tx = db::begin_by_index(context.db).await?;
    // It may have been merged since it was read.
    let found = locks::survivors(&mut tx, context.tenant.workspace, &[id]).await?;
    let id = found.get(&id).copied().ok_or(NO_USER)?;
    let locked = store::resolve::lock(&mut tx, context.tenant.workspace, &[id]).await?;
    let refused = apply(&mut tx, context.only_step(), &[update.change(id)], &locked).await?;
    if let Some(fault) = refused.get(&id) {
        return Err(merged_fault(*fault));
    }
    let user = store::read::by_id(&mut *tx, context.tenant.workspace, id).await?.ok_or(NO_USER)?;
    tx.commit().await?;
    Ok(user)
}
