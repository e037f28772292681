//! Double opt-in: sends the confirmation link for pending subscriptions, whatever their source.
//!
//! Driven by rows of pending subscriptions: consent does not depend on delivery, and a crash loses none.

use campaigns::model::{message::MessageChannel, settings::channel_config::ChannelConfig};
use contacts::consent::ops::SDK_SOURCE;
use kernel::{Channel, MessageId, Result, Timestamp};
use serde_json::{Value, json};
use sqlx::PgConnection;
use suppressions::model::Ledger;
use web::links::{ConfirmChannel, ConfirmSubscription, Link, Signer};

use crate::{
    DeliveryState,
    model::{
        Context, StoredContent,
        message::{NewMessage, Purpose, Start},
    },
    ops::lifecycle,
    store::{
        confirmations::{self, About, LedgerAddress, Unasked},
        messages,
    },
};

/// Confirmations of one transaction.
const ASKED_AT_ONCE: i64 = 50;
/// Confirmations to one address on one day (UTC), of all subscriptions and sources.
const PER_ADDRESS_AND_DAY_MAX: i32 = 3;
const SUBJECT: &str = "Please confirm your subscription to {{ list }}";
const HTML: &str = "<html><body style=\"font-family:sans-serif;line-height:1.5\">\
    <p>Please confirm that you want to hear from us: <b>{{ list }}</b>.</p>\
    <p><a href=\"{{ confirm_url }}\">Yes, subscribe me</a></p>\
    <p>If you did not ask for this, there is nothing to do: you will get nothing.</p></body></html>";
const TEXT: &str = "Please confirm that you want to hear from us: {{ list }}.\n\n{{ confirm_url }}\n\n\
    If you did not ask for this, there is nothing to do: you will get nothing.";
const SMS: &str = "Please confirm your subscription to {{ list }}: {{ confirm_url }}";

/// Sends a page of confirmations; returns whether there may be more.
pub(crate) async fn ask(app: &DeliveryState) -> Result<bool> {
    let is_enabled = |channel| app.providers().has(channel);
    let (mut lists, mut whole) = (Vec::new(), Vec::new());
    if is_enabled(MessageChannel::Sms) {
        lists.push(Channel::Sms.as_str());
        whole.push(Channel::Sms.as_str());
    }
    if is_enabled(MessageChannel::Email) {
        lists.push(Channel::Email.as_str());
        // An opt-in to any other channel is confirmed by email: it needs no address of that channel.
        whole.extend(Channel::ALL.iter().filter(|it| **it != Channel::Sms).map(|it| it.as_str()));
    }
    if lists.is_empty() {
        return Ok(false);
    }
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let mut tx = app.db().begin().await?;
    let mut unasked = confirmations::take(&mut tx, &lists, now, ASKED_AT_ONCE).await?;
    unasked.extend(confirmations::take_channels(&mut tx, &whole, now, ASKED_AT_ONCE).await?);
    // In one order, so that two processes that count for the same addresses do not deadlock.
    unasked.sort_by_key(|one| (one.workspace.uuid(), *one.user.bytes()));
    let mut is_asked = false;
    for one in &unasked {
        if let Some(reason) = withheld(&mut tx, one, now).await? {
            metrics_catalogue::CONFIRMATIONS_WITHHELD.with([reason]).increment(1);
            continue;
        }
        let message = message(one, &signer)?;
        lifecycle::publish(app, &lifecycle::of_new(one.workspace, &message), now).await?;
        messages::insert(&mut tx, one.workspace, &[message], now).await?;
        is_asked = true;
    }
    confirmations::forget_counts(&mut tx, now).await?;
    tx.commit().await?;
    if is_asked {
        app.due_signal().notify();
    }
    Ok(i64::try_from(unasked.len()).is_ok_and(|count| count >= ASKED_AT_ONCE))
}

/// The reason to send a contact no confirmation. A later subscription may send one.
async fn withheld(
    tx: &mut PgConnection,
    unasked: &Unasked,
    now: Timestamp,
) -> Result<Option<&'static str>> {
    let Unasked { workspace, user, channel, .. } = *unasked;
    let ledger = if channel == Channel::Sms { Ledger::Sms } else { Ledger::Email };
    let Some(address) = confirmations::address(tx, workspace, user, ledger).await? else {
        return Ok(Some("no_address"));
    };
    let list = match unasked.about {
        About::List(list, _) => Some(list),
        About::Channel(_) => None,
    };
    // A call of an SDK proves nothing; it must not cause messages to a profile that opted out.
    let with_opt_outs = unasked.source == SDK_SOURCE;
    let at = LedgerAddress { workspace, ledger, address: &address };
    if confirmations::is_suppressed(tx, at, list, with_opt_outs).await? {
        return Ok(Some("suppressed"));
    }
    let is_counted = confirmations::count(tx, at, now, PER_ADDRESS_AND_DAY_MAX).await?;
    Ok((!is_counted).then_some("limit"))
}

fn message(unasked: &Unasked, signer: &Signer) -> Result<NewMessage> {
    let Unasked { workspace, user, channel, .. } = *unasked;
    let (link, name) = match &unasked.about {
        About::List(list, name) => {
            let link = ConfirmSubscription { workspace, user, list: *list, channel };
            (Link::ConfirmSubscription(link), name)
        }
        About::Channel(name) => {
            (Link::ConfirmChannel(ConfirmChannel { workspace, user, channel }), name)
        }
    };
    let url = signer.url(&link);
    let (channel, message): (_, Value) = if channel == Channel::Sms {
        (MessageChannel::Sms, json!({"body": SMS, "shortenLinks": true}))
    } else {
        (MessageChannel::Email, json!({"subject": SUBJECT, "html": HTML, "text": TEXT}))
    };
    let context = Context {
        variables: json!({"list": name, "confirm_url": url}).as_object().cloned(),
        content: Some(Box::new(StoredContent {
            channel,
            message,
            config: Some(Box::new(ChannelConfig {
                track_opens: Some(false),
                ..ChannelConfig::default()
            })),
            utm: None,
            campaign: None,
            variant: None,
            list: None,
            is_marketing: false,
        })),
        ..Context::default()
    };
    Ok(NewMessage {
        id: MessageId::mint(signer.now()),
        purpose: Purpose::Confirmation,
        campaign: None,
        occurrence: 0,
        user: Some(user),
        channel,
        variant: None,
        context: Some(serde_json::to_value(context).map_err(anyhow::Error::from)?),
        start: Start::Queued { due: signer.now(), expires: None },
    })
}
