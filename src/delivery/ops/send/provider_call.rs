//! Sends messages by their provider, and records the outcomes: publish first, then the status, then suppressions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use campaigns::model::message::MessageChannel;
use ingest::record::MessageKind;
use kernel::{CampaignId, Result, Timestamp, UserId, WorkspaceId};
use providers::{
    Provider, Sent,
    model::{Device, Feedback, FeedbackReason, Outcome},
};
use supervisor::Backoff;

use super::{
    eligibility::{caps, count_skip, tallies},
    recheck::{Recheck, recheck},
    terms::Terms,
};
use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, MessageStatus, ReadyMessage},
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
use traces::KeyValue;

/// Attempts to store the outcomes of messages that were sent.
const STORE_ATTEMPTS_MAX: u32 = 8;
const STORE_PAUSE: Duration = Duration::from_millis(250);
const STORE_PAUSE_MAX: Duration = Duration::from_secs(1);
/// The longest time of one batch. Its remaining messages are released: they can still be halted, and are not lost with
/// this process.
const CALL_LONG: Duration = Duration::from_secs(1);
/// The source of the feedback that outcomes are.
const SOURCE: &str = "provider";

/// The outcome of a message.
pub(crate) struct Done {
    pub(crate) message: Claimed,
    pub(crate) status: MessageStatus,
    /// The provider's answer; none where it was not called.
    sent: Option<Sent>,
}

/// The result of a provider call.
#[derive(Default)]
struct Called {
    done: Vec<Done>,
    /// Messages that were not sent in time.
    left: Vec<Claimed>,
}

/// Sends messages and records their outcomes. The lease limits the time of one call; the outcome of unanswered messages
/// is unknown.
pub(crate) async fn send_batch(
    app: &DeliveryState,
    ready: Vec<ReadyMessage>,
    terms: Terms,
) -> Result<Vec<Done>> {
    let began_at = app.clock().now();
    let mut by_channel = Vec::<(MessageChannel, Vec<ReadyMessage>)>::new();
    for it in ready {
        match by_channel.iter_mut().find(|(channel, _)| *channel == it.message.channel) {
            Some((_, messages)) => messages.push(it),
            None => by_channel.push((it.message.channel, vec![it])),
        }
    }
    let mut all = Called::default();
    for (channel, messages) in by_channel {
        let called = if let Some(provider) = app.providers().of(channel) {
            call(app, &provider, channel, messages, terms).await
        } else {
            let refused =
                |it: ReadyMessage| settled(app, it.message, no_provider(channel).into(), terms);
            Called { done: messages.into_iter().map(refused).collect(), left: Vec::new() }
        };
        all.done.extend(called.done);
        all.left.extend(called.left);
    }
    record_outcomes(app, &all, terms, began_at).await?;
    Ok(all.done)
}

fn no_provider(channel: MessageChannel) -> Outcome {
    let reason = format!("no provider is set for channel {}", channel_name(channel));
    Outcome::Rejected { code: "no_provider".to_owned(), reason, effect: None }
}

/// The longest time of a provider call; the rest of the lease is for recording the outcomes.
fn call_max(app: &DeliveryState) -> Duration {
    Duration::from_secs(u64::from(app.delivery().lease_seconds)) * 3 / 4
}

/// A message that was sent.
fn settled(app: &DeliveryState, message: Claimed, sent: Sent, terms: Terms) -> Done {
    let status = status(app, &message, &sent.outcome, terms.attempts_max);
    Done { message, status, sent: Some(sent) }
}

/// Sends messages part by part. Opt-outs are read again right before each part.
async fn call(
    app: &DeliveryState,
    provider: &Arc<dyn Provider>,
    channel: MessageChannel,
    messages: Vec<ReadyMessage>,
    terms: Terms,
) -> Called {
    let began = std::time::Instant::now();
    let deadline = tokio::time::Instant::now() + call_max(app);
    let mut called = Called::default();
    let mut rest = messages.into_iter();
    while rest.len() > 0 && (called.done.is_empty() || began.elapsed() <= CALL_LONG) {
        let part: Vec<ReadyMessage> = rest.by_ref().take(provider.batch_max().max(1)).collect();
        let Recheck { refused, waiting } = match recheck(app, channel, &part, terms).await {
            Ok(checked) => checked,
            Err(error) => {
                tracing::warn!(%error, "opt-outs cannot be read, messages are released");
                called.left.extend(part.into_iter().map(|it| it.message));
                break;
            }
        };
        let (mut claimed, mut outgoing) = (Vec::new(), Vec::new());
        for ReadyMessage { message, outgoing: out } in part {
            if let Some(skip) = refused.get(&message.id) {
                let status = MessageStatus::Skipped(skip.clone());
                called.done.push(Done { message, status, sent: None });
            } else if waiting.contains(&message.id) {
                called.left.push(message);
            } else {
                claimed.push(message);
                outgoing.push(out);
            }
        }
        if outgoing.is_empty() {
            continue;
        }
        let span = traces::work("provider");
        span.describe(|| {
            [
                KeyValue::new("millrace.channel", channel_name(channel)),
                KeyValue::new(
                    "millrace.messages",
                    i64::try_from(outgoing.len()).unwrap_or(i64::MAX),
                ),
            ]
        });
        let answer = span.around(provider.send(&outgoing));
        let answer = tokio::time::timeout_at(deadline, answer).await;
        if answer.is_err() {
            span.fail("the provider did not answer in time");
        }
        drop(span);
        let mut answers = answer.unwrap_or_default();
        let timed_out =
            || Outcome::Unknown { reason: "the provider did not answer in time".to_owned() };
        answers.resize_with(outgoing.len(), || timed_out().into());
        let answered = claimed.into_iter().zip(answers);
        called.done.extend(answered.map(|(message, sent)| settled(app, message, sent, terms)));
    }
    called.left.extend(rest.map(|it| it.message));
    metrics_catalogue::DELIVERY_PROVIDER_DURATION_SECONDS
        .with([channel_name(channel)])
        .record(began.elapsed());
    called
}

/// The status of a message after the provider's answer.
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
            let until = app.clock().now().after(pause);
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

/// Records the outcomes of messages. Retries while a store is unavailable, since they are known in this process only.
async fn record_outcomes(
    app: &DeliveryState,
    called: &Called,
    terms: Terms,
    began_at: Timestamp,
) -> Result<()> {
    let mut backoff = Backoff::new(STORE_PAUSE, STORE_PAUSE_MAX);
    loop {
        match record_outcomes_once(app, called, terms, began_at).await {
            Err(error) if backoff.attempts() + 1 < STORE_ATTEMPTS_MAX => {
                tracing::warn!(%error, "outcomes not stored, will retry");
                tokio::time::sleep(backoff.pause()).await;
            }
            stored => break stored?,
        }
    }
    count(&called.done);
    apply_effects(app, &called.done).await;
    Ok(())
}

async fn record_outcomes_once(
    app: &DeliveryState,
    called: &Called,
    terms: Terms,
    began_at: Timestamp,
) -> Result<()> {
    let Called { done, left } = called;
    let now = app.clock().now();
    let released = MessageStatus::Released { due: began_at };
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
        uncount(app, &mut tx, called).await?;
    }
    let mut gone = BTreeMap::<WorkspaceId, Vec<String>>::new();
    for it in done {
        let lost = it.sent.iter().flat_map(|sent| &sent.gone);
        let tokens = lost.map(|device: &Device| device.token.clone());
        gone.entry(it.message.workspace).or_default().extend(tokens);
    }
    for (workspace, tokens) in gone.into_iter().filter(|(_, tokens)| !tokens.is_empty()) {
        devices::delete(&mut tx, workspace, &tokens, began_at).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Takes failed messages off the frequency caps: they may be tried again, and others may be sent. Released messages are
/// taken off if they were never tried: only those are counted again.
async fn uncount(
    app: &DeliveryState,
    tx: &mut sqlx::PgConnection,
    Called { done, left }: &Called,
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

/// The campaigns of the messages that were sent.
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

/// Applies the feedback in refusals to their recipients.
async fn apply_effects(app: &DeliveryState, done: &[Done]) {
    for it in done {
        let Some(Sent { outcome, .. }) = &it.sent else { continue };
        let (MessageStatus::Failed { .. }, Some(effect), Some((code, reason))) =
            (&it.status, outcome.final_effect(), outcome.failure())
        else {
            continue;
        };
        let feedback = Feedback::of_effect(SOURCE, effect, FeedbackReason::new(code, reason));
        let (workspace, id) = (it.message.workspace, it.message.id);
        if let Err(error) = feedback::apply(app, workspace, id, feedback).await {
            tracing::error!(message = %id, %error, "the feedback of a provider about a recipient was not applied");
        }
    }
}
