//! The part of an erasure in ClickHouse.

use std::time::Duration;

use analytics::{
    Analytics,
    erasure::{self, AnonymizedPerson, DetachedPart, ErasedPeople, HashKey, HashedPeople, Stage},
};
use kernel::{Error, Result};
use tokio::time::sleep;

use crate::{
    PrivacyState,
    model::EventsFate,
    store::{erase, work::Work},
};

/// Most identifiers of a statement, each some 130 bytes of it: ClickHouse takes 2 MiB at most.
const IDS_MAX: usize = 12_000;
const POLL_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two looks at mutations: each look writes out the statements of all that are under way.
const POLL_PAUSE_MAX: Duration = Duration::from_secs(2);
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
pub(super) async fn erase(app: &PrivacyState, works: &[&Work]) -> Result<()> {
    let analytics = app.analytics();
    erasure::remove_old_parts_soon(analytics).await?;
    check_detached(analytics).await?;
    let mut people = Vec::with_capacity(works.len());
    for work in works {
        let ids = event_ids(app, work).await?;
        let of_person =
            |(part, ids): (usize, &[String])| PersonIds { work, part, ids: ids.to_vec() };
        people.extend(ids.chunks(IDS_MAX).enumerate().map(of_person));
    }
    // One part after the other: an event with identifiers in two of them is counted out once.
    for part in parts(&people, |person| person.ids.len()) {
        let mut everyone = Vec::new();
        for of_workspace in part.chunk_by(|one, other| one.work.workspace == other.work.workspace) {
            everyone.extend(begin(app, of_workspace).await?);
        }
        for stage in [Stage::Entries, Stage::People] {
            mutate(analytics, &everyone, stage).await?;
        }
    }
    Ok(())
}

/// A request, and a part of the ids that events of its person may bear.
struct PersonIds<'w> {
    work: &'w Work,
    /// The number of this part, from 0. Most people have one.
    part: usize,
    ids: Vec<String>,
}

/// Parts with few enough identifiers for a statement.
fn parts<T>(people: &[T], ids: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let mut rest = people;
    while !rest.is_empty() {
        let mut total = 0;
        let fits = |person: &&T| {
            total += ids(person);
            total <= IDS_MAX
        };
        let (part, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        parts.push(part);
        rest = after;
    }
    parts
}

/// Refuses to go on while parts are detached: mutations do not reach their rows, and only their operator knows whether they
/// are needed.
async fn check_detached(analytics: &Analytics) -> Result<()> {
    let detached = erasure::drop_detached_copies(analytics).await?;
    for DetachedPart { table, name, .. } in &detached {
        tracing::warn!(
            table,
            part = name,
            "people cannot be erased: attach or drop the detached part"
        );
    }
    if detached.is_empty() {
        return Ok(());
    }
    Err(Error::Unavailable { what: "ClickHouse has detached parts", retry_after: None })
}

/// Prepares the deletion of events of people of a workspace. None where they have no identifiers.
async fn begin(app: &PrivacyState, people: &[PersonIds<'_>]) -> Result<Option<HashedPeople>> {
    let analytics = app.analytics();
    // The key of the first: the people are the same after a kill.
    let Some(PersonIds { work: first, part, .. }) = people.first() else { return Ok(None) };
    let (workspace, key) = (first.workspace, secrets(first)?.key);
    let mut anonymized = Vec::new();
    let mut ids = Vec::new();
    for PersonIds { work, ids: theirs, .. } in people {
        if work.events == Some(EventsFate::Anonymize) {
            let subject = secrets(work)?.subject;
            anonymized.push(AnonymizedPerson { subject, ids: theirs.clone() });
        }
        ids.extend(theirs.iter().cloned());
    }
    erasure::anonymize(analytics, workspace.uuid(), key, &anonymized).await?;
    let people = ErasedPeople { workspace: workspace.uuid(), key, part: *part, ids };
    let people = erasure::hashed(analytics, &people).await?;
    people.remember(analytics).await?;
    Ok(Some(people))
}

async fn mutate(analytics: &Analytics, everyone: &[HashedPeople], stage: Stage) -> Result<()> {
    for people in everyone {
        people.begin(analytics, stage).await?;
    }
    let mut pause = POLL_PAUSE;
    while erasure::is_mutating(analytics).await? {
        sleep(pause).await;
        pause = (pause * 3 / 2).min(POLL_PAUSE_MAX);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_few_enough_identifiers() {
        let sizes = |ids: &[usize]| {
            parts(ids, |ids| *ids).into_iter().map(<[usize]>::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), Vec::<usize>::new());
        assert_eq!(sizes(&[IDS_MAX - 1, 1, 1]), [2, 1]);
        assert_eq!(sizes(&[IDS_MAX, 1, IDS_MAX]), [1, 1, 1]);
    }
}
