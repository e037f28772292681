//! Enters profiles into a campaign by their events: the entries and their messages, in one transaction.

use std::{collections::HashSet, sync::Arc, time::Duration};

use audience::{model::Person, ops as audiences};
use contacts::events::ops::people::linked_profiles;
use kernel::{Error, Result, UserId};
use sqlx::PgConnection;
use supervisor::Backoff;
use web::db;

use super::publish;
use crate::{
    DeliveryState,
    model::message::{NewMessage, Purpose, Start, message_id},
    ops::enqueue,
    triggers::{
        model::{Entry, LiveTrigger, ProfileEvent, TriggerEvent, admit},
        store,
    },
};

/// Events of one transaction.
const PAGE: usize = 1000;
/// Attempts before a failing page is split; an unavailable store is retried without limit.
const TRIES_MAX: u32 = 3;
/// The first pause after a failure; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long quiet hours and caps may hold a message back.
const HELD_MAX: Duration = Duration::from_hours(72);

/// Enters the profiles of these events. Retries until the entries are stored; only events that can never be stored
/// are skipped.
pub(super) async fn enter(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    events: &[Arc<TriggerEvent>],
) {
    let mut todo: Vec<&[Arc<TriggerEvent>]> = events.chunks(PAGE).rev().collect();
    while let Some(page) = todo.pop() {
        let Err(error) = enter_page(app, trigger, page).await else { continue };
        let is_refused = matches!(error, Error::BadRequest { .. } | Error::Invalid(_));
        if page.len() > 1 && !is_refused {
            let (first, second) = page.split_at(page.len() / 2);
            todo.extend([second, first]);
            continue;
        }
        tracing::error!(campaign = %trigger.id, events = page.len(), %error, "events cannot trigger a campaign");
        metrics_catalogue::TRIGGER_FAULTS.with(["entry"]).increment(page.len() as u64);
    }
}

/// Retries without limit while a store is unavailable, and a few times after other errors.
async fn enter_page(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    page: &[Arc<TriggerEvent>],
) -> Result<()> {
    let (mut backoff, mut tries) = (Backoff::new(PAUSE, PAUSE_MAX), 0);
    loop {
        let error = match try_page(app, trigger, page).await {
            Ok(()) => return Ok(()),
            Err(refused @ (Error::BadRequest { .. } | Error::Invalid(_))) => return Err(refused),
            Err(error) if error.is_unavailable() => error,
            Err(error) => {
                tries += 1;
                if tries == TRIES_MAX {
                    return Err(error);
                }
                error
            }
        };
        tracing::warn!(campaign = %trigger.id, %error, "events wait to trigger a campaign");
        metrics_catalogue::TRIGGER_FAULTS.with(["store"]).increment(1);
        tokio::time::sleep(backoff.pause()).await;
    }
}

async fn try_page(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    page: &[Arc<TriggerEvent>],
) -> Result<()> {
    let named = profile_of(app, trigger, page).await?;
    let may_enter = may_enter(app, trigger, named).await?;
    let in_audience = in_audience(app, trigger, may_enter).await?;
    if in_audience.is_empty() {
        return Ok(());
    }
    let entered = db::retried(|| write(app, trigger, &in_audience)).await?;
    if entered > 0 {
        metrics_catalogue::TRIGGER_ENTRIES.increment(entered);
        app.due_signal().notify();
        observe_lag(app, page);
    }
    Ok(())
}

fn observe_lag(app: &DeliveryState, page: &[Arc<TriggerEvent>]) {
    let Some(first) = page.iter().map(|event| event.received).min() else { return };
    let late_ms = u64::try_from(app.clock().now().millis() - first.millis()).unwrap_or(0);
    metrics_catalogue::TRIGGER_LAG_SECONDS.record(Duration::from_millis(late_ms));
}

/// The events of existing profiles. An event without a profile stays without effect, even if the profile is created
/// later.
async fn profile_of<'e>(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    page: &'e [Arc<TriggerEvent>],
) -> Result<Vec<ProfileEvent<'e>>> {
    let external: HashSet<&String> =
        page.iter().map(|event| &event.user).filter(|user| !user.is_empty()).collect();
    let external: Vec<String> = external.into_iter().cloned().collect();
    let internal: HashSet<UserId> =
        page.iter().flat_map(|event| [event.service_user, event.user_as_id()]).flatten().collect();
    let internal: Vec<Vec<u8>> = internal.iter().map(|id| id.bytes().to_vec()).collect();
    let mut known = store::profiles(app.db(), trigger.workspace, &external, &internal).await?;
    let unknown = known.unknown(page.iter().map(AsRef::as_ref));
    if !unknown.users.is_empty() || !unknown.anonymous.is_empty() {
        let users: Vec<String> = unknown.users.into_iter().collect();
        let anonymous: Vec<String> = unknown.anonymous.into_iter().collect();
        let linked = linked_profiles(app.db(), trigger.workspace, &users, &anonymous).await?;
        known.add_linked(linked);
    }
    let with_profile = |event: &'e Arc<TriggerEvent>| {
        Some(ProfileEvent { event: event.as_ref(), person: known.profile_of(event)? })
    };
    Ok(page.iter().filter_map(with_profile).collect())
}

/// The events whose profiles may enter by the re-entry rule. Checked first, because an audience query costs more.
async fn may_enter<'e>(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    named: Vec<ProfileEvent<'e>>,
) -> Result<Vec<ProfileEvent<'e>>> {
    if named.is_empty() {
        return Ok(named);
    }
    let mut connection = app.db().acquire().await?;
    let entering = entering(&mut connection, trigger, &named).await?;
    let may_enter: HashSet<UserId> = entering.iter().map(|entry| entry.user).collect();
    Ok(named.into_iter().filter(|it| may_enter.contains(&it.person.user)).collect())
}

/// The events whose profiles match the audience.
async fn in_audience<'e>(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    named: Vec<ProfileEvent<'e>>,
) -> Result<Vec<ProfileEvent<'e>>> {
    let members = if trigger.targeting.is_some() && !named.is_empty() {
        let mut seen = HashSet::new();
        let few: Vec<Person> = named
            .iter()
            .filter(|it| seen.insert(it.person.user))
            .map(|it| it.person.clone())
            .collect();
        Some(audiences::among(app.contacts(), trigger.workspace, &trigger.query(), &few).await?)
    } else {
        None
    };
    let is_member = |user: &UserId| members.as_ref().is_none_or(|members| members.contains(user));
    Ok(named.into_iter().filter(|it| is_member(&it.person.user)).collect())
}

async fn entering<'e>(
    connection: &mut PgConnection,
    trigger: &LiveTrigger,
    events: &[ProfileEvent<'e>],
) -> Result<Vec<Entry<'e>>> {
    let ids: Vec<String> = events.iter().map(|it| it.event.id.clone()).collect();
    let users: Vec<Vec<u8>> = events.iter().map(|it| it.person.user.bytes().to_vec()).collect();
    let known = store::entries(connection, trigger, &ids, &users).await?;
    Ok(admit(trigger, events, known))
}

/// Stores the entries and their messages in one transaction; returns their number. The `queued` events are appended to
/// the spool while the lock on the campaign's entries is held; it waits for an fsync, not for room in the spool.
async fn write(
    app: &DeliveryState,
    trigger: &LiveTrigger,
    events: &[ProfileEvent<'_>],
) -> Result<u64> {
    let mut tx = app.db().begin().await?;
    store::lock(&mut tx, trigger.id).await?;
    let entries = entering(&mut tx, trigger, events).await?;
    if entries.is_empty() {
        return Ok(0);
    }
    let now = app.clock().now();
    let queued: Vec<NewMessage> = entries.iter().map(|entry| message(trigger, entry)).collect();
    // Does not wait for room: this consumer is one of those that free the spool. Published later instead.
    let published = publish::queued(app, trigger.workspace, &queued, now).await;
    store::insert(&mut tx, trigger.workspace, trigger.id, &entries, published).await?;
    enqueue::insert(&mut tx, trigger.workspace, &queued, now).await?;
    tx.commit().await?;
    Ok(entries.len() as u64)
}

fn message(trigger: &LiveTrigger, entry: &Entry<'_>) -> NewMessage {
    let due = trigger.due(entry.event);
    let expires = due.after(HELD_MAX);
    NewMessage {
        id: message_id(trigger.id, entry.number, &entry.user),
        purpose: Purpose::Campaign,
        campaign: Some(trigger.id),
        occurrence: entry.number,
        user: Some(entry.user),
        channel: trigger.channel,
        variant: None,
        context: Some(entry.event.context()),
        start: Start::Queued { due, expires: Some(expires) },
    }
}
