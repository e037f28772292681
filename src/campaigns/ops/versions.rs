//! Versions of a campaign and its history: what it said, and what was done to it.

use kernel::{CampaignId, Error, Result};
use serde_json::Value;

use super::{Who, change, find, secrets, update::resaid};
use crate::{
    CampaignState,
    model::{
        Action, Campaign, Change, ChangeType, Difference, Edit, Entry, Snapshot, Version,
        VersionName, differences,
    },
    store,
};

/// Two versions and what differs between them.
#[derive(Debug)]
pub struct Compared {
    /// The one that is compared.
    pub before: Version,
    /// The one it is compared with.
    pub after: Version,
    pub differences: Vec<Difference>,
}

/// A page of versions, newest first, and how many there are.
///
/// # Errors
/// Not found.
pub async fn versions(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    page: (u32, u64),
) -> Result<(Vec<Version>, i64)> {
    find(app, who.workspace, id).await?;
    store::versions(app.db(), who.workspace, id, page).await
}

/// A version and what it said.
///
/// # Errors
/// Not found, either the campaign or the version.
pub async fn find_version(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    name: &str,
) -> Result<Snapshot> {
    find(app, who.workspace, id).await?;
    let name = VersionName::parse(name).ok_or(Error::NotFound("Version"))?;
    let found = store::find_version(app.db(), who.workspace, id, name).await?;
    found.ok_or(Error::NotFound("Version"))
}

/// What differs between two versions.
///
/// # Errors
/// Not found, either the campaign or a version.
pub async fn compare(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    (before, after): (&str, &str),
) -> Result<Compared> {
    let before = find_version(app, who, id, before).await?;
    let after = find_version(app, who, id, after).await?;
    let found = differences(&before.snapshot, &after.snapshot);
    let differences = found.into_iter().map(Difference::hidden).collect();
    Ok(Compared { before: before.version, after: after.version, differences })
}

/// Brings an older version back: in place, or as the pending draft of a live campaign (DECISIONS K21).
///
/// # Errors
/// Not found, either the campaign or the version; a conflict where the campaign cannot be edited.
pub async fn rollback(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    name: &str,
) -> Result<Campaign> {
    let Value::Object(fields) = find_version(app, who, id, name).await?.snapshot else {
        return Err(Error::internal("a version that is no object"));
    };
    let edit = Edit::of(fields);
    change(app, who, id, |campaign, now| {
        let mut new = tokio::task::block_in_place(|| edit.alone(&who.zone))?;
        secrets::seal_kept(app.vault(), who.workspace, &mut new);
        resaid(campaign, &new, (Action::RolledBack, ChangeType::Rollback), now).map(Some)
    })
    .await
}

/// A page of the history, newest first, and how many entries there are.
///
/// # Errors
/// Not found.
pub async fn history(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    page: (u32, u64),
) -> Result<(Vec<Entry>, i64)> {
    find(app, who.workspace, id).await?;
    let (entries, total) = store::history(app.db(), who.workspace, id, page).await?;
    let hidden = entries.into_iter().map(|entry| Entry {
        changes: entry.changes.into_iter().map(Change::hidden).collect(),
        ..entry
    });
    Ok((hidden.collect(), total))
}
