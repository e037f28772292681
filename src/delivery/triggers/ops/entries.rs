//! Enters people into a campaign by their events: the entries and their messages, in one transaction.

use std::{collections::HashSet, sync::Arc, time::Duration};

use contacts::audience::{model::Person, ops as audience};
use kernel::{Error, Result, Timestamp, UserId};
use sqlx::PgConnection;
use supervisor::Backoff;
use web::db;

use super::publish;
use crate::{
    DeliveryState,
    model::message::{NewMessage, Purpose, Start, message_id},
    store::messages,
    triggers::{
        model::{Entry, Occurred, Waiting, admit},
        store,
    },
};

/// Events of one transaction.
const PAGE: usize = 1000;
/// Tries of events that fail for another reason than a store that is away, before each is tried alone.
const TRIES_MAX: u32 = 3;
/// The first pause after a failure; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause: a store that is back is used within this time.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Milliseconds a message may be held back.
const HELD_MAX_MS: i64 = 72 * 3_600_000;

/// Enters whom these events enter, whatever it takes. Only what can never be kept is passed over.
pub(super) async fn enter(app: &DeliveryState, waiting: &Waiting, events: &[Arc<Occurred>]) {
    let mut todo: Vec<&[Arc<Occurred>]> = events.chunks(PAGE).rev().collect();
    while let Some(page) = todo.pop() {
        let Err(error) = patiently(app, waiting, page).await else { continue };
        let is_refused = matches!(error, Error::BadRequest { .. } | Error::Invalid(_));
        if page.len() > 1 && !is_refused {
            let (first, second) = page.split_at(page.len() / 2);
            todo.extend([second, first]);
            continue;
        }
        tracing::error!(campaign = %waiting.id, events = page.len(), %error, "events cannot set a campaign off");
        metrics_catalogue::TRIGGER_FAULTS.with(["entry"]).increment(page.len() as u64);
    }
}

/// Waits for stores that are away, for ever; what else fails is tried a few times.
async fn patiently(app: &DeliveryState, waiting: &Waiting, page: &[Arc<Occurred>]) -> Result<()> {
    let (mut backoff, mut tries) = (Backoff::new(PAUSE, PAUSE_MAX), 0);
    loop {
        let error = match once(app, waiting, page).await {
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
        tracing::warn!(campaign = %waiting.id, %error, "events wait to set a campaign off");
        metrics_catalogue::TRIGGER_FAULTS.with(["store"]).increment(1);
        tokio::time::sleep(backoff.pause()).await;
    }
}

async fn once(app: &DeliveryState, waiting: &Waiting, page: &[Arc<Occurred>]) -> Result<()> {
    let named = whose(app, waiting, page).await?;
    let hopeful = hopeful(app, waiting, named).await?;
    let meant = meant(app, waiting, hopeful).await?;
    if meant.is_empty() {
        return Ok(());
    }
    let entered = db::retried(|| write(app, waiting, &meant)).await?;
    if entered > 0 {
        metrics_catalogue::TRIGGER_ENTRIES.increment(entered);
        app.due_signal().notify();
        observe_lag(app, page);
    }
    Ok(())
}

fn observe_lag(app: &DeliveryState, page: &[Arc<Occurred>]) {
    let Some(first) = page.iter().map(|event| event.received).min() else { return };
    let late_ms = u64::try_from(app.clock().now().millis() - first.millis()).unwrap_or(0);
    metrics_catalogue::TRIGGER_LAG_SECONDS.record(Duration::from_millis(late_ms));
}

/// The events of profiles that there are. An event of somebody unknown is nobody's when they turn up later.
async fn whose<'e>(
    app: &DeliveryState,
    waiting: &Waiting,
    page: &'e [Arc<Occurred>],
) -> Result<Vec<(&'e Occurred, Person)>> {
    let external: HashSet<&String> =
        page.iter().map(|event| &event.user).filter(|user| !user.is_empty()).collect();
    let external: Vec<String> = external.into_iter().cloned().collect();
    let internal: HashSet<UserId> =
        page.iter().flat_map(|event| [event.service_user, event.user_as_id()]).flatten().collect();
    let internal: Vec<Vec<u8>> = internal.iter().map(|id| id.bytes().to_vec()).collect();
    let known = store::profiles(app.db(), waiting.workspace, &external, &internal).await?;
    Ok(page.iter().filter_map(|event| Some((event.as_ref(), known.whose(event)?))).collect())
}

/// Those who may enter as far as their entries go, so that nobody is looked for in an audience in vain.
async fn hopeful<'e>(
    app: &DeliveryState,
    waiting: &Waiting,
    named: Vec<(&'e Occurred, Person)>,
) -> Result<Vec<(&'e Occurred, Person)>> {
    if named.is_empty() {
        return Ok(named);
    }
    let events: Vec<(&Occurred, UserId)> =
        named.iter().map(|(event, person)| (*event, person.user)).collect();
    let mut connection = app.db().acquire().await?;
    let entering = entering(&mut connection, waiting, &events).await?;
    let hopeful: HashSet<UserId> = entering.iter().map(|entry| entry.user).collect();
    Ok(named.into_iter().filter(|(_, person)| hopeful.contains(&person.user)).collect())
}

/// The events of those whom the campaign means.
async fn meant<'e>(
    app: &DeliveryState,
    waiting: &Waiting,
    named: Vec<(&'e Occurred, Person)>,
) -> Result<Vec<(&'e Occurred, UserId)>> {
    let members = if waiting.targeting.is_some() && !named.is_empty() {
        let mut seen = HashSet::new();
        let few: Vec<Person> = named
            .iter()
            .filter(|(_, person)| seen.insert(person.user))
            .map(|(_, person)| person.clone())
            .collect();
        Some(audience::among(app.contacts(), waiting.workspace, &waiting.query(), &few).await?)
    } else {
        None
    };
    let is_meant = |user: &UserId| members.as_ref().is_none_or(|members| members.contains(user));
    Ok(named
        .into_iter()
        .map(|(event, person)| (event, person.user))
        .filter(|(_, user)| is_meant(user))
        .collect())
}

async fn entering<'e>(
    connection: &mut PgConnection,
    waiting: &Waiting,
    events: &[(&'e Occurred, UserId)],
) -> Result<Vec<Entry<'e>>> {
    let ids: Vec<String> = events.iter().map(|(event, _)| event.id.clone()).collect();
    let users: Vec<Vec<u8>> = events.iter().map(|(_, user)| user.bytes().to_vec()).collect();
    let known = store::entries(connection, waiting.workspace, waiting.id, (&ids, &users)).await?;
    Ok(admit(waiting, events, known))
}

/// Keeps the entries and their messages; answers how many there are.
async fn write(
    app: &DeliveryState,
    waiting: &Waiting,
    events: &[(&Occurred, UserId)],
) -> Result<u64> {
    let mut tx = app.db().begin().await?;
    store::lock(&mut tx, waiting.id).await?;
    let entries = entering(&mut tx, waiting, events).await?;
    if entries.is_empty() {
        return Ok(0);
    }
    let now = app.clock().now();
    let queued: Vec<NewMessage> = entries.iter().map(|entry| message(waiting, entry)).collect();
    // Not awaited until there is room: a full spool is emptied by this very consumer. Published later instead.
    let published = publish::queued(app, waiting.workspace, &queued, now).await;
    store::insert(&mut tx, waiting.workspace, waiting.id, &entries, published).await?;
    messages::insert(&mut tx, waiting.workspace, &queued, now).await?;
    tx.commit().await?;
    Ok(entries.len() as u64)
}

fn message(waiting: &Waiting, entry: &Entry<'_>) -> NewMessage {
    let due = waiting.due(entry.event);
    let expires = Timestamp::from_millis(due.millis() + HELD_MAX_MS);
    NewMessage {
        id: message_id(waiting.id, entry.number, &entry.user),
        purpose: Purpose::Campaign,
        campaign: Some(waiting.id),
        occurrence: entry.number,
        user: Some(entry.user),
        channel: waiting.channel,
        variant: None,
        context: Some(entry.event.context()),
        start: Start::Queued { due, expires: Some(expires) },
    }
}
