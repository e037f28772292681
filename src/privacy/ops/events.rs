//! The part of an erasure in ClickHouse.

use std::{collections::BTreeMap, time::Duration};

use analytics::{
    Analytics,
    erasure::{self, ErasedPeople, HashKey, HashedPeople, Stage},
};
use kernel::{Error, Result, WorkspaceId};
use tokio::time::sleep;

use crate::{
    PrivacyState,
    model::EventsFate,
    store::{erase, work::Work},
};

const POLL_PAUSE: Duration = Duration::from_millis(100);
const PARTS_POLL_PAUSE: Duration = Duration::from_millis(500);
/// Longest wait for old parts in one attempt: what reads them lets go before.
const PARTS_MAX: Duration = Duration::from_mins(5);

/// The random bytes of an erasure, taken apart.
struct Secrets {
    key: HashKey,
    /// The id of no profile under which anonymised events go on.
    subject: String,
}

fn secrets(work: &Work) -> Result<Secrets> {
    let bytes = work.hash_key.as_deref().unwrap_or_default();
    let part = |from: usize| -> Result<u64> {
        let bytes = bytes.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_be_bytes).ok_or_else(|| Error::internal("an erasure without a key"))
    };
    let (first, second) = (part(0)?, part(8)?);
    let subject = bytes.get(16..28).map(hex::encode);
    let subject = subject.ok_or_else(|| Error::internal("an erasure without a key"))?;
    Ok(Secrets { key: HashKey { first, second }, subject })
}

/// Deletes the events of these people and everything else that ClickHouse has of them.
pub(super) async fn erase(app: &PrivacyState, group: &[&Work]) -> Result<()> {
    let analytics = app.analytics();
    erasure::remove_old_parts_soon(analytics).await?;
    let mut by_workspace: BTreeMap<WorkspaceId, Vec<&Work>> = BTreeMap::new();
    for work in group {
        by_workspace.entry(work.workspace).or_default().push(work);
    }
    let mut everyone = Vec::new();
    for (workspace, works) in by_workspace {
        let mut ids = Vec::new();
        for work in &works {
            let theirs = event_ids(app, work).await?;
            if work.events == Some(EventsFate::Anonymize) {
                anonymize(analytics, work, theirs.clone()).await?;
            }
            ids.extend(theirs);
        }
        // The key of the first: the group is the same after a kill.
        let Some(first) = works.first() else { continue };
        let people = ErasedPeople { workspace: workspace.uuid(), key: secrets(first)?.key, ids };
        if people.ids.is_empty() {
            continue;
        }
        let people = erasure::hashed(analytics, &people).await?;
        people.remember(analytics).await?;
        everyone.push(people);
    }
    for stage in [Stage::Entries, Stage::People] {
        mutate(analytics, &everyone, stage).await?;
    }
    Ok(())
}

async fn anonymize(analytics: &Analytics, work: &Work, ids: Vec<String>) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let Secrets { key, subject } = secrets(work)?;
    let people = ErasedPeople { workspace: work.workspace.uuid(), key, ids };
    erasure::hashed(analytics, &people).await?.anonymize(analytics, &subject).await?;
    Ok(())
}

async fn mutate(analytics: &Analytics, everyone: &[HashedPeople], stage: Stage) -> Result<()> {
    for people in everyone {
        people.begin(analytics, stage).await?;
    }
    while erasure::is_mutating(analytics).await? {
        sleep(POLL_PAUSE).await;
    }
    Ok(())
}

/// The ids that events of a person may bear.
async fn event_ids(app: &PrivacyState, work: &Work) -> Result<Vec<String>> {
    let found = erase::identifiers(app.db(), work).await?;
    let is_of_events = |kind: &str| !matches!(kind, "email" | "phone");
    Ok(found.into_iter().filter(|it| is_of_events(&it.kind)).map(|it| it.value).collect())
}

/// Waits until no file is left of parts that were written anew.
pub(super) async fn wait_for_old_parts(analytics: &Analytics) -> Result<()> {
    // After a kill the usual times may be set again.
    erasure::remove_old_parts_soon(analytics).await?;
    let mut old = erasure::old_parts(analytics).await?;
    let gone = async {
        while !old.is_empty() {
            sleep(PARTS_POLL_PAUSE).await;
            let left = erasure::old_parts(analytics).await?;
            old.retain(|part| left.contains(part));
        }
        Ok(())
    };
    let gone: Result<()> = tokio::time::timeout(PARTS_MAX, gone).await.map_err(|_| {
        Error::Unavailable { what: "ClickHouse still has parts of before", retry_after: None }
    })?;
    gone?;
    erasure::keep_old_parts(analytics).await?;
    Ok(())
}
