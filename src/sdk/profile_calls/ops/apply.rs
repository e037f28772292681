//! Applies the calls of one workspace, in their order.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use contacts::users::{
    model::{CallKey, Key, Upsert},
    ops::{
        calls,
        upsert::{
            ClaimedUpserts, RefusedUpsert, UpsertOutcome, Upserted, WriteContext, upsert_claimed,
        },
    },
};
use identity::{
    model::{Alias, Aliased, Link, LinkSource, Linked, Trust, is_random},
    ops as identities,
};
use ingest::record::{ProfileCall, ProfileCallKind};
use kernel::{Error, Result, Tenant, Timestamp, UserId, WorkspaceId};
use supervisor::Backoff;
use web::{Services, audit::Origin, auth::actor_of_key, http::Requester};

use super::refusals::{self, Refusal};
use crate::profile_calls::model::{Change, Ids, Step, halves, key, steps};

/// Where these changes come from, as the audit history names it.
const SOURCE: &str = "sdk";
/// The actor of merges of calls that do not carry the id of their key, as earlier releases recorded them.
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
    let Some(Tried::Done(known)) = known else {
        failed(app, workspace, calls.iter().copied()).await;
        return true;
    };
    let (repeated, others): (Vec<_>, Vec<_>) =
        calls.iter().zip(&keys).partition(|(_, key)| known.contains_key(*key));
    let mut seen = HashSet::new();
    let fresh: Vec<&ProfileCall<'_>> =
        others.iter().filter(|(_, key)| seen.insert(**key)).map(|(call, _)| *call).collect();
    count("repeated", (calls.len() - fresh.len()) as u64);
    let links: Vec<AppliedCall<'_>> = repeated
        .into_iter()
        .filter(|(call, _)| !call.anonymous_id.is_empty())
        .filter_map(|(call, key)| Some(AppliedCall { call: *call, at: *known.get(key)? }))
        .collect();
    if !links.is_empty() {
        retried(workspace, || link_again(app, workspace, &links)).await;
    }
    let Some(Tried::Done(found)) = retried(workspace, || user_ids(app, workspace, &fresh)).await
    else {
        // Without it a call could make a second profile of a person.
        failed(app, workspace, fresh.into_iter().copied()).await;
        return true;
    };
    let ids = found.ids;
    let mut steps = steps(fresh.into_iter().copied(), ids);
    for step in &mut steps {
        step.lead_to(&found.profiles);
    }
    for step in &steps {
        match retried(workspace, || try_step(app, workspace, step, ids)).await {
            Some(Tried::Done(())) => {}
            Some(Tried::Conflict) => return false,
            None => match in_parts(app, workspace, step).await {
                Tried::Done(()) => {}
                Tried::Conflict => return false,
            },
        }
    }
    true
}

/// What is known of the user ids of calls.
struct UserIds {
    ids: Ids,
    /// The profiles of which they are internal ids. One with an external id has that beside it.
    profiles: HashMap<String, UserId>,
}

/// Looks up which user ids of these calls are internal ids, and whether several may be of one profile: of one that has further
/// ids, or by a call that joins two.
async fn user_ids(
    app: &Services,
    workspace: WorkspaceId,
    calls: &[&ProfileCall<'_>],
) -> Result<UserIds> {
    let users: Vec<&str> = calls.iter().map(|call| call.user_id).collect();
    let profiles = identities::by_internal_ids(app.db(), workspace, &users).await?;
    let shares = calls.iter().any(|call| call.kind != ProfileCallKind::Set)
        || !profiles.is_empty()
        || identities::any_further(app.db(), workspace, &users).await?;
    Ok(UserIds { ids: if shares { Ids::Shared } else { Ids::Apart }, profiles })
}

/// Applies a step that failed as a whole in smaller and smaller parts, so that one call takes no other with it. A call that
/// fails by itself is listed.
async fn in_parts(app: &Services, workspace: WorkspaceId, step: &Step<'_>) -> Tried<()> {
    let mut todo = smaller(step);
    if todo.is_empty() {
        failed(app, workspace, step.all()).await;
    }
    while let Some(part) = todo.pop() {
        // The calls of a part follow one another.
        match tried(workspace, 1, || try_step(app, workspace, &part, Ids::Shared)).await {
            Some(Tried::Done(())) => {}
            Some(Tried::Conflict) => return Tried::Conflict,
            None => {
                let parts = smaller(&part);
                if parts.is_empty() {
                    failed(app, workspace, part.all()).await;
                }
                todo.extend(parts);
            }
        }
    }
    Tried::Done(())
}

/// Parts of a step, the first one last; none of a single call.
fn smaller<'c>(step: &Step<'c>) -> Vec<Step<'c>> {
    let Step::Changes(changes) = step else { return Vec::new() };
    match &changes[..] {
        [] => Vec::new(),
        [only] if only.calls.len() < 2 => Vec::new(),
        [only] => only.parts().rev().map(|part| Step::Changes(vec![part])).collect(),
        several => {
            let (first, second) = several.split_at(several.len() / 2);
            vec![Step::Changes(second.to_vec()), Step::Changes(first.to_vec())]
        }
    }
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
    tried(workspace, TRIES_MAX, work).await
}

/// Like [`retried`], with this number of attempts that fail for another reason than an unavailable store.
async fn tried<T, F>(
    workspace: WorkspaceId,
    tries_max: u32,
    work: impl Fn() -> F,
) -> Option<Tried<T>>
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
        if tries == tries_max {
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

async fn try_step(app: &Services, workspace: WorkspaceId, step: &Step<'_>, ids: Ids) -> Result<()> {
    let Some(context) = context(app, workspace).await? else {
        // The workspace is gone.
        count("no_profile", step.calls());
        return Ok(());
    };
    match step {
        // PostgreSQL applies halves that are of other people on two cores.
        Step::Changes(changes) => match halves(changes).filter(|_| ids == Ids::Apart) {
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
    /// When the call was applied, where it was before.
    applied_at: Option<Timestamp>,
}

/// A call that was applied before, and when.
#[derive(Debug, Clone, Copy)]
struct AppliedCall<'c> {
    call: ProfileCall<'c>,
    at: Timestamp,
}

impl<'c> Outcomes<'c> {
    /// Takes the outcomes of changes. Gives the calls of those that were refused, each as a change of its own, where
    /// several were one change, and what was left out because it follows such a one.
    fn take(
        &mut self,
        changes: &[Change<'c>],
        outcomes: Vec<Option<UpsertOutcome>>,
    ) -> Vec<Change<'c>> {
        let mut apart = Vec::new();
        for (change, outcome) in changes.iter().zip(outcomes) {
            let calls = &change.calls;
            let Some(outcome) = outcome else {
                apart.push(change.clone());
                continue;
            };
            let name = match outcome {
                Ok(Upserted { id: user, .. }) => {
                    self.link(calls, user);
                    "applied"
                }
                Err(RefusedUpsert { error: Error::NotFound(_), .. }) => "no_profile",
                Err(_) if calls.len() > 1 => {
                    apart.extend(change.parts());
                    continue;
                }
                Err(RefusedUpsert { error, user }) => {
                    // Traits without room are no reason to lose whose the anonymous id is.
                    if let Some(user) = user {
                        self.link(calls, user);
                    }
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

    /// Wants the anonymous ids of these calls linked to their profile.
    fn link(&mut self, calls: &[ProfileCall<'c>], user: UserId) {
        let with_ids = calls.iter().filter(|call| !call.anonymous_id.is_empty());
        self.links.extend(with_ids.map(|call| WantedLink { call: *call, user, applied_at: None }));
    }

    /// Sorts links as the calls of these changes are: the first link of an anonymous id counts.
    fn in_order(&mut self, changes: &[Change<'c>]) {
        let calls = changes.iter().flat_map(|change| &change.calls);
        let places: HashMap<CallKey, usize> =
            calls.enumerate().map(|(place, call)| (key(call), place)).collect();
        self.links.sort_by_key(|link| places.get(&key(&link.call)).copied());
    }
}

/// Links one after the other, after they failed together. Gives the calls whose links were not made.
async fn link_each<'c>(context: WriteContext<'_>, links: &[WantedLink<'c>]) -> Vec<Refusal<'c>> {
    let mut refusals = Vec::new();
    for link in links {
        let link_alone = || linked(context, std::slice::from_ref(link));
        match tried(context.tenant.workspace, 1, link_alone).await {
            Some(Tried::Done(refused)) => refusals.extend(refused),
            Some(Tried::Conflict) | None => {
                refusals.push(Refusal::of_fault(link.call));
            }
        }
    }
    refusals
}

async fn change(app: &Services, context: WriteContext<'_>, changes: &[Change<'_>]) -> Result<()> {
    let workspace = context.tenant.workspace;
    let mut outcomes = Outcomes::default();
    let mut apart = outcomes.take(changes, upserted(context, changes).await?);
    if !apart.is_empty() {
        while !apart.is_empty() {
            apart = outcomes.take(&apart, upserted(context, &apart).await?);
        }
        outcomes.in_order(changes);
    }
    let Outcomes { links, mut refusals } = outcomes;
    if !links.is_empty() {
        match retried(workspace, || linked(context, &links)).await {
            Some(Tried::Done(refused)) => refusals.extend(refused),
            Some(Tried::Conflict) | None => refusals.extend(link_each(context, &links).await),
        }
    }
    retried(workspace, || refusals::list(app, workspace, &refusals)).await;
    Ok(())
}

/// Applies changes, and gives the outcome of each.
async fn upserted(
    context: WriteContext<'_>,
    changes: &[Change<'_>],
) -> Result<Vec<Option<UpsertOutcome>>> {
    let mut upserts: Vec<Upsert> = changes.iter().map(|change| change.upsert.clone()).collect();
    resolve_linked(context, &mut upserts).await?;
    let claims: Vec<Vec<CallKey>> = changes.iter().map(Change::keys).collect();
    upsert_claimed(context, ClaimedUpserts { upserts: &upserts, claims: &claims }).await
}

/// Where an id need not be a user's, it may be an anonymous id of a profile.
async fn resolve_linked(context: WriteContext<'_>, upserts: &mut [Upsert]) -> Result<()> {
    let may_be_anonymous = |upsert: &&mut Upsert| upsert.manner.is_known_only;
    let ids: Vec<String> = upserts
        .iter_mut()
        .filter(may_be_anonymous)
        .filter_map(|upsert| upsert.external_id().map(str::to_owned))
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let texts: Vec<&str> = ids.iter().map(String::as_str).collect();
    let linked = identities::linked_users(context.db, context.tenant.workspace, &texts).await?;
    for upsert in upserts.iter_mut().filter(may_be_anonymous) {
        let owner = upsert.external_id().and_then(|id| linked.get(id));
        if let Some(owner) = owner {
            upsert.key = Key::Internal(*owner);
        }
    }
    Ok(())
}

/// Links anonymous ids, and gives the calls whose profile has no room for them. That an id is of another profile is no
/// fault: people share devices.
async fn linked<'c>(
    context: WriteContext<'_>,
    wanted: &[WantedLink<'c>],
) -> Result<Vec<Refusal<'c>>> {
    let links: Vec<Link<'_>> = wanted
        .iter()
        .map(|WantedLink { call, user, applied_at }| Link {
            anonymous_id: call.anonymous_id,
            user: *user,
            source: LinkSource::Identify,
            at: Timestamp::from_millis(call.timestamp_ms),
            trust: trust(call),
            applied_at: *applied_at,
        })
        .collect();
    let outcomes = identities::link(context, &links).await?;
    let full = wanted.iter().zip(outcomes).filter(|(_, linked)| linked.is_full());
    Ok(full.map(|(link, linked)| no_room(&link.call, linked)).collect())
}

fn no_room<'c>(call: &ProfileCall<'c>, linked: Linked) -> Refusal<'c> {
    let name = if call.kind == ProfileCallKind::Set { "anonymousId" } else { "previousId" };
    Refusal { call: *call, reason: format!("{name} is not linked: {linked}") }
}

/// Links of calls that were applied before: the process may have ended between a change and its links. What was removed from
/// its profile since then stays removed.
async fn link_again(
    app: &Services,
    workspace: WorkspaceId,
    calls: &[AppliedCall<'_>],
) -> Result<()> {
    let Some(context) = context(app, workspace).await? else { return Ok(()) };
    let mut links = Vec::with_capacity(calls.len());
    for AppliedCall { call, at } in calls {
        let user = identities::profile_of(context.db, workspace, call.user_id).await?;
        links.extend(user.map(|user| WantedLink { call: *call, user, applied_at: Some(*at) }));
    }
    let refusals = linked(context, &links).await?;
    refusals::list(app, workspace, &refusals).await
}

fn trust(call: &ProfileCall<'_>) -> Trust {
    if call.is_public { Trust::Public } else { Trust::Server }
}

/// Joins two ids. To do so again changes nothing, so the key is stored afterwards.
async fn join(app: &Services, context: WriteContext<'_>, call: &ProfileCall<'_>) -> Result<()> {
    let (db, workspace) = (context.db, context.tenant.workspace);
    let origin = Origin {
        source: SOURCE.to_owned(),
        actor: if call.key_id.is_empty() { ACTOR.to_owned() } else { actor_of_key(call.key_id) },
        requester: Requester::default(),
    };
    let alias = order(context, call).await?;
    let refusal = match identities::alias(context, &origin, trust(call), alias).await? {
        Aliased::Refused(reason) => Some(Refusal { call: *call, reason: reason.to_string() }),
        Aliased::Linked { linked, .. } if linked.is_full() => Some(no_room(call, linked)),
        Aliased::Linked { .. } | Aliased::Named(_) | Aliased::Merged(_) | Aliased::Known(_) => None,
    };
    refusals::list(app, workspace, refusal.as_slice()).await?;
    calls::claim(db, workspace, &[key(call)], context.now).await?;
    count(if refusal.is_some() { "refused" } else { "applied" }, 1);
    Ok(())
}

/// Which of the two ids stays. PostHog's SDKs send them in either order: the one with a profile does, else the one that was
/// not made up for a visitor.
async fn order<'c>(context: WriteContext<'_>, call: &ProfileCall<'c>) -> Result<Alias<'c>> {
    let as_sent = Alias { previous: call.previous_id, user: call.user_id };
    if call.kind != ProfileCallKind::Join {
        return Ok(as_sent);
    }
    let reversed = Alias { previous: call.user_id, user: call.previous_id };
    let workspace = context.tenant.workspace;
    let has_profile = async |id| {
        let found = identities::profile_of(context.db, workspace, id).await?;
        Ok::<bool, Error>(found.is_some())
    };
    Ok(match (has_profile(call.user_id).await?, has_profile(call.previous_id).await?) {
        (false, true) => reversed,
        (false, false) if is_random(call.user_id) && !is_random(call.previous_id) => reversed,
        _ => as_sent,
    })
}
