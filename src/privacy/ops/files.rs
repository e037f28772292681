//! What each process does: it empties its spool, removes dead letters, and keeps the list of erasures beside its stores.

use std::{collections::HashMap, time::Duration};

use contacts::events::ops::rejected;
use ingest::pipeline::dead_letters::{self, PersonIds};
use kernel::{Error, Result};
use supervisor::{Backoff, Heartbeat};
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    PrivacyState,
    erasures_file::ErasedPerson,
    model::{Kind, RequestId},
    store::{
        erase, nodes,
        requests::{self, NewRow},
    },
};

/// Rest between two looks for erasures.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const REST_MAX: Duration = Duration::from_secs(5);
const POLL_PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for the consumers of the spool in one attempt.
const DRAIN_MAX: Duration = Duration::from_mins(2);
/// Failures in a row before the first warning.
const WARN_AFTER: u32 = 3;
/// The author of repeated erasures, of people that an older backup brought back.
const RESTORED: &str = "list_of_erasures";

/// Does the part of this process in erasures, until it is dropped.
pub async fn watch_files(app: PrivacyState, heartbeat: Heartbeat) {
    let mut backoff = Backoff::new(LOOK_EVERY, REST_MAX);
    let mut is_compared = false;
    loop {
        heartbeat.waiting(sleep(LOOK_EVERY)).await;
        let done = async {
            if !is_compared {
                erase_listed(&app).await?;
                is_compared = true;
            }
            drain_where_wanted(&app).await
        };
        match heartbeat.waiting(done).await {
            Ok(()) => backoff.reset(),
            Err(error) => {
                let rest = backoff.pause();
                // At a start the schema may not be there yet.
                if backoff.attempts() > WARN_AFTER {
                    tracing::warn!(%error, "files of this process are not free of erased people yet, trying again");
                } else {
                    tracing::debug!(%error, "files of this process wait");
                }
                heartbeat.waiting(sleep(rest)).await;
            }
        }
    }
}

async fn drain_where_wanted(app: &PrivacyState) -> Result<()> {
    let spool = app.parts().spool.id();
    let Some(drain) = nodes::seen(app.db(), &spool, app.clock().now()).await? else {
        return Ok(());
    };
    // Refused events that wait in memory come into PostgreSQL, where they are looked for.
    rejected::flush(app).await;
    empty_spool(app).await?;
    remove_dead_letters(app).await?;
    list_erased(app).await?;
    nodes::drained(app.db(), &spool, drain).await
}

/// Waits until all that is in the spool now is in the stores, and its files are removed.
async fn empty_spool(app: &PrivacyState) -> Result<()> {
    let spool = &app.parts().spool;
    let renewed = spool.renew().await.map_err(anyhow::Error::from)?;
    let freed = async {
        while !spool.is_freed(renewed) {
            sleep(POLL_PAUSE).await;
        }
    };
    tokio::time::timeout(DRAIN_MAX, freed)
        .await
        .map_err(|_| Error::Unavailable { what: "events wait in the spool", retry_after: None })
}

async fn remove_dead_letters(app: &PrivacyState) -> Result<()> {
    let mut ids: HashMap<Uuid, PersonIds> = HashMap::new();
    for found in erase::event_identifiers(app.db()).await? {
        let person = ids.entry(found.workspace_id).or_default();
        person.workspace = found.workspace_id;
        person.ids.insert(found.value);
    }
    let people: Vec<PersonIds> = ids.into_values().collect();
    let dir = app.dead_letters_dir().to_owned();
    let removed = tokio::task::spawn_blocking(move || dead_letters::remove_of(&dir, &people))
        .await
        .map_err(anyhow::Error::from)?
        .map_err(anyhow::Error::from)?;
    if removed > 0 {
        tracing::info!(removed, "dead letters of erased people were removed");
    }
    Ok(())
}

/// Adds everyone who was erased to the list in the data directory.
pub(super) async fn list_erased(app: &PrivacyState) -> Result<()> {
    let people = erase::erased(app.db()).await?;
    add_to_list(app, people).await
}

pub(super) async fn add_to_list(app: &PrivacyState, people: Vec<ErasedPerson>) -> Result<()> {
    let list = app.parts().erasures.clone();
    let added = tokio::task::spawn_blocking(move || list.add(&people)).await;
    added.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    Ok(())
}

/// Erases people again whom the list has and the database does not: it was restored from an older backup.
async fn erase_listed(app: &PrivacyState) -> Result<()> {
    let list = app.parts().erasures.clone();
    let listed = tokio::task::spawn_blocking(move || list.read()).await;
    let listed = listed.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    if listed.is_empty() {
        return Ok(());
    }
    let known = erase::erased(app.db()).await?;
    let known: std::collections::HashSet<_> =
        known.into_iter().map(|it| (it.workspace, it.hash)).collect();
    let is_unknown =
        |person: &ErasedPerson| !known.contains(&(person.workspace, person.hash.clone()));
    let unknown: Vec<_> = listed.into_iter().filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let users = erase::with_hashes(app.db(), &unknown).await?;
    let now = app.clock().now();
    for person in unknown {
        let mut tx = app.db().begin().await?;
        if let Some(&user) = users.get(&person.hash) {
            let row = NewRow {
                id: RequestId::new(Uuid::new_v4()),
                kind: Kind::Erase,
                events: Some(person.events),
                user,
                requested_by: RESTORED,
                now,
            };
            requests::insert(&mut tx, person.workspace, row).await?;
            tracing::warn!(workspace = %person.workspace, "a person who was erased is stored again, and is erased again");
        }
        erase::note_listed(&mut tx, &person).await?;
        tx.commit().await?;
    }
    Ok(())
}
