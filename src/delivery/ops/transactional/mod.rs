//! A message sent by itself: judged at once, kept with its key in one transaction, sent as soon as somebody
//! is free. What is answered is kept with it, so that asking again answers the same and sends nothing.

pub(crate) mod confirmation;
pub mod test_send;

use std::time::Duration;

use campaigns::model::message::{MessageChannel, address_of};
use contacts::{audience::model::SubscriptionPreference, suppressions::model::Reason, users};
use content::template;
use kernel::{Error, MessageId, Result, Timestamp, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

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

/// How long an answer is kept under its key (DECISIONS T2).
const KEPT_MAX: Duration = Duration::from_hours(30 * 24);
/// How long a send waits for another under the same key.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// What somebody that is not there is answered with.
const NO_USER: Error = Error::NotFound("User");

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Whom to: the internal id, or the caller's own.
    pub user: String,
    /// What it goes out on.
    pub channel: MessageChannel,
    /// What it says, in the shape of a variant's message.
    pub message: Map<String, Value>,
    /// Values that templates see by their names.
    pub variables: Option<Map<String, Value>>,
    /// What templates see as `trigger`.
    pub trigger: Option<Map<String, Value>>,
    /// Under which it is sent once.
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub message: MessageId,
    /// What it goes out on.
    pub channel: MessageChannel,
    /// Why it is not sent.
    pub refused: Option<String>,
}

/// What became of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    Sent(Answer),
    /// It had been kept before, under the same key.
    Before(Answer),
    /// Another one under the same key is under way.
    Busy,
}

impl Wish {
    /// The same for the same wish, and for no other; the key aside.
    fn fingerprint(&self) -> Vec<u8> {
        let wish = json!([
            self.user,
            channel_name(self.channel),
            self.message,
            self.variables,
            self.trigger
        ]);
        Sha256::digest(wish.to_string()).to_vec()
    }
}

/// Sends, or answers as before.
///
/// # Errors
/// Bad request for what cannot be sent: no provider, no address, templates that cannot be read. Not found
/// for nobody. Conflict for a key that was used for something else.
pub async fn send(app: &DeliveryState, workspace: WorkspaceId, wish: Wish) -> Result<Done> {
    let now = app.clock().now();
    let fingerprint = wish.fingerprint();
    if let Some(key) = &wish.key
        && let Some(kept) = idempotency::find(app.db(), workspace, key, since(now)).await?
    {
        return again(&kept, &fingerprint);
    }
    let user = find_user(app, workspace, &wish.user).await?;
    must_have_provider(app, wish.channel).await?;
    if wish.channel == MessageChannel::Email {
        refuse_unknown_sender(app, workspace, &wish.message).await?;
    }
    let said = StoredContent {
        channel: wish.channel,
        message: Value::Object(wish.message),
        config: None,
        utm: None,
        campaign: None,
        variant: None,
        list: None,
        is_marketing: false,
    };
    let said = readable(said).await?;
    let skip = check(app, workspace, (user, wish.channel)).await?;
    let answer = Answer {
        message: MessageId::mint(now),
        channel: wish.channel,
        refused: skip.as_ref().map(|skip| reason_of(skip).to_owned()),
    };
    let context = Context {
        trigger: wish.trigger.map(Value::Object),
        variables: wish.variables,
        content: Some(Box::new(said)),
        ..Context::default()
    };
    let message = NewMessage {
        id: answer.message,
        purpose: Purpose::Transactional,
        campaign: None,
        occurrence: 0,
        user: Some(user),
        channel: wish.channel,
        variant: None,
        context: Some(serde_json::to_value(context).map_err(anyhow::Error::from)?),
        start: match skip {
            None => Start::Queued { due: now, expires: None },
            Some(skip) => Start::Skipped(skip),
        },
    };
    let kept =
        Kept { fingerprint, answer: serde_json::to_value(&answer).map_err(anyhow::Error::from)? };
    match keep(app, workspace, &message, wish.key.as_deref().map(|key| (key, &kept))).await? {
        Taken::Now => {
            app.due_signal().notify();
            Ok(Done::Sent(answer))
        }
        Taken::Busy => Ok(Done::Busy),
        Taken::Before => {
            let key = wish.key.unwrap_or_default();
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

/// Keeps a message and its key, and tells of it.
async fn keep(
    app: &DeliveryState,
    workspace: WorkspaceId,
    message: &NewMessage,
    key: Option<(&str, &Kept)>,
) -> Result<Taken> {
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    if let Some((key, kept)) = key {
        let new = NewKey { key, kept, now, since: since(now) };
        let taken = idempotency::take(&mut tx, workspace, new, WAIT_MAX).await?;
        if taken != Taken::Now {
            return Ok(taken);
        }
    }
    lifecycle::publish(app, &lifecycle::of_new(workspace, message), now).await?;
    messages::insert(&mut tx, workspace, std::slice::from_ref(message), now).await?;
    tx.commit().await?;
    Ok(Taken::Now)
}

/// A profile by its internal id or the caller's own.
pub(crate) async fn find_user(
    app: &DeliveryState,
    workspace: WorkspaceId,
    text: &str,
) -> Result<UserId> {
    if let Ok(id) = text.parse::<UserId>() {
        match users::ops::by_id(app.db(), workspace, id).await {
            Err(Error::NotFound(_)) => {}
            found => return Ok(found?.id),
        }
    }
    let found = users::ops::by_external_id(app.db(), workspace, text).await;
    found.map(|user| user.id).map_err(|error| match error {
        Error::NotFound(_) => NO_USER,
        error => error,
    })
}

/// Refuses a channel that neither this process carries nor another.
pub(crate) async fn must_have_provider(app: &DeliveryState, channel: MessageChannel) -> Result<()> {
    if channels::is_carried(app, channel).await? {
        return Ok(());
    }
    let name = channel_name(channel);
    Err(Error::bad_request(format!("no provider is set for the channel {name}")))
}

/// Refuses a sender that is not the workspace's. What Liquid makes of one is checked when the message leaves.
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

/// Gives back what can be rendered.
pub(crate) async fn readable(said: StoredContent) -> Result<StoredContent> {
    let read = move || Prepared::of_stored(&said).map(|_| said);
    let read = tokio::task::spawn_blocking(read).await.map_err(Error::internal)?;
    read.map_err(|fault| Error::bad_request(format!("message.{fault}")))
}

/// What the gate says to a transactional message now; it is asked again when the message leaves.
async fn check(
    app: &DeliveryState,
    workspace: WorkspaceId,
    (user, channel): (UserId, MessageChannel),
) -> Result<Option<Skip>> {
    let facts = facts_of(app, workspace, (user, channel)).await?;
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

/// What is known of somebody, as far as a channel goes.
pub(crate) async fn facts_of(
    app: &DeliveryState,
    workspace: WorkspaceId,
    (user, channel): (UserId, MessageChannel),
) -> Result<Facts> {
    let mut connection = app.db().acquire().await?;
    let mut known = recipients::facts(&mut connection, workspace, channel, None, &[user]).await?;
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
