//! `POST /campaigns/transactional/send`: a message to one person, now.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use campaigns::model::{
    CampaignChannel,
    message::{Content, Message, MessageChannel},
};
use content::template;
use http::{HeaderName, HeaderValue, header::RETRY_AFTER};
use kernel::fields::describe::{described, words_schema};
use kernel::{
    Error, MessageId, Result,
    fields::{Fields, FromFields, describe::free_object},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body},
};

use super::{BODY_BYTES_MAX, TRIGGER_BYTES_MAX, USER_ID_CHARS_MAX, bounded_object};
use crate::{
    DeliveryState,
    ops::transactional::{self, Answer, Done, TransactionalRequest},
};

/// The longest `idempotencyKey`, in characters.
const KEY_CHARS_MAX: usize = 255;
const TEMPLATE_ID_CHARS_MAX: usize = 255;
/// Bytes of `variables`, written compactly.
const VARIABLES_BYTES_MAX: usize = 16 << 10;
/// Seconds after which a send is asked for again that another one under its key kept from being answered.
const BUSY_RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

const CHANNELS: &[(&str, MessageChannel)] = &[
    ("email", MessageChannel::Email),
    ("sms", MessageChannel::Sms),
    ("push", MessageChannel::Push),
    ("viber", MessageChannel::Viber),
];

words_schema!(
    /// The channel of a single message.
    TransactionalChannel = CHANNELS
);

described!(
    /// A message to one person.
    TransactionalRequest as "TransactionalSend"
);

impl FromFields for TransactionalRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let channel = body
            .required("channel")
            .about("The channel: `email`, `sms`, `push` or `viber`.")
            .as_type::<TransactionalChannel>()
            .one_of(CHANNELS);
        let known = body.is_clean().then_some(channel);
        let user = body
            .required("userId")
            .about("The recipient: the internal id, or the caller's own.")
            .text(1..=USER_ID_CHARS_MAX);
        let message = body
            .required("message")
            .about(
                "`subject`, `body` (plain text) and `html` of an email, besides `preheader`, `from`, \
                 `fromName`; `body` of a text message; `title`, `body`, `icon`, `image`, `data` of a push \
                 notification; may be empty for Viber. Every text is Liquid.",
            )
            .as_schema(free_object)
            .object_by(|message| content(message, known));
        let template_id = body
            .optional("viberTemplateId")
            .about("The approved template; Viber needs one.")
            .text(1..=TEMPLATE_ID_CHARS_MAX);
        let variables = bounded_object(
            body,
            "variables",
            "Viber: values of the template's fields, which templates also see by their names.",
            VARIABLES_BYTES_MAX,
        );
        let mut message = message;
        if known == Some(MessageChannel::Viber) {
            match &template_id {
                Some(id) => {
                    message.insert("templateId".to_owned(), id.clone().into());
                    let values = variables.clone().unwrap_or_default();
                    message.entry("variables").or_insert(Value::Object(values));
                }
                None if body.has("viberTemplateId") => {}
                None => body.refuse("viberTemplateId", "is required for viber"),
            }
        }
        Self {
            user,
            channel,
            message,
            variables,
            trigger: bounded_object(
                body,
                "triggerData",
                "The values of `trigger` in templates: `type`, `name`, `properties`, `metadata`.",
                TRIGGER_BYTES_MAX,
            ),
            key: body
                .optional("idempotencyKey")
                .about("The same send under the same key within 30 days is not sent twice.")
                .text(1..=KEY_CHARS_MAX),
        }
    }
}

/// Reads what it says, in the shape of a variant's message on that channel.
fn content(body: &mut Fields<'_>, channel: Option<MessageChannel>) -> Map<String, Value> {
    let Some(channel) = channel else { return Map::new() };
    let shape = match channel {
        MessageChannel::Sms => CampaignChannel::Sms,
        MessageChannel::Push => CampaignChannel::Push,
        MessageChannel::Viber => CampaignChannel::Viber,
        _ => CampaignChannel::Email,
    };
    let mut read = Message::read(body, shape).content;
    match &mut read {
        Content::Email(email) => {
            let plain = body.optional("body").parsed(String::new(), plain_text);
            email.text = plain.or(email.text.take());
            // A provider's template has its own subject and body; a transactional message has to contain them.
            email.template_id = None;
            // An invalid subject is reported already.
            if is_blank(email.subject.as_ref()) && !body.is_refused("subject") {
                body.refuse("subject", "is required for an email");
            }
            let is_empty = is_blank(email.html.as_ref()) && is_blank(email.text.as_ref());
            if is_empty && !["html", "body", "text"].iter().any(|name| body.is_refused(name)) {
                body.refuse("body", "or html is required for an email");
            }
        }
        Content::Sms(sms) if is_blank(sms.body.as_ref()) && !body.is_refused("body") => {
            body.refuse("body", "is required for sms");
        }
        Content::Push(push) if is_blank(push.body.as_ref()) && !body.is_refused("body") => {
            body.refuse("body", "is required for push");
        }
        _ => {}
    }
    match serde_json::to_value(read) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn is_blank(text: Option<&String>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

fn plain_text(text: &str) -> Result<String, String> {
    if text.len() > template::SOURCE_BYTES_MAX {
        let (most, received) = (template::SOURCE_BYTES_MAX, text.len());
        return Err(format!("must be at most {most} bytes, received {received}"));
    }
    template::check(text).map_err(|fault| format!("is not valid Liquid: {fault}"))?;
    Ok(text.to_owned())
}

/// The rendered content of a preview.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TransactionalAnswer {
    /// Whether it is on its way.
    success: bool,
    /// The message, by which reports and providers name it.
    message_id: MessageId,
    /// `queued`, or `skipped` where it may not be sent.
    status: &'static str,
    /// What it goes out on.
    channel: MessageChannel,
    /// Whether this answers an earlier send under the same key.
    deduplicated: bool,
    /// Why it may not be sent: `hard_bounce`, `complaint`, `manual`, `unsubscribe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

impl TransactionalAnswer {
    fn of(answer: Answer, deduplicated: bool) -> Self {
        let success = answer.refused.is_none();
        Self {
            success,
            message_id: answer.message,
            status: if success { "queued" } else { "skipped" },
            channel: answer.channel,
            deduplicated,
            reason: answer.refused,
        }
    }
}

/// Sends a message to one person at once, whatever the hour: no quiet hours, no caps, no rates. What must
/// never be sent is not sent, and is answered as skipped: addresses that bounced, complained, were
/// suppressed by hand, or opted out.
#[utoipa::path(
    post,
    path = "/campaigns/transactional/send",
    tag = "campaigns",
    request_body = TransactionalRequest,
    responses(
        (status = 200, body = TransactionalAnswer),
        (status = 400, description = "what it lacks: content, an address, a provider for the channel"),
        (status = 404, description = "no such user"),
        (status = 409, description = "the key was used for another send, or is being used now"),
    )
)]
pub(super) async fn send_transactional(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsSend>,
    Body(request): Body<TransactionalRequest, BODY_BYTES_MAX>,
) -> ApiResult<Response> {
    Ok(match transactional::send(&app, caller.workspace(), request).await? {
        Done::Sent(answer) => Json(TransactionalAnswer::of(answer, false)).into_response(),
        Done::Before(answer) => {
            let replayed = [(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"))];
            (replayed, Json(TransactionalAnswer::of(answer, true))).into_response()
        }
        Done::Busy => {
            let busy = Error::Conflict("a send under this idempotencyKey is under way".to_owned());
            ([(RETRY_AFTER, BUSY_RETRY_AFTER)], ApiError(busy)).into_response()
        }
    })
}
