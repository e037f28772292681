//! Tests of a channel: a fixed message to one recipient, and what the provider answers.

use std::time::Duration;

use campaigns::model::message::{
    Content, EmailMessage, MessageType, PushMessage, SmsMessage, ViberMessage, WhatsappMessage,
};
use kernel::{Channel, Error, MessageId, Result, WorkspaceId};

use super::test_send::{TestSendRequest, send_content};
use crate::{
    DeliveryState,
    model::StoredContent,
    store::messages::{self, StoredStatus},
};

/// How long the answer of the provider is awaited.
const WAIT_MAX: Duration = Duration::from_secs(10);
const POLL_PAUSE: Duration = Duration::from_millis(100);
const SUBJECT: &str = "Test message";

/// A test of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelTestRequest {
    /// The profile it is sent to without `to`.
    pub user: Option<String>,
    /// The address it is sent to.
    pub to: Option<String>,
    /// An approved template of the provider.
    pub template_id: Option<String>,
}

/// What became of a test of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTested {
    /// The message that was sent.
    pub message: MessageId,
    /// The address it was sent to.
    pub to: String,
    /// Its status once the provider had answered, or after the longest wait.
    pub status: StoredStatus,
}

/// Sends a test on a channel, and waits for the provider's answer.
///
/// # Errors
/// Not found for an unknown profile; bad request for an invalid address, a channel without a provider, a channel that
/// needs a template without one.
pub async fn send(
    app: &DeliveryState,
    workspace: WorkspaceId,
    channel: Channel,
    request: ChannelTestRequest,
) -> Result<ChannelTested> {
    let ChannelTestRequest { user, to, template_id } = request;
    let content = content(channel, template_id)?;
    let content = StoredContent {
        channel: channel.into(),
        message: serde_json::to_value(content).map_err(anyhow::Error::from)?,
        config: None,
        utm: None,
        campaign: None,
        variant: None,
        list: None,
        is_marketing: false,
    };
    let recipient = TestSendRequest { user, to, ..TestSendRequest::default() };
    let sent = send_content(app, workspace, content, recipient).await?;
    let mut status = StoredStatus { status: "queued".to_owned(), code: None, reason: None };
    // After a temporary failure it is tried again later than anyone waits here, with the failure as its reason.
    let answered = async {
        loop {
            if let Some(found) = messages::status(app.db(), workspace, sent.message).await? {
                status = found;
            }
            let waits = matches!(status.status.as_str(), "queued" | "sending");
            if !waits || status.status == "queued" && status.code.is_some() {
                return Ok::<(), Error>(());
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    };
    if let Ok(answered) = tokio::time::timeout(WAIT_MAX, answered).await {
        answered?;
    }
    Ok(ChannelTested { message: sent.message, to: sent.to, status })
}

/// The message of a test.
fn content(channel: Channel, template_id: Option<String>) -> Result<Content> {
    let text = Some(format!("This is a test of the channel {channel}."));
    let subject = Some(SUBJECT.to_owned());
    Ok(match channel {
        Channel::Email => Content::Email(EmailMessage { subject, text, ..EmailMessage::default() }),
        Channel::Sms => Content::Sms(SmsMessage { body: text, ..SmsMessage::default() }),
        Channel::Push => {
            Content::Push(PushMessage { title: subject, body: text, ..PushMessage::default() })
        }
        Channel::Viber if template_id.is_none() => {
            return Err(Error::invalid("templateId", "is required for viber"));
        }
        Channel::Viber => Content::Viber(ViberMessage { template_id, ..ViberMessage::default() }),
        // Without a template it reaches those who wrote within the last day.
        Channel::Whatsapp if template_id.is_none() => Content::Whatsapp(WhatsappMessage {
            message_type: Some(MessageType::Reply),
            reply_text: text,
            ..WhatsappMessage::default()
        }),
        Channel::Whatsapp => {
            Content::Whatsapp(WhatsappMessage { template_id, ..WhatsappMessage::default() })
        }
    })
}
