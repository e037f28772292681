//! The versions of a campaign and its history.

use kernel::{CampaignId, Error, Result};
use serde_json::Value;

use super::{
    Who, change, find, secrets,
    update::{EditReason, redefine},
};
use crate::{
    CampaignState,
    model::{
        Campaign, Change, Difference, Edit, Entry, Page, Snapshot, Version, VersionName,
        differences,
    },
    store,
};

/// Two versions and their differences.
#[derive(Debug)]
pub struct Compared {
    /// The version that is compared.
    pub before: Version,
    /// The version it is compared with.
    pub after: Version,
    pub differences: Vec<Difference>,
}

/// A page of versions, newest first, and the total.
///
/// # Errors
/// Not found.
pub async fn versions(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    page: Page,
) -> Result<(Vec<Version>, i64)> {
    find(app, who.workspace, id).await?;
    store::versions(app.db(), who.workspace, id, page).await
}

/// A version with its snapshot.
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

/// The differences between two versions.
///
/// # Errors
/// Not found, either the campaign or a version.
pub async fn compare(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    before: &str,
    after: &str,
) -> Result<Compared> {
    let before = find_version(app, who, id, before).await?;
    let after = find_version(app, who, id, after).await?;
    let found = differences(&before.snapshot, &after.snapshot);
    let differences = found.into_iter().map(Difference::hidden).collect();
    Ok(Compared { before: before.version, after: after.version, differences })
}

/// Restores an older version: in place, or as the pending draft of a live campaign.
///
/// # Errors
/// Not found, either the campaign or the version; a conflict if the campaign cannot be edited.
pub async fn rollback(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    name: &str,
) -> Result<Campaign> {
    let Value::Object(fields) = find_version(app, who, id, name).await?.snapshot else {
        return Err(Error::internal("the snapshot of a version is not an object"));
    };
    let edit = Edit::of(fields);
    change(app, who, id, |campaign, now| {
        let mut new = tokio::task::block_in_place(|| edit.alone(&who.zone))?;
        secrets::seal_stored(app.vault(), who.workspace, &mut new);
        redefine(campaign, &new, EditReason::Rollback, now).map(Some)
    })
    .await
}

/// A page of the history, newest first, and the total.
///
/// # Errors
/// Not found.
pub async fn history(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    page: Page,
) -> Result<(Vec<Entry>, i64)> {
    find(app, who.workspace, id).await?;
    let (entries, total) = store::history(app.db(), who.workspace, id, page).await?;
    let hidden = entries.into_iter().map(|entry| Entry {
        changes: entry.changes.into_iter().map(Change::hidden).collect(),
        ..entry
    });
    Ok((hidden.collect(), total))
}
