//! Erasures, step by step, several people at once.

use std::{collections::BTreeSet, time::Duration};

use kernel::{Error, Result};
use people_mirror::ops::wait_for_profiles;
use tokio::time::{Instant, sleep};

use super::{events, files};
use crate::{
    PrivacyState,
    model::{STEPS, Step},
    store::{
        erase, nodes, rewrite,
        work::{self, Group, Work},
    },
};

/// Most people of one batch. The files of the stores are written anew once a batch.
const BATCH_MAX: i64 = 2_000;
/// Most people of one transaction of PostgreSQL, so that it is short.
const GROUP_MAX: usize = 200;
const POLL_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for a provider's answer in one attempt; a sender gives up before.
const SENDS_MAX: Duration = Duration::from_mins(5);
/// A process that was not seen for so long does not run.
const NODE_SEEN_WITHIN: Duration = Duration::from_mins(1);
/// Longest wait for the processes in one attempt.
const DRAIN_MAX: Duration = Duration::from_mins(5);
/// Longest wait for the copies in ClickHouse in one attempt.
const COPIES_MAX: Duration = Duration::from_mins(1);
/// How long an identifier that was read for a copy may take to arrive there.
const COPY_UNDER_WAY_MAX: Duration = Duration::from_secs(3);

/// Erases the people of a batch: those that an earlier attempt has begun with, else those that wait. Returns how long the
/// stores were written anew; none where there was no batch.
pub(super) async fn erase_batch(app: &PrivacyState) -> Result<Option<Duration>> {
    let batch = work::take_erasures(app.db(), app.clock().now(), BATCH_MAX).await?;
    let Some(first) = batch.iter().map(|work| work.step).min() else { return Ok(None) };
    tracing::info!(people = batch.len(), "people are being erased");
    let mut rewriting = Duration::ZERO;
    for (_, step) in STEPS.iter().filter(|(_, step)| *step >= first) {
        let works: Vec<&Work> = batch.iter().filter(|work| work.step <= *step).collect();
        let began = Instant::now();
        do_step(app, *step, &works).await?;
        if *step == Step::Rewrite {
            rewriting = began.elapsed();
        }
        match step.next() {
            Some(next) => work::advance(app.db(), &works, next).await?,
            None => work::finish(app.db(), &works, app.clock().now()).await?,
        }
    }
    tracing::info!(people = batch.len(), "people were erased");
    Ok(Some(rewriting))
}

async fn do_step(app: &PrivacyState, step: Step, works: &[&Work]) -> Result<()> {
    match step {
        Step::Identify => {
            // Calls that were accepted before are applied before: one of an ended profile would begin another.
            empty_files(app).await?;
            each_group(app, works, identify).await
        }
        Step::Sends => wait_for_sends(app, works).await,
        Step::Files => empty_files(app).await,
        Step::Rows => each_group(app, works, delete_rows).await,
        Step::Copies => wait_for_copies(app, works).await,
        Step::Events => events::erase(app, works).await,
        Step::Forget => each_group(app, works, forget).await,
        Step::Rewrite => {
            events::wait_for_old_parts(app.analytics()).await?;
            rewrite::rewrite(app.db()).await
        }
    }
}

async fn each_group(
    app: &PrivacyState,
    works: &[&Work],
    step: impl AsyncFn(&PrivacyState, &Group) -> Result<()>,
) -> Result<()> {
    let groups = Group::of(works, GROUP_MAX);
    for group in &groups {
        step(app, group).await?;
    }
    Ok(())
}

async fn identify(app: &PrivacyState, group: &Group) -> Result<()> {
    let mut tx = app.db().begin().await?;
    let profiles = erase::lock_profiles(&mut tx, group).await?;
    erase::store_identifiers(&mut tx, group, &profiles).await?;
    erase::end_profiles(&mut tx, group, &profiles, app.clock().now()).await?;
    tx.commit().await?;
    Ok(())
}

async fn wait_for_sends(app: &PrivacyState, works: &[&Work]) -> Result<()> {
    let deadline = Instant::now() + SENDS_MAX;
    while erase::settle_messages(app.db(), works).await? > 0 {
        if Instant::now() >= deadline {
            return Err(late("a message is still being sent"));
        }
        sleep(POLL_PAUSE).await;
    }
    Ok(())
}

async fn empty_files(app: &PrivacyState) -> Result<()> {
    let drain = nodes::begin_drain(app.db()).await?;
    let deadline = Instant::now() + DRAIN_MAX;
    loop {
        let now = app.clock().now();
        if nodes::not_drained(app.db(), drain, now, NODE_SEEN_WITHIN).await? == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(late("the spool of a process is not empty of earlier events"));
        }
        sleep(POLL_PAUSE).await;
    }
}

async fn delete_rows(app: &PrivacyState, group: &Group) -> Result<()> {
    let mut tx = app.db().begin().await?;
    let profiles = erase::lock_profiles(&mut tx, group).await?;
    // A profile that was merged meanwhile has identifiers that are not in the list yet.
    erase::store_identifiers(&mut tx, group, &profiles).await?;
    erase::keep_opt_outs(&mut tx, group, &profiles, app.clock().now()).await?;
    erase::delete_rows(&mut tx, group, &profiles).await?;
    tx.commit().await?;
    Ok(())
}

async fn wait_for_copies(app: &PrivacyState, works: &[&Work]) -> Result<()> {
    let workspaces: BTreeSet<_> = works.iter().map(|work| work.workspace).collect();
    for workspace in workspaces {
        if !wait_for_profiles(app.db(), workspace, COPIES_MAX).await? {
            return Err(late("profiles wait to be copied to ClickHouse"));
        }
    }
    sleep(COPY_UNDER_WAY_MAX).await;
    Ok(())
}

async fn forget(app: &PrivacyState, group: &Group) -> Result<()> {
    let mut tx = app.db().begin().await?;
    let erased = erase::note_erased(&mut tx, group, app.clock().now()).await?;
    // Before the identifiers are gone: a kill in between lists them again.
    files::add_to_list(app, erased).await?;
    erase::forget(&mut tx, group).await?;
    tx.commit().await?;
    Ok(())
}

fn late(what: &'static str) -> Error {
    Error::Unavailable { what, retry_after: None }
}
