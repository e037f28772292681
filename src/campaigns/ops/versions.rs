//! The versions of a campaign and its history.

use std::collections::BTreeMap;

use kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId};
use serde_json::Value;
use sqlx::PgPool;

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

/// Versions whose weights are looked through; the newest of them.
const ALL_VERSIONS: Page = Page { limit: 10_000, offset: 0 };

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

/// A time from which on the variants had these weights.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightEpoch {
    pub since: Timestamp,
    /// By the id of the variant.
    pub weights: BTreeMap<String, f64>,
}

/// The weights of a campaign's variants over time, oldest first, from its versions. At least one epoch.
///
/// # Errors
/// If the store fails.
pub async fn weight_epochs(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<Vec<WeightEpoch>> {
    let (mut versions, _) = store::versions(db, workspace, campaign.id, ALL_VERSIONS).await?;
    versions.retain(|version| {
        version.number == 1 || version.changed_fields.iter().any(|field| field == "variants")
    });
    versions.sort_by_key(|version| version.number);
    let mut epochs: Vec<WeightEpoch> = Vec::new();
    // Without a change of the variants the weights are those of the campaign.
    for version in versions.iter().filter(|_| versions.len() > 1) {
        let name = VersionName::Number(version.number);
        let found = store::find_version(db, workspace, campaign.id, name).await?;
        let Some(weights) = found.map(|found| weights_of(&found.snapshot)) else { continue };
        if epochs.last().is_none_or(|epoch| epoch.weights != weights) {
            epochs.push(WeightEpoch { since: version.created_at, weights });
        }
    }
    if epochs.is_empty() {
        let variants = campaign.definition.variants.iter();
        let weights = variants.map(|variant| (variant.id.clone(), variant.weight)).collect();
        epochs.push(WeightEpoch { since: campaign.created_at, weights });
    }
    Ok(epochs)
}

fn weights_of(snapshot: &Value) -> BTreeMap<String, f64> {
    let variants = snapshot["variants"].as_array().map(Vec::as_slice).unwrap_or_default();
    let weight = |variant: &Value| {
        Some((variant["id"].as_str()?.to_owned(), variant["weight"].as_f64().unwrap_or(0.0)))
    };
    variants.iter().filter_map(weight).collect()
}
