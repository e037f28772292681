//! Applies the calls of one workspace, in their order.

use std::time::Duration;

use contacts::users::{
    model::{CallKey, Upsert},
    ops::{
        calls,
        upsert::{ClaimedUpserts, Upserted, WriteContext, upsert_claimed},
    },
};
use identity::{
    model::{Alias, Aliased, Link, LinkSource, Linked, Trust},
    ops as identities,
};
use ingest::record::{ProfileCall, ProfileCallKind};
use kernel::{Error, Result, Tenant, Timestamp, UserId, WorkspaceId};
use supervisor::Backoff;
use web::{Services, audit::Origin, http::Requester};

use super::refusals::{self, Refusal};
use crate::profile_calls::model::{Change, Step, change as change_of, halves, key, steps};

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
        failed(app, workspace, calls.iter().copied()).await;
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
            None => failed(app, workspace, step.all()).await,
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

impl<'c> Step<'c> {
    /// Number of its calls.
    fn calls(&self) -> u64 {
        self.all().count() as u64
    }

    fn all(&self) -> impl Iterator<Item = ProfileCall<'c>> {
        let (changes, join) = match self {
            Self::Changes(changes) => (changes.as_slice(), None),
            Self::Join(call) => (&[][..], Some(*call)),
        };
        changes.iter().flat_map(|change| &change.calls).copied().chain(join)
    }
}

/// Counts and lists calls that cannot be applied.
async fn failed<'c>(
    app: &Services,
    workspace: WorkspaceId,
    calls: impl Iterator<Item = ProfileCall<'c>>,
) {
    let refusals: Vec<Refusal<'_>> = calls.map(Refusal::of_fault).collect();
    count("failed", refusals.len() as u64);
    retried(workspace, || refusals::list(app, workspace, &refusals)).await;
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
        Step::Changes(changes) => match independent(context, changes).await? {
            Some([first, second]) => {
                let halves =
                    tokio::join!(change(app, context, first), change(app, context, second));
                match halves {
                    (Ok(()), other) | (other, Ok(())) => other,
                    // A half that was applied before is found when the page is read again; then the other is alone.
                    (Err(conflict @ Error::Conflict(_)), _) | (_, Err(conflict)) => Err(conflict),
                }
            }
            None => change(app, context, changes).await,
        },
        Step::Join(call) => join(app, context, call).await,
    }
}

/// Halves of changes that are of other people, by all ids that the profiles have. PostgreSQL applies them on two cores.
async fn independent<'s, 'c>(
    context: WriteContext<'_>,
    changes: &'s [Change<'c>],
) -> Result<Option<[&'s [Change<'c>]; 2]>> {
    let Some(halves) = halves(changes) else { return Ok(None) };
    let users: Vec<&str> =
        changes.iter().flat_map(|change| &change.calls).map(|call| call.user_id).collect();
    let is_internal = |id: &&str| id.parse::<UserId>().is_ok();
    if users.iter().any(is_internal) {
        return Ok(None);
    }
    let workspace = context.tenant.workspace;
    let shares = identities::any_further(context.db, workspace, &users).await?;
    Ok((!shares).then_some(halves))
}

/// What became of changes.
#[derive(Debug, Default)]
struct Outcomes<'c> {
    links: Vec<WantedLink<'c>>,
    refusals: Vec<Refusal<'c>>,
}

/// A call with an anonymous id, and the profile it belongs to.
#[derive(Debug, Clone, Copy)]
struct WantedLink<'c> {
    call: ProfileCall<'c>,
    user: UserId,
}

impl<'c> Outcomes<'c> {
    /// Takes the outcomes of changes. Gives the calls of those that were refused, each as a change of its own, where
    /// several were one change.
    fn take(&mut self, changes: &[Change<'c>], outcomes: Vec<Result<Upserted>>) -> Vec<Change<'c>> {
        let mut apart = Vec::new();
        for (change, outcome) in changes.iter().zip(outcomes) {
            let calls = &change.calls;
            let name = match outcome {
                Ok(Upserted { id: user, .. }) => {
                    let with_ids = calls.iter().filter(|call| !call.anonymous_id.is_empty());
                    self.links.extend(with_ids.map(|call| WantedLink { call: *call, user }));
                    "applied"
                }
                Err(Error::NotFound(_)) => "no_profile",
                Err(_) if calls.len() > 1 => {
                    apart.extend(calls.iter().map(change_of));
                    continue;
                }
                Err(error) => {
                    let refusal =
                        |call: &ProfileCall<'c>| Refusal { call: *call, reason: error.message() };
                    self.refusals.extend(calls.iter().map(refusal));
                    "refused"
                }
            };
            count(name, calls.len() as u64);
        }
        apart
    }
}

async fn change(app: &Services, context: WriteContext<'_>, changes: &[Change<'_>]) -> Result<()> {
    let workspace = context.tenant.workspace;
    let mut outcomes = Outcomes::default();
    let apart = outcomes.take(changes, upserted(context, changes).await?);
    if !apart.is_empty() {
        outcomes.take(&apart, upserted(context, &apart).await?);
    }
    let Outcomes { links, mut refusals } = outcomes;
    if !links.is_empty()
        && let Some(Tried::Done(refused)) = retried(workspace, || linked(context, &links)).await
    {
        refusals.extend(refused);
    }
    retried(workspace, || refusals::list(app, workspace, &refusals)).await;
    Ok(())
}

/// Applies changes, and gives the outcome of each.
async fn upserted(
    context: WriteContext<'_>,
    changes: &[Change<'_>],
) -> Result<Vec<Result<Upserted>>> {
    let upserts: Vec<Upsert> = changes.iter().map(|change| change.upsert.clone()).collect();
    let claims: Vec<Vec<CallKey>> = changes.iter().map(Change::keys).collect();
    upsert_claimed(context, ClaimedUpserts { upserts: &upserts, claims: &claims }).await
}

/// Links anonymous ids, and gives the calls whose profile has no room for them. That an id is of another profile is no
/// fault: people share devices.
async fn linked<'c>(
    context: WriteContext<'_>,
    wanted: &[WantedLink<'c>],
) -> Result<Vec<Refusal<'c>>> {
    let links: Vec<Link<'_>> = wanted
        .iter()
        .map(|WantedLink { call, user }| Link {
            anonymous_id: call.anonymous_id,
            user: *user,
            source: LinkSource::Identify,
            at: Timestamp::from_millis(call.timestamp_ms),
        })
        .collect();
    let outcomes = identities::link(context, &links).await?;
    let full = wanted.iter().zip(outcomes).filter(|(_, linked)| *linked == Linked::Full);
    Ok(full.map(|(link, linked)| no_room(&link.call, linked)).collect())
}

fn no_room<'c>(call: &ProfileCall<'c>, linked: Linked) -> Refusal<'c> {
    let name = if call.kind == ProfileCallKind::Set { "anonymousId" } else { "previousId" };
    Refusal { call: *call, reason: format!("{name} is not linked: {linked}") }
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
        links.extend(user.map(|user| WantedLink { call: **call, user }));
    }
    let refusals = linked(context, &links).await?;
    refusals::list(app, workspace, &refusals).await
}

/// Joins two ids. To do so again changes nothing, so the key is stored afterwards.
async fn join(app: &Services, context: WriteContext<'_>, call: &ProfileCall<'_>) -> Result<()> {
    let (db, workspace) = (context.db, context.tenant.workspace);
    let trust = if call.is_public { Trust::Public } else { Trust::Server };
    let origin = Origin {
        source: SOURCE.to_owned(),
        actor: ACTOR.to_owned(),
        requester: Requester::default(),
    };
    let alias = order(context, call).await?;
    let refusal = match identities::alias(context, &origin, trust, alias).await? {
        Aliased::Refused(reason) => Some(Refusal { call: *call, reason: reason.to_string() }),
        Aliased::Linked { linked: Linked::Full, .. } => Some(no_room(call, Linked::Full)),
        Aliased::Linked { .. } | Aliased::Named(_) | Aliased::Merged(_) | Aliased::Known(_) => None,
    };
    refusals::list(app, workspace, refusal.as_slice()).await?;
    calls::claim(db, workspace, &[key(call)], context.now).await?;
    count(if refusal.is_some() { "refused" } else { "applied" }, 1);
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
