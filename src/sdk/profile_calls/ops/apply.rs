//! Applies the calls of one workspace, in their order.

use std::time::Duration;

use contacts::users::{
    model::{CallKey, Upsert},
    ops::{
        calls,
        upsert::{ClaimedUpserts, WriteContext, upsert_claimed},
    },
};
use identity::{
    model::{Alias, Aliased, Link, LinkSource, Trust},
    ops as identities,
};
use ingest::record::{ProfileCall, ProfileCallKind};
use kernel::{Error, Result, Tenant, Timestamp, UserId, WorkspaceId};
use supervisor::Backoff;
use web::{Services, audit::Origin, http::Requester};

use crate::profile_calls::model::{Change, Step, key, steps};

/// Where these changes come from, as the audit history names it.
const SOURCE: &str = "sdk";
/// The actor of merges; calls do not carry their key.
const ACTOR: &str = "event_sdk";
/// The first pause after a failure; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Calls whose keys are looked up together.
const PAGE: usize = 1_000;
/// Attempts at a step that fails for another reason than an unavailable store.
const TRIES_MAX: u32 = 3;

/// Applies calls of a workspace. Retries while a store is unavailable; what can never be applied is counted.
pub(super) async fn apply(app: &Services, workspace: WorkspaceId, calls: &[ProfileCall<'_>]) {
    for page in calls.chunks(PAGE) {
        // A conflict means that another process applied some of the calls meanwhile: they are known then.
        while !try_page(app, workspace, page).await {}
    }
}

/// Applies those calls that were not applied before; false where another process is applying some of them.
async fn try_page(app: &Services, workspace: WorkspaceId, calls: &[ProfileCall<'_>]) -> bool {
    let keys: Vec<CallKey> = calls.iter().map(key).collect();
    let known = retried(workspace, || calls::known(app.db(), workspace, &keys)).await;
    let Some(Tried::Done(mut known)) = known else {
        count("failed", calls.len() as u64);
        return true;
    };
    let (repeated, fresh): (Vec<_>, Vec<_>) =
        calls.iter().zip(&keys).partition(|(_, key)| !known.insert(**key));
    count("repeated", repeated.len() as u64);
    let repeated =
        repeated.into_iter().map(|(call, _)| call).filter(|it| !it.anonymous_id.is_empty());
    let links: Vec<&ProfileCall<'_>> = repeated.collect();
    if !links.is_empty() {
        retried(workspace, || link_again(app, workspace, &links)).await;
    }
    for step in &steps(fresh.into_iter().map(|(call, _)| *call)) {
        match retried(workspace, || try_step(app, workspace, step)).await {
            Some(Tried::Done(())) => {}
            Some(Tried::Conflict) => return false,
            None => count("failed", step.calls()),
        }
    }
    true
}

/// The outcome of work that was retried.
enum Tried<T> {
    Done(T),
    Conflict,
}

/// Retries work: without limit while a store is unavailable, and a few times after other errors. None when it failed.
async fn retried<T, F>(workspace: WorkspaceId, work: impl Fn() -> F) -> Option<Tried<T>>
where
    F: Future<Output = Result<T>>,
{
    let (mut backoff, mut tries) = (Backoff::new(PAUSE, PAUSE_MAX), 0);
    loop {
        let error = match work().await {
            Ok(done) => return Some(Tried::Done(done)),
            Err(Error::Conflict(_)) => return Some(Tried::Conflict),
            Err(error) => error,
        };
        tries += u32::from(!error.is_unavailable());
        if tries == TRIES_MAX {
            tracing::error!(%workspace, %error, "profile calls cannot be applied");
            return None;
        }
        tracing::warn!(%workspace, %error, "profile calls wait");
        tokio::time::sleep(backoff.pause()).await;
    }
}

impl Step<'_> {
    /// Number of its calls.
    fn calls(&self) -> u64 {
        match self {
            Self::Changes(changes) => changes.iter().map(|change| change.keys.len() as u64).sum(),
            Self::Join(_) => 1,
        }
    }
}

fn count(outcome: &'static str, calls: u64) {
    metrics_catalogue::PROFILE_CALLS_APPLIED.with([outcome]).increment(calls);
}

async fn context(app: &Services, workspace: WorkspaceId) -> Result<Option<WriteContext<'_>>> {
    let Some(organization) = calls::organization(app.db(), workspace).await? else {
        return Ok(None);
    };
    Ok(Some(WriteContext {
        db: app.db(),
        tenant: Tenant { organization, workspace },
        country: app.country(workspace).await?,
        now: app.clock().now(),
    }))
}

async fn try_step(app: &Services, workspace: WorkspaceId, step: &Step<'_>) -> Result<()> {
    let Some(context) = context(app, workspace).await? else {
        // The workspace is gone.
        count("no_profile", step.calls());
        return Ok(());
    };
    match step {
        Step::Changes(changes) => change(context, changes).await,
        Step::Join(call) => join(context, call).await,
    }
}

async fn change(context: WriteContext<'_>, changes: &[Change<'_>]) -> Result<()> {
    let workspace = context.tenant.workspace;
    let upserts: Vec<Upsert> = changes.iter().map(|change| change.upsert.clone()).collect();
    let claims: Vec<Vec<CallKey>> = changes.iter().map(|change| change.keys.clone()).collect();
    let claimed = ClaimedUpserts { upserts: &upserts, claims: &claims };
    let outcomes = upsert_claimed(context, claimed).await?;
    let mut links = Vec::new();
    for (change, outcome) in changes.iter().zip(&outcomes) {
        let name = match outcome {
            Ok(upserted) => {
                links.extend(change.links.iter().map(|it| as_link(it.id, upserted.id, it.at_ms)));
                "applied"
            }
            Err(Error::NotFound(_)) => "no_profile",
            Err(error) => {
                tracing::debug!(%workspace, %error, "traits were refused");
                "refused"
            }
        };
        count(name, change.keys.len() as u64);
    }
    if !links.is_empty() {
        // The change is applied: what fails here is tried again by itself.
        retried(workspace, || identities::link(context, &links)).await;
    }
    Ok(())
}

/// Links of calls that were applied before: the process may have ended between a change and its links.
async fn link_again(
    app: &Services,
    workspace: WorkspaceId,
    calls: &[&ProfileCall<'_>],
) -> Result<()> {
    let Some(context) = context(app, workspace).await? else { return Ok(()) };
    let mut links = Vec::with_capacity(calls.len());
    for call in calls {
        let user = identities::profile_of(context.db, workspace, call.user_id).await?;
        links.extend(user.map(|user| as_link(call.anonymous_id, user, call.timestamp_ms)));
    }
    identities::link(context, &links).await.map(drop)
}

fn as_link(anonymous_id: &str, user: UserId, at_ms: i64) -> Link<'_> {
    Link { anonymous_id, user, source: LinkSource::Identify, at: Timestamp::from_millis(at_ms) }
}

/// Joins two ids. To do so again changes nothing, so the key is stored afterwards.
async fn join(context: WriteContext<'_>, call: &ProfileCall<'_>) -> Result<()> {
    let (db, workspace) = (context.db, context.tenant.workspace);
    let trust = if call.is_public { Trust::Public } else { Trust::Server };
    let origin = Origin {
        source: SOURCE.to_owned(),
        actor: ACTOR.to_owned(),
        requester: Requester::default(),
    };
    let alias = order(context, call).await?;
    let name = match identities::alias(context, &origin, trust, alias).await? {
        Aliased::Refused(reason) => {
            tracing::debug!(%workspace, %reason, "an alias was refused");
            "refused"
        }
        Aliased::Linked { .. } | Aliased::Named(_) | Aliased::Merged(_) | Aliased::Known(_) => {
            "applied"
        }
    };
    calls::claim(db, workspace, &[key(call)], context.now).await?;
    count(name, 1);
    Ok(())
}

/// Which of the two ids stays. PostHog's SDKs send them in either order: the one with a profile does.
async fn order<'c>(context: WriteContext<'_>, call: &ProfileCall<'c>) -> Result<Alias<'c>> {
    let as_sent = Alias { previous: call.previous_id, user: call.user_id };
    if call.kind != ProfileCallKind::Join {
        return Ok(as_sent);
    }
    let workspace = context.tenant.workspace;
    let has_profile = async |id| {
        let found = identities::profile_of(context.db, workspace, id).await?;
        Ok::<bool, Error>(found.is_some())
    };
    if has_profile(call.user_id).await? || !has_profile(call.previous_id).await? {
        return Ok(as_sent);
    }
    Ok(Alias { previous: call.user_id, user: call.previous_id })
}
