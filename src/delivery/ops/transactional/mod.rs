//! Transactional messages: checked at once, stored with the idempotency key in one transaction, and sent by the next
//! free worker. The answer is stored, too, so that a repeated request gets the same answer and sends nothing.

pub mod channel_test;
pub(crate) mod confirmation;
pub mod rendering;
pub mod test_send;

use std::time::Duration;

use audience::model::SubscriptionPreference;
use campaigns::model::message::{MessageChannel, address_of};
use contacts::users;
use content::template;
use kernel::{Error, ListId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use suppressions::model::Reason;

use crate::{
    DeliveryState,
    model::{
        Context, StoredContent,
        eligibility::{self, Facts, Rules},
        message::{NewMessage, Purpose, Start, channel_name},
        skip::{Skip, SkipReason},
    },
    ops::{channels, devices, lifecycle},
    render::Prepared,
    store::{
        idempotency::{self, Kept, NewKey, Taken},
        messages, recipients,
    },
};

/// How long an answer is stored under its idempotency key.
const KEPT_MAX: Duration = Duration::from_hours(30 * 24);
/// How long a send waits for another under the same key.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// The answer for an unknown profile.
const NO_USER: Error = Error::NotFound("User");

/// The request of a transactional message.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionalRequest {
    /// The recipient: the internal id, or the caller's own.
    pub user: String,
    /// The channel it is sent on.
    pub channel: MessageChannel,
    /// The content, in the shape of a variant's message.
    pub message: Map<String, Value>,
    /// Variables of the templates.
    pub variables: Option<Map<String, Value>>,
    /// The value of `trigger` in templates.
    pub trigger: Option<Map<String, Value>>,
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub message: MessageId,
    /// The channel it is sent on.
    pub channel: MessageChannel,
    /// The reason why it is not sent.
    pub refused: Option<String>,
}

/// The outcome of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    Sent(Answer),
    /// It was stored before, under the same key.
    Before(Answer),
    /// Another request with the same key is in progress.
    Busy,
}

impl TransactionalRequest {
    /// A hash of the request without the key.
    fn fingerprint(&self) -> Vec<u8> {
        let request = json!([
            self.user,
            channel_name(self.channel),
            self.message,
            self.variables,
            self.trigger
        ]);
        Sha256::digest(request.to_string()).to_vec()
    }
}

/// Sends a message, or returns the stored answer.
///
/// # Errors
/// Bad request without a provider or an address, or with invalid templates. Not found for an unknown profile. Conflict
/// for a key that was used for another request.
pub async fn send(
    app: &DeliveryState,
    workspace: WorkspaceId,
    request: TransactionalRequest,
) -> Result<Done> {
    let now = app.clock().now();
    let fingerprint = request.fingerprint();
    if let Some(key) = &request.key
        && let Some(kept) = idempotency::find(app.db(), workspace, key, since(now)).await?
    {
        return again(&kept, &fingerprint);
    }
    let user = find_user(app, workspace, &request.user).await?;
    must_have_provider(app, request.channel).await?;
    if request.channel == MessageChannel::Email {
        refuse_unknown_sender(app, workspace, &request.message).await?;
    }
    let content = StoredContent {
        channel: request.channel,
        message: Value::Object(request.message),
        config: None,
        utm: None,
        campaign: None,
        variant: None,
        list: None,
        is_marketing: false,
    };
    let content = check_content(content).await?;
    let skip = check(app, workspace, user, request.channel).await?;
    let answer = Answer {
        message: MessageId::mint(now),
        channel: request.channel,
        refused: skip.as_ref().map(|skip| reason_of(skip).to_owned()),
    };
    let context = Context {
        trigger: request.trigger.map(Value::Object),
        variables: request.variables,
        content: Some(Box::new(content)),
        ..Context::default()
    };
    let message = NewMessage {
        id: answer.message,
        purpose: Purpose::Transactional,
        campaign: None,
        occurrence: 0,
        user: Some(user),
        channel: request.channel,
        variant: None,
        context: Some(serde_json::to_value(context).map_err(anyhow::Error::from)?),
        start: match skip {
            None => Start::Queued { due: now, expires: None },
            Some(skip) => Start::Skipped(skip),
        },
    };
    let kept =
        Kept { fingerprint, answer: serde_json::to_value(&answer).map_err(anyhow::Error::from)? };
    let key = request.key.as_deref().map(|key| NewKey { key, kept: &kept, now, since: since(now) });
    match store(app, workspace, &message, key).await? {
        Taken::Now => {
            app.due_signal().notify();
            Ok(Done::Sent(answer))
        }
        Taken::Busy => Ok(Done::Busy),
        Taken::Before => {
            let key = request.key.unwrap_or_default();
            let before = idempotency::find(app.db(), workspace, &key, since(now)).await?;
            before.map_or(Ok(Done::Busy), |before| again(&before, &kept.fingerprint))
        }
    }
}

fn since(now: Timestamp) -> Timestamp {
    let ms = i64::try_from(KEPT_MAX.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.millis().saturating_sub(ms))
}

fn again(kept: &Kept, fingerprint: &[u8]) -> Result<Done> {
    if kept.fingerprint != fingerprint {
        let problem = "idempotencyKey was used for another send";
        return Err(Error::Conflict(problem.to_owned()));
    }
    let answer = serde_json::from_value(kept.answer.clone()).map_err(anyhow::Error::from)?;
    Ok(Done::Before(answer))
}

/// Publishes the `queued` event and stores the message with its key. Waits for an fsync of the spool while the key is
/// locked.
async fn store(
    app: &DeliveryState,
    workspace: WorkspaceId,
    message: &NewMessage,
    key: Option<NewKey<'_>>,
) -> Result<Taken> {
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    if let Some(key) = key {
        let taken = idempotency::take(&mut tx, workspace, key, WAIT_MAX).await?;
        if taken != Taken::Now {
            return Ok(taken);
        }
    }
    lifecycle::publish(app, &lifecycle::of_new(workspace, message), now).await?;
    messages::insert(&mut tx, workspace, std::slice::from_ref(message), now).await?;
    tx.commit().await?;
    Ok(Taken::Now)
}

/// A profile by the caller's own id, else by its internal one.
pub(crate) async fn find_user(
    app: &DeliveryState,
    workspace: WorkspaceId,
    text: &str,
) -> Result<UserId> {
    users::ops::id_of(app.db(), workspace, text).await
}

/// Refuses a channel without a provider in any process.
pub(crate) async fn must_have_provider(app: &DeliveryState, channel: MessageChannel) -> Result<()> {
    if channels::is_enabled(app, channel).await? {
        return Ok(());
    }
    let name = channel_name(channel);
    Err(Error::bad_request(format!("no provider is set for the channel {name}")))
}

/// Refuses a sender that is not the workspace's. A templated sender is checked when the message is sent.
async fn refuse_unknown_sender(
    app: &DeliveryState,
    workspace: WorkspaceId,
    message: &Map<String, Value>,
) -> Result<()> {
    let from = message.get("from").and_then(Value::as_str);
    let Some(from) = from.filter(|from| !template::has_markup(from)).and_then(address_of) else {
        return Ok(());
    };
    let problem = sender_domains::ops::refusal(app, workspace, &from).await?;
    problem.map_or(Ok(()), |problem| Err(Error::invalid("message.from", problem)))
}

/// Checks that content can be rendered, and returns it.
pub(crate) async fn check_content(content: StoredContent) -> Result<StoredContent> {
    let read = move || Prepared::of_stored(&content).map(|_| content);
    let read = tokio::task::spawn_blocking(read).await.map_err(Error::internal)?;
    read.map_err(|fault| Error::bad_request(format!("message.{fault}")))
}

/// Checks the eligibility of a transactional message; it is checked again when the message is sent.
async fn check(
    app: &DeliveryState,
    workspace: WorkspaceId,
    user: UserId,
    channel: MessageChannel,
) -> Result<Option<Skip>> {
    let facts = facts_of(app, workspace, user, channel).await?;
    let rules = Rules {
        purpose: Purpose::Transactional,
        channel,
        preference: SubscriptionPreference::SubscribedOrOptedIn,
        bypass_unsubscribe: app.transactional().bypass_unsubscribe,
    };
    match eligibility::admit(&facts, rules) {
        Ok(_) => Ok(None),
        Err(skip) if skip.reason == SkipReason::Deleted => Err(NO_USER),
        Err(skip) if is_about_the_address(&skip, channel) => {
            Err(Error::invalid("userId", format!("cannot be reached: {}", skip.detail)))
        }
        Err(skip) => Ok(Some(skip)),
    }
}

/// The facts about a profile for a channel.
pub(crate) async fn facts_of(
    app: &DeliveryState,
    workspace: WorkspaceId,
    user: UserId,
    channel: MessageChannel,
) -> Result<Facts> {
    facts_with(app, workspace, user, channel, None).await
}

/// Likewise, for a message of this list.
pub(crate) async fn facts_with(
    app: &DeliveryState,
    workspace: WorkspaceId,
    user: UserId,
    channel: MessageChannel,
    list: Option<ListId>,
) -> Result<Facts> {
    let mut connection = app.db().acquire().await?;
    let mut known = recipients::facts(&mut connection, workspace, channel, list, &[user]).await?;
    let mut facts = known.remove(&user).ok_or(NO_USER)?;
    if channel == MessageChannel::Push {
        let mut devices = devices::of_users(&mut connection, workspace, &[user]).await?;
        facts.devices = devices.remove(&user).unwrap_or_default();
    }
    Ok(facts)
}

/// Whether there is no address, rather than one that must not be used.
pub(crate) fn is_about_the_address(skip: &Skip, channel: MessageChannel) -> bool {
    match skip.reason {
        SkipReason::NoAddress => true,
        SkipReason::InvalidAddress => channel != MessageChannel::Email,
        _ => false,
    }
}

/// The reason in the answer to a transactional or test send: of a suppressed address the ledger's.
pub(crate) const fn reason_of(skip: &Skip) -> &'static str {
    match skip.reason {
        SkipReason::InvalidAddress => Reason::HardBounce.as_str(),
        SkipReason::Suppressed(Some(reason)) => reason.as_str(),
        reason => reason.code(),
    }
}
