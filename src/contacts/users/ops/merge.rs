//! The values of two profiles that become one.

use kernel::{Result, UserId};
use sqlx::PgConnection;

use super::{
    NO_USER,
    upsert::{WriteContext, merged_fault},
};
use crate::users::{
    model::attributes,
    store::{self, merge::EndedProfile},
};

/// A profile that ends, and the one that stays. Both are locked.
#[derive(Debug, Clone, Copy)]
pub struct ProfileMerge<'m> {
    pub from: UserId,
    pub into: UserId,
    pub actor: &'m str,
}

/// What became of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedValues {
    /// The external id under which the ended profile goes on answering as the survivor.
    pub kept_external_id: Option<String>,
    /// Whether the survivor has the email address of the ended profile now.
    pub took_email: bool,
}

/// Ends a profile and gives the survivor those of its values that it has none of, attributes key by key. Every id of
/// the ended profile stands for the survivor from then on.
///
/// # Errors
/// Invalid where the attributes of both exceed a limit.
pub async fn merge_values(
    tx: &mut PgConnection,
    context: WriteContext<'_>,
    merge: &ProfileMerge<'_>,
) -> Result<MergedValues> {
    let (workspace, at) = (context.tenant.workspace, context.now.utc());
    let (printed, keys) = store::merge::attributes(tx, workspace, merge.from, merge.into).await?;
    attributes::check_stored(&printed, keys).map_err(merged_fault)?;
    let locked = store::resolve::lock(tx, workspace, &[merge.from, merge.into]).await?;
    let (Some(from), Some(into)) = (locked.get(&merge.from), locked.get(&merge.into)) else {
        return Err(NO_USER);
    };
    let moves_external_id = into.external_id.is_none();
    let ended = EndedProfile {
        from: merge.from,
        into: merge.into,
        keeps_external_id: !moves_external_id && from.external_id.is_some(),
        at,
        actor: merge.actor,
    };
    store::merge::end(tx, workspace, &ended).await?;
    let external_id = from.external_id.as_deref().filter(|_| moves_external_id);
    store::merge::complete(tx, workspace, &ended, external_id).await?;
    Ok(MergedValues {
        kept_external_id: from.external_id.clone().filter(|_| !moves_external_id),
        took_email: into.email.is_none() && from.email.is_some(),
    })
}
