//! Hands messages to those who carry them, and keeps what they make of them: told first, then written
//! down, then acted on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use campaigns::model::message::MessageChannel;
use contacts::audience::model::SubscriptionPreference;
use ingest::record::MessageKind;
use kernel::{CampaignId, ListId, Result, Timestamp, UserId, WorkspaceId};
use providers::{
    Provider, Sent,
    model::{Device, Feedback, FeedbackReason, Outcome, Outgoing},
};
use supervisor::Backoff;

use super::{
    campaign_context::CampaignContext,
    dispatch::count_skip,
    eligibility::{caps, tallies},
    recheck,
};
use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, MessageStatus},
        message::channel_name,
        retry,
    },
    ops::{
        devices, feedback,
        lifecycle::{self, LifecycleEvent},
    },
    store::{
        claims::{self, Mark},
        limits, recipients,
    },
};

/// Attempts to store the outcomes of messages that were sent.
const STORE_ATTEMPTS_MAX: u32 = 8;
const STORE_PAUSE: Duration = Duration::from_millis(250);
const STORE_PAUSE_MAX: Duration = Duration::from_secs(1);
/// A batch that took its provider longer goes on another time: what is not yet handed over then can still be
/// halted, and is not lost with this process.
const CALL_LONG: Duration = Duration::from_secs(1);
/// Who tells, in what is acted on.
const SOURCE: &str = "provider";

/// The rules by which messages are handed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// How often a provider is asked.
    attempts_max: i16,
    /// Whether they were counted against frequency caps.
    is_capped: bool,
    /// The list they are sent under.
    list: Option<ListId>,
    /// What their recipients must have said.
    preference: SubscriptionPreference,
}

impl Terms {
    /// Those of a campaign.
    pub(crate) fn of_campaign(campaign_context: &CampaignContext) -> Self {
        Self {
            attempts_max: campaign_context.attempts_max,
            is_capped: campaign_context.is_capped(),
            list: campaign_context.campaign.definition.subscription_category_id,
            preference: campaign_context.preference,
        }
    }

    /// The list messages are sent under.
    pub(crate) const fn list(&self) -> Option<ListId> {
        self.list
    }

    /// What recipients must have said.
    pub(crate) const fn preference(&self) -> SubscriptionPreference {
        self.preference
    }

    /// Those of messages that belong to no campaign.
    pub(crate) const fn of_outbox() -> Self {
        Self {
            attempts_max: retry::ATTEMPTS_MAX,
            is_capped: false,
            list: None,
            preference: SubscriptionPreference::SubscribedOrOptedIn,
        }
    }
}

/// What became of a message.
pub(crate) struct Done {
    pub(crate) message: Claimed,
    pub(crate) status: MessageStatus,
    /// What the provider said of it; nothing where it was not asked.
    sent: Option<Sent>,
}

/// What a call of a provider came to.
#[derive(Default)]
struct Called {
    done: Vec<Done>,
    /// Messages it did not come to.
    left: Vec<Claimed>,
}

/// Hands messages over, and keeps what became of them. The time one call may take is the lease's; what is
/// not answered by then is unknown.
pub(crate) async fn send_batch(
    app: &DeliveryState,
    ready: Vec<(Claimed, Outgoing)>,
    terms: Terms,
) -> Result<Vec<Done>> {
    let handed_over_at = app.clock().now();
    let mut by_channel = Vec::<(MessageChannel, Vec<(Claimed, Outgoing)>)>::new();
    for (message, outgoing) in ready {
        match by_channel.iter_mut().find(|(channel, _)| *channel == message.channel) {
            Some((_, messages)) => messages.push((message, outgoing)),
            None => by_channel.push((message.channel, vec![(message, outgoing)])),
        }
    }
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for (channel, messages) in by_channel {
        let called = if let Some(provider) = app.providers().of(channel) {
            call(app, (channel, &provider), messages, terms).await
        } else {
            let refused = |(message, _)| settled(app, message, no_provider(channel).into(), terms);
            Called { done: messages.into_iter().map(refused).collect(), left: Vec::new() }
        };
        done.extend(called.done);
        left.extend(called.left);
    }
    keep(app, (&done, &left), (terms, handed_over_at)).await?;
    Ok(done)
}

fn no_provider(channel: MessageChannel) -> Outcome {
    let reason = format!("no provider is set for channel {}", channel_name(channel));
    Outcome::Rejected { code: "no_provider".to_owned(), reason, effect: None }
}

/// Longest time one call of a provider may take: what is left of the lease keeps its answers.
fn call_max(app: &DeliveryState) -> Duration {
    Duration::from_secs(u64::from(app.delivery().lease_seconds)) * 3 / 4
}

/// A message that was handed over.
fn settled(app: &DeliveryState, message: Claimed, sent: Sent, terms: Terms) -> Done {
    let status = status(app, &message, &sent.outcome, terms.attempts_max);
    Done { message, status, sent: Some(sent) }
}

/// Has messages sent, part by part. Right before each part it is read again who opted out meanwhile.
async fn call(
    app: &DeliveryState,
    (channel, provider): (MessageChannel, &Arc<dyn Provider>),
    messages: Vec<(Claimed, Outgoing)>,
    terms: Terms,
) -> Called {
    let began = std::time::Instant::now();
    let deadline = tokio::time::Instant::now() + call_max(app);
    let mut called = Called::default();
    let mut rest = messages.into_iter();
    while rest.len() > 0 && (called.done.is_empty() || began.elapsed() <= CALL_LONG) {
        let part: Vec<(Claimed, Outgoing)> =
            rest.by_ref().take(provider.batch_max().max(1)).collect();
        let refused = match recheck::refused(app, channel, &part, terms).await {
            Ok(refused) => refused,
            Err(error) => {
                tracing::warn!(%error, "cannot read who opted out, messages are put back");
                called.left.extend(part.into_iter().map(|(message, _)| message));
                break;
            }
        };
        let (mut claimed, mut outgoing) = (Vec::new(), Vec::new());
        for (message, out) in part {
            if let Some(skip) = refused.get(&message.id) {
                let status = MessageStatus::Skipped(skip.clone());
                called.done.push(Done { message, status, sent: None });
            } else {
                claimed.push(message);
                outgoing.push(out);
            }
        }
        if outgoing.is_empty() {
            continue;
        }
        let answer = tokio::time::timeout_at(deadline, provider.send(&outgoing)).await;
        let mut answers = answer.unwrap_or_default();
        let silent =
            || Outcome::Unknown { reason: "the provider did not answer in time".to_owned() };
        answers.resize_with(outgoing.len(), || silent().into());
        let answered = claimed.into_iter().zip(answers);
        called.done.extend(answered.map(|(message, sent)| settled(app, message, sent, terms)));
    }
    called.left.extend(rest.map(|(message, _)| message));
    metrics_catalogue::DELIVERY_PROVIDER_DURATION_SECONDS
        .with([channel_name(channel)])
        .record(began.elapsed());
    called
}

/// Where a message stands that was handed over.
fn status(
    app: &DeliveryState,
    message: &Claimed,
    outcome: &Outcome,
    attempts_max: i16,
) -> MessageStatus {
    let tried = message.attempts.saturating_add(1);
    match outcome {
        Outcome::Accepted { provider_id, .. } => {
            MessageStatus::Sent { provider_id: provider_id.clone() }
        }
        Outcome::Retry { code, reason, after } if tried < attempts_max => {
            let pause = retry::pause(tried, *after, rand::random());
            let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
            let now = app.clock().now();
            let until = Timestamp::from_millis(now.millis().saturating_add(pause));
            MessageStatus::Deferred { until, code: code.clone(), reason: reason.clone() }
        }
        Outcome::Retry { code, reason, .. } | Outcome::Rejected { code, reason, .. } => {
            MessageStatus::Failed { code: code.clone(), reason: reason.clone() }
        }
        Outcome::Unknown { reason } => MessageStatus::Unknown { reason: reason.clone() },
    }
}

fn events(done: &[Done]) -> Vec<LifecycleEvent> {
    let mut events = Vec::with_capacity(done.len() * 2);
    for Done { message, status, sent } in done {
        events.extend(lifecycle::of_status(message, status));
        let outcome = sent.as_ref().map(|sent| &sent.outcome);
        if matches!(outcome, Some(Outcome::Accepted { is_delivered: true, .. })) {
            events.push(LifecycleEvent::new(message.into(), MessageKind::Delivered));
        }
    }
    events
}

/// Keeps what became of messages: tried again while a store is away, since nobody else knows it.
async fn keep(
    app: &DeliveryState,
    (done, left): (&[Done], &[Claimed]),
    by: (Terms, Timestamp),
) -> Result<()> {
    let mut backoff = Backoff::new(STORE_PAUSE, STORE_PAUSE_MAX);
    loop {
        match keep_once(app, (done, left), by).await {
            Err(error) if backoff.attempts() + 1 < STORE_ATTEMPTS_MAX => {
                tracing::warn!(%error, "outcomes not stored, will retry");
                tokio::time::sleep(backoff.pause()).await;
            }
            stored => break stored?,
        }
    }
    count(done);
    act(app, done).await;
    Ok(())
}

async fn keep_once(
    app: &DeliveryState,
    (done, left): (&[Done], &[Claimed]),
    (terms, handed_over_at): (Terms, Timestamp),
) -> Result<()> {
    let now = app.clock().now();
    let released = MessageStatus::Released { due: handed_over_at };
    lifecycle::publish(app, &events(done), now).await?;
    let mut tx = app.db().begin().await?;
    let ended = done.iter().map(|it| Mark { message: &it.message, status: &it.status });
    let untried = left.iter().map(|message| Mark { message, status: &released });
    let marks: Vec<Mark<'_>> = ended.chain(untried).collect();
    claims::record_outcomes(&mut tx, &marks, now).await?;
    for (workspace, campaign) in sent_of(done) {
        recipients::sent_at(&mut tx, workspace, campaign, now).await?;
    }
    if terms.is_capped {
        uncount(app, &mut tx, (done, left)).await?;
    }
    let mut gone = BTreeMap::<WorkspaceId, Vec<String>>::new();
    for it in done {
        let lost = it.sent.iter().flat_map(|sent| &sent.gone);
        let tokens = lost.map(|device: &Device| device.token.clone());
        gone.entry(it.message.workspace).or_default().extend(tokens);
    }
    for (workspace, tokens) in gone.into_iter().filter(|(_, tokens)| !tokens.is_empty()) {
        devices::delete(&mut tx, workspace, &tokens, handed_over_at).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Takes messages off the frequency caps that reached nobody: they may be tried anew, and others may be sent.
/// Of those put back the ones that were never tried: they alone are counted when their turn comes again.
async fn uncount(
    app: &DeliveryState,
    tx: &mut sqlx::PgConnection,
    (done, left): (&[Done], &[Claimed]),
) -> Result<()> {
    let is_unsent =
        |it: &&Done| matches!(it.status, MessageStatus::Failed { .. } | MessageStatus::Skipped(_));
    let unsent = done.iter().filter(is_unsent);
    let untried = left.iter().filter(|message| message.attempts == 0);
    let uncounted: Vec<&Claimed> = unsent.map(|it| &it.message).chain(untried).collect();
    limits::lock_tallies(tx, &tallies(app, uncounted.iter().copied())).await?;
    let mut unsent = BTreeMap::<(WorkspaceId, &str), (MessageChannel, Vec<UserId>)>::new();
    for message in uncounted {
        let place = (message.workspace, channel_name(message.channel));
        let (_, users) = unsent.entry(place).or_insert_with(|| (message.channel, Vec::new()));
        users.extend(message.user);
    }
    for ((workspace, _), (channel, users)) in unsent {
        for cap in caps(app, channel) {
            limits::uncount_sends(tx, workspace, &users, &cap.channel).await?;
        }
    }
    Ok(())
}

/// The campaigns that sent something.
fn sent_of(done: &[Done]) -> BTreeSet<(WorkspaceId, CampaignId)> {
    let sent = done.iter().filter(|it| matches!(it.status, MessageStatus::Sent { .. }));
    sent.filter_map(|it| Some((it.message.workspace, it.message.campaign?))).collect()
}

fn count(done: &[Done]) {
    for it in done {
        if let MessageStatus::Skipped(skip) = &it.status {
            count_skip(skip.reason);
            continue;
        }
        let outcome = match it.status {
            MessageStatus::Sent { .. } => "sent",
            MessageStatus::Deferred { .. } => "deferred",
            MessageStatus::Unknown { .. } => "unknown",
            _ => "failed",
        };
        let channel = channel_name(it.message.channel);
        metrics_catalogue::DELIVERY_MESSAGES.with([channel, outcome]).increment(1);
    }
}

/// Acts on what refusals say about their recipients.
async fn act(app: &DeliveryState, done: &[Done]) {
    for it in done {
        let Some(Sent { outcome, .. }) = &it.sent else { continue };
        let (MessageStatus::Failed { .. }, Some(effect), Some((code, reason))) =
            (&it.status, outcome.final_effect(), outcome.why())
        else {
            continue;
        };
        let heard = Feedback::of_effect(SOURCE, effect, FeedbackReason::new(code, reason));
        let (workspace, id) = (it.message.workspace, it.message.id);
        if let Err(error) = feedback::apply(app, workspace, id, heard).await {
            tracing::error!(message = %id, %error, "a provider's word on a recipient was not acted on");
        }
    }
}
