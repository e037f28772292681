//! Asks those whose subscription waits (DECISIONS C8) whether they mean it: a message with the link that
//! confirms, wherever the wish came from.
//!
//! Led by rows, not by whoever wrote them: consent knows nothing of delivery, and a crash forgets nobody.

use serde_json::{Value, json};

use super::transactional::tell_kept;
use crate::{
    app::App,
    campaigns::model::{message::MessageChannel, settings::channel_config::ChannelConfig},
    delivery::{
        model::{
            Context, Said,
            message::{NewMessage, Purpose, Start},
        },
        store::{
            confirmations::{self, Unasked},
            messages,
        },
    },
    kernel::{Channel, MessageId, Result},
    links::{ConfirmSubscription, Link, Signer},
};

/// Contacts asked in one transaction.
const ASKED_AT_ONCE: i64 = 50;
const SUBJECT: &str = "Please confirm your subscription to {{ list }}";
const HTML: &str = "<html><body style=\"font-family:sans-serif;line-height:1.5\">\
    <p>Please confirm that you want to hear from us: <b>{{ list }}</b>.</p>\
    <p><a href=\"{{ confirm_url }}\">Yes, subscribe me</a></p>\
    <p>If you did not ask for this, there is nothing to do: you will get nothing.</p></body></html>";
const TEXT: &str = "Please confirm that you want to hear from us: {{ list }}.\n\n{{ confirm_url }}\n\n\
    If you did not ask for this, there is nothing to do: you will get nothing.";
const SMS: &str = "Please confirm your subscription to {{ list }}: {{ confirm_url }}";

/// The channels that confirmations are asked on, as far as anybody carries them.
const CHANNELS: [(&str, MessageChannel); 2] =
    [("email", MessageChannel::Email), ("sms", MessageChannel::Sms)];

/// Asks some of those who were not asked yet; answers whether there may be more.
pub(super) async fn ask(app: &App) -> Result<bool> {
    let carried = CHANNELS.iter().filter(|(_, channel)| app.providers().has(*channel));
    let channels: Vec<&str> = carried.map(|(name, _)| *name).collect();
    if channels.is_empty() {
        return Ok(false);
    }
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let mut tx = app.db().begin().await?;
    let unasked = confirmations::take(&mut tx, &channels, now, ASKED_AT_ONCE).await?;
    for one in &unasked {
        let message = message(one, &signer)?;
        tell_kept(app, one.workspace, &message, now).await?;
        messages::insert(&mut tx, one.workspace, &[message], now).await?;
    }
    tx.commit().await?;
    if !unasked.is_empty() {
        super::wake(app);
    }
    Ok(i64::try_from(unasked.len()).is_ok_and(|count| count == ASKED_AT_ONCE))
}

fn message(unasked: &Unasked, signer: &Signer) -> Result<NewMessage> {
    let Unasked { workspace, user, list, channel, .. } = *unasked;
    let link = ConfirmSubscription { workspace, user, list, channel };
    let url = signer.url(&Link::ConfirmSubscription(link));
    let (channel, says): (_, Value) = if channel == Channel::Sms {
        (MessageChannel::Sms, json!({"body": SMS, "shortenLinks": true}))
    } else {
        (MessageChannel::Email, json!({"subject": SUBJECT, "html": HTML, "text": TEXT}))
    };
    let context = Context {
        variables: json!({"list": unasked.name, "confirm_url": url}).as_object().cloned(),
        said: Some(Box::new(Said {
            channel,
            message: says,
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
