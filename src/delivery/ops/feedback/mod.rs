//! Feedback on sent messages: bounces, complaints and opt-outs are published as message events, and change consent and
//! suppressions.
//!
//! Publish first, then the change; both are retried. Reports count a repeat once by its id, and a change is recorded in
//! its transaction, so that a repeat changes nothing.

pub mod engagement;
pub mod keywords;

use std::{collections::HashMap, time::Duration};

use contacts::consent::{
    model::ChannelStatus,
    ops::{ChannelChange, Complaint, address_of, complained, set_channel_within, soft_bounced},
};
use kernel::{Channel, Country, Error, MessageId, Result, Timestamp, WorkspaceId};
use providers::model::{
    AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Reference,
};
use sqlx::PgConnection;
use supervisor::Heartbeat;
use suppressions::{
    model::{Identifier, Ledger, LedgerAddress},
    ops::deliverability,
};
use web::{
    audit::{self, Entry, Origin, Write},
    db,
    http::Requester,
};

use crate::{
    DeliveryState,
    ops::lifecycle::{self, LifecycleEvent},
    store::feedback::{self, Subject},
};

/// The source of feedback of delivery: rows with it count toward reported bounce rates.
const DELIVERY: &str = "delivery";
/// How long applied feedback is remembered.
const REMEMBERED_MAX: Duration = Duration::from_hours(30 * 24);
/// How often old feedback is deleted.
const DELETE_EVERY: Duration = Duration::from_hours(1);
/// Rows deleted in one statement.
const DELETE_ROWS_MAX: u32 = 10_000;
/// The reason in the history of an address with too many soft bounces.
const LIMIT_REACHED: &str = "as many soft bounces as are allowed";

/// Feedback on a message.
#[derive(Debug, Clone)]
pub struct MessageFeedback {
    pub reference: Reference,
    pub feedback: Feedback,
}

/// Publishes the feedback on a message and applies it. Feedback on an unknown message is ignored.
///
/// # Errors
/// When it cannot be published or applied; then the call may be repeated.
pub async fn apply(
    app: &DeliveryState,
    workspace: WorkspaceId,
    message: MessageId,
    feedback: Feedback,
) -> Result<()> {
    let reference = Reference { workspace, message };
    apply_all(app, &[MessageFeedback { reference, feedback }]).await.map(drop)
}

/// Publishes and applies the feedback on several messages; returns the number of known messages.
///
/// # Errors
/// When one cannot be published or applied; then the call may be repeated with all.
pub async fn apply_all(app: &DeliveryState, received: &[MessageFeedback]) -> Result<usize> {
    let references: Vec<Reference> = received.iter().map(|it| it.reference).collect();
    let subjects = feedback::find(app.db(), &references).await?;
    let known: Vec<(&Subject, &Feedback)> = received
        .iter()
        .filter_map(|it| Some((subjects.get(&it.reference)?, &it.feedback)))
        .collect();
    let events: Vec<LifecycleEvent> =
        known.iter().map(|(subject, feedback)| event(subject, feedback)).collect();
    lifecycle::publish(app, &events, app.clock().now()).await?;
    for (subject, feedback) in known.iter().filter(|(_, feedback)| feedback.kind.changes_consent())
    {
        apply_known(app, subject, feedback).await?;
    }
    Ok(known.len())
}

/// Publishes that a recipient unsubscribed by the link in a message. The caller changes the consent.
///
/// # Errors
/// When it cannot be published.
pub async fn publish_unsubscribed(
    app: &DeliveryState,
    message: Reference,
    source: &'static str,
) -> Result<()> {
    let subjects = feedback::find(app.db(), &[message]).await?;
    let Some(subject) = subjects.get(&message) else { return Ok(()) };
    let feedback = Feedback {
        source,
        event: String::new(),
        at: None,
        kind: FeedbackKind::Unsubscribed { source },
    };
    lifecycle::publish(app, &[event(subject, &feedback)], app.clock().now()).await
}

/// The messages by the ids of their provider.
///
/// # Errors
/// When the store fails.
pub async fn named_by_provider(
    app: &DeliveryState,
    channel: &str,
    ids: &[&str],
) -> Result<HashMap<String, Reference>> {
    feedback::named_by_provider(app.db(), channel, ids).await
}

fn before(app: &DeliveryState, age: Duration) -> Timestamp {
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(app.clock().now().millis().saturating_sub(age_ms))
}

fn event(subject: &Subject, feedback: &Feedback) -> LifecycleEvent {
    let (code, reason, label) = feedback.kind.details();
    LifecycleEvent {
        event_id: feedback.event_id(),
        at: feedback.at,
        label: label.to_owned(),
        ..LifecycleEvent::new(subject.into(), feedback.kind.message_kind()).because(code, reason)
    }
}

async fn apply_known(app: &DeliveryState, subject: &Subject, feedback: &Feedback) -> Result<()> {
    // A webhook's endpoint consents to nothing.
    let Ok(channel) = subject.channel.parse::<Channel>() else { return Ok(()) };
    let now = app.clock().now();
    let source = match feedback.kind {
        FeedbackKind::Unsubscribed { source } => source,
        _ => DELIVERY,
    };
    let origin = Origin {
        source: source.to_owned(),
        actor: format!("provider:{}", feedback.source),
        requester: Requester::default(),
    };
    let limit = app.callbacks().soft_bounce_limit;
    let call = FeedbackCall { subject, channel, feedback, limit };
    let once = || apply_once(app, now, &origin, &call);
    let entries = db::retried(once).await?;
    audit::count(&entries);
    Ok(())
}

/// Feedback to apply, and what it depends on.
struct FeedbackCall<'f> {
    subject: &'f Subject,
    channel: Channel,
    feedback: &'f Feedback,
    /// Soft bounces until an address counts as invalid; 0 without a limit.
    limit: u32,
}

async fn apply_once(
    app: &DeliveryState,
    now: Timestamp,
    origin: &Origin,
    call: &FeedbackCall<'_>,
) -> Result<Vec<Entry>> {
    let FeedbackCall { subject, channel, feedback, limit } = *call;
    let Subject { tenant, message, user, .. } = *subject;
    let country = app.country(tenant.workspace).await?;
    let mut tx = app.db().begin().await?;
    let kind = feedback.kind.message_kind().as_str();
    let key = format!("{message}:{kind}:{}", feedback.event_id());
    if !feedback::is_new(&mut tx, tenant.workspace, &key, now).await? {
        return Ok(Vec::new());
    }
    let reason = words(&feedback.kind);
    let write = Write { reason: reason.as_deref(), ..Write::of(now, origin) };
    let entries = match &feedback.kind {
        FeedbackKind::Bounced { kind: BounceKind::Hard, address: claim, .. }
            if channel == Channel::Email =>
        {
            match address(&mut tx, country, call, claim).await? {
                Some(LedgerAddress { identifier, .. }) => {
                    deliverability::hard_bounce(&mut tx, tenant.workspace, &write, &identifier)
                        .await?
                        .2
                }
                None => Vec::new(),
            }
        }
        FeedbackKind::Bounced { kind: BounceKind::Soft, .. } if channel == Channel::Email => {
            soft_bounce(&mut tx, subject, &write, limit).await?
        }
        FeedbackKind::Complained { address: claim, .. } => {
            let address = address(&mut tx, country, call, claim).await?;
            let address = address.as_ref();
            complained(&mut tx, tenant, &write, Complaint { channel, user, address }).await?
        }
        FeedbackKind::Unsubscribed { .. } => match user {
            Some(user) => {
                let change = ChannelChange {
                    user,
                    channel,
                    status: ChannelStatus::Unsubscribed,
                    consent_text: None,
                    reason,
                };
                match set_channel_within(&mut tx, now, tenant, origin, &change).await {
                    Ok((_, entry)) => vec![entry],
                    Err(Error::NotFound(_)) => Vec::new(),
                    Err(error) => return Err(error),
                }
            }
            None => Vec::new(),
        },
        // Numbers and devices do not bounce.
        FeedbackKind::Bounced { .. }
        | FeedbackKind::Delivered
        | FeedbackKind::Read
        | FeedbackKind::Deferred(_)
        | FeedbackKind::Failed(_) => Vec::new(),
    };
    tx.commit().await?;
    Ok(entries)
}

/// Counts a soft bounce; at the limit the address counts as a hard bounce.
async fn soft_bounce(
    tx: &mut PgConnection,
    subject: &Subject,
    write: &Write<'_>,
    limit: u32,
) -> Result<Vec<Entry>> {
    let Some(user) = subject.user else { return Ok(Vec::new()) };
    let bounced = soft_bounced(&mut *tx, subject.tenant, write, user).await?;
    let mut entries: Vec<Entry> = bounced.entry.into_iter().collect();
    let reached = limit > 0 && u32::try_from(bounced.count).is_ok_and(|count| count >= limit);
    if reached
        && let Some(LedgerAddress { identifier, .. }) =
            address_of(&mut *tx, subject.tenant.workspace, user, Channel::Email).await?
    {
        let write = Write { reason: Some(LIMIT_REACHED), ..*write };
        let workspace = subject.tenant.workspace;
        entries.extend(deliverability::hard_bounce(tx, workspace, &write, &identifier).await?.2);
    }
    Ok(entries)
}

/// The address that the feedback is about; none if the claim is not the recipient's address.
async fn address(
    tx: &mut PgConnection,
    country: Option<Country>,
    &FeedbackCall { subject, channel, .. }: &FeedbackCall<'_>,
    claim: &AddressClaim,
) -> Result<Option<LedgerAddress>> {
    let Some(ledger) = Ledger::of(channel) else { return Ok(None) };
    let read = |text: &str| Some(Identifier::read(ledger, text).ok()?.in_country(ledger, country));
    if let AddressClaim::Named(text) = claim {
        return Ok(read(text).map(|identifier| LedgerAddress { ledger, identifier }));
    }
    let Some(user) = subject.user else { return Ok(None) };
    let own = address_of(tx, subject.tenant.workspace, user, channel).await?;
    Ok(match claim {
        AddressClaim::Claimed(texts) => {
            own.filter(|own| texts.iter().any(|text| read(text).as_ref() == Some(&own.identifier)))
        }
        AddressClaim::Recipient | AddressClaim::Named(_) => own,
    })
}

/// The code and the text of a bounce or complaint, for the history.
fn words(kind: &FeedbackKind) -> Option<String> {
    let (FeedbackKind::Bounced { reason: FeedbackReason { code, text }, .. }
    | FeedbackKind::Complained { reason: FeedbackReason { code, text }, .. }) = kind
    else {
        return None;
    };
    let both = format!("{code} {text}");
    Some(both.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Forgets what was acted on long ago, until it is dropped.
pub async fn watch(app: DeliveryState, heartbeat: Heartbeat) {
    let mut tick = tokio::time::interval(DELETE_EVERY);
    loop {
        heartbeat.waiting(tick.tick()).await;
        let before = before(&app, REMEMBERED_MAX);
        loop {
            heartbeat.beat();
            match feedback::delete(app.db(), before, DELETE_ROWS_MAX).await {
                Ok(rows) if rows == u64::from(DELETE_ROWS_MAX) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::debug!(%error, "old feedback cannot be deleted, will retry");
                    break;
                }
            }
        }
    }
}
