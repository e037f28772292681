//! One batch of copies.
//!
//! The transaction of a batch begins with the lock that one process has at a time. Under it a version is taken, then the
//! waiting changes are read, then the state of what they are of, each statement seeing all that was committed before it. So
//! a later batch has a larger version and at least as new a state, and the state is at least as new as each change that was
//! read. ClickHouse answers when the rows are on disk; then the changes are deleted, and the transaction ends. Whatever is
//! killed before that leaves the changes, whose copies are made again with a larger version.

use std::{collections::BTreeSet, pin::pin};

use analytics::{
    Analytics,
    people::{self, CampaignRow, Copies, PersonRow},
};
use futures_util::TryStreamExt as _;
use kernel::Result;
use sqlx::PgConnection;

use super::MirrorStores;
use crate::{
    model::{CampaignKey, ProfileKey, Rebuild},
    store,
};

/// A batch has so many changes of campaigns at most, and ends with the row that reaches so many of profiles.
const CHANGES_MAX: usize = 5_000;
/// Profiles of one batch of a copy of everything.
const REBUILD_PAGE: i64 = 10_000;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Batch {
    /// Copied, and there may be more.
    Full,
    /// Copied, and nothing else waited when it began.
    Last,
    /// Left to another process, which copies now.
    Elsewhere,
}

/// Copies a batch: waiting changes, and where those are few, the next profiles of a copy of everything.
///
/// # Errors
/// When one of the stores is away; nothing is lost then.
pub(super) async fn copy_batch(stores: &MirrorStores) -> Result<Batch> {
    let MirrorStores { db, analytics } = stores;
    let mut tx = store::begin(db).await?;
    if !store::lock(&mut tx).await? {
        return Ok(Batch::Elsewhere);
    }
    let rebuild = store::rebuild::locked(&mut tx).await?;
    if rebuild.as_ref().is_some_and(|it| it.first_version.is_none()) {
        store::versions::raise(db, people::newest_version(analytics).await?).await?;
    }
    let version = store::versions::next(db).await?;
    let limit = i64::try_from(CHANGES_MAX).unwrap_or(i64::MAX);
    let mut changes = store::changes::oldest(&mut tx, limit).await?;
    let has_room =
        [changes.change_count, changes.campaign_rows.len()].iter().all(|it| *it < CHANGES_MAX);
    let step = match &rebuild {
        Some(rebuild) if has_room => Some(next_step(&mut tx, rebuild, version).await?),
        _ => None,
    };
    if let Some(RebuildStep::Page(page)) = &step {
        changes.people.extend(page);
    }
    copy_people(&mut tx, analytics, version, &changes.people).await?;
    copy_campaigns(&mut tx, analytics, version, &changes.campaigns).await?;
    if let Some(RebuildStep::End { first_version }) = step {
        people::end_absent(analytics, first_version, version).await?;
        store::rebuild::end(&mut tx).await?;
    }
    store::changes::forget(&mut tx, &changes).await?;
    tx.commit().await?;
    match step {
        Some(RebuildStep::Begin) => {
            tracing::info!(version, "all profiles are copied to ClickHouse");
        }
        Some(RebuildStep::End { .. }) => tracing::info!(version, "all profiles were copied"),
        Some(RebuildStep::Page(_)) | None => {}
    }
    Ok(if has_room && rebuild.is_none() { Batch::Last } else { Batch::Full })
}

/// What a batch does for a copy of everything.
#[derive(Debug)]
enum RebuildStep {
    /// Notes its first version.
    Begin,
    /// Copies these profiles, the next of all.
    Page(Vec<ProfileKey>),
    /// Ends it: every profile and every campaign has a row of this version or a later one, if there is one. The campaigns
    /// were among the changes of earlier batches, since no batch with room leaves out a change that was committed before.
    End { first_version: u64 },
}

async fn next_step(tx: &mut PgConnection, rebuild: &Rebuild, version: u64) -> Result<RebuildStep> {
    let Some(first_version) = rebuild.first_version else {
        store::rebuild::begin(tx, version).await?;
        return Ok(RebuildStep::Begin);
    };
    let page = store::rebuild::page(tx, rebuild, REBUILD_PAGE).await?;
    let Some(last) = page.last() else { return Ok(RebuildStep::End { first_version }) };
    store::rebuild::advance(tx, *last).await?;
    Ok(RebuildStep::Page(page))
}

async fn copy_people(
    tx: &mut PgConnection,
    analytics: &Analytics,
    version: u64,
    people: &BTreeSet<ProfileKey>,
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let mut copies = Copies::<PersonRow>::new(analytics);
    let mut rows = pin!(store::people::copies(tx, version, people));
    while let Some(row) = rows.try_next().await? {
        copies.write(&row).await?;
    }
    Ok(copies.end().await?)
}

async fn copy_campaigns(
    tx: &mut PgConnection,
    analytics: &Analytics,
    version: u64,
    campaigns: &BTreeSet<CampaignKey>,
) -> Result<()> {
    if campaigns.is_empty() {
        return Ok(());
    }
    let mut copies = Copies::<CampaignRow>::new(analytics);
    for row in store::campaigns::copies(tx, version, campaigns).await? {
        copies.write(&row).await?;
    }
    Ok(copies.end().await?)
}
