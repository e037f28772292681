//! Tests of a campaign: one message to one recipient, in any state of the campaign. Neither the audience nor consent is
//! checked; suppressed addresses still get nothing.

use audience::model::SubscriptionPreference;
use campaigns::model::{
    CampaignChannel, Definition, Variant, in_app::InAppContent, message::MessageChannel,
};
use contacts::lists;
use kernel::{
    CampaignId, EmailAddress, Error, MessageId, PhoneNumber, Result, UserId, WorkspaceId,
};
use providers::model::Content;
use serde_json::{Map, Value};
use web::links::Signer;

use super::{
    check_content, facts_of, find_user, is_about_the_address, must_have_provider, reason_of,
};
use crate::{
    DeliveryState,
    model::{
        Context, Named, Recipient, StoredContent,
        eligibility::{self, Facts, Rules},
        message::{NewMessage, Purpose, Start},
        skip::Skip,
    },
    ops::{lifecycle, send::sender_domain},
    render::{Around, InApp, Prepared, WaysOut, globals},
    store::{
        in_app::{self, InAppTest},
        messages, recipients,
    },
};

/// A test of a campaign.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestSendRequest {
    /// The profile it is rendered for, and sent to without `to`.
    pub user: Option<String>,
    /// The address it is sent to.
    pub to: Option<String>,
    /// The variant; the first one with content by default.
    pub variant: Option<String>,
    /// The value of `trigger` in templates.
    pub trigger: Option<Map<String, Value>>,
}

/// The outcome of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested<C> {
    pub message: MessageId,
    pub to: String,
    pub preview: C,
    /// The reason why it is not sent.
    pub refused: Option<String>,
}

/// A test under preparation.
struct Draft {
    user: Option<UserId>,
    facts: Facts,
    content: StoredContent,
    message: MessageId,
}

/// Sends a test on one channel.
///
/// # Errors
/// Not found for an unknown campaign or profile; bad request for an invalid variant or address, a campaign of another
/// channel, a channel without a provider, templates that cannot be rendered.
pub async fn send(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
    channel: MessageChannel,
    request: TestSendRequest,
) -> Result<Tested<Content>> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = campaign.pending_draft.map_or(campaign.definition, |it| it.definition);
    let variant = variant_of(&definition, request.variant.as_deref(), has_channel(channel))?;
    let content =
        content_of(app, workspace, TestedVariant { id, definition: &definition, variant, channel })
            .await?;
    send_content(app, workspace, content, request).await
}

/// Sends this content as a test.
///
/// # Errors
/// Not found for an unknown profile; bad request for an invalid address, a channel without a provider, templates that
/// cannot be rendered.
pub(super) async fn send_content(
    app: &DeliveryState,
    workspace: WorkspaceId,
    content: StoredContent,
    request: TestSendRequest,
) -> Result<Tested<Content>> {
    let channel = content.channel;
    must_have_provider(app, channel).await?;
    let content = check_content(content).await?;
    let (user, facts) = recipient(app, workspace, channel, &request).await?;
    let now = app.clock().now();
    let draft = Draft { user, facts, content, message: MessageId::mint(now) };
    let context = Context {
        trigger: request.trigger.map(Value::Object),
        to: request.to,
        content: Some(Box::new(draft.content.clone())),
        ..Context::default()
    };
    let rules = Rules {
        purpose: Purpose::Test,
        channel,
        preference: SubscriptionPreference::All,
        bypass_unsubscribe: true,
    };
    let (to, skip) = match eligibility::admit(&draft.facts, rules) {
        Ok(to) => (to, None),
        Err(skip) if is_about_the_address(&skip, channel) => {
            let problem = format!("cannot be reached: {}", skip.detail);
            return Err(Error::invalid("userId", problem));
        }
        Err(skip) => (address_of(&draft.facts.recipient, channel), Some(skip)),
    };
    let signer = app.links().signer(now).await?;
    let mut preview = preview(workspace, &draft, &context, signer).await?;
    sender_domain::refuse_unknown(app, workspace, &mut preview).await?;
    let refused = skip.as_ref().map(|skip| reason_of(skip).to_owned());
    store(app, workspace, &draft, context, skip).await?;
    Ok(Tested { message: draft.message, to, preview, refused })
}

/// Publishes and stores the message of a test.
async fn store(
    app: &DeliveryState,
    workspace: WorkspaceId,
    draft: &Draft,
    context: Context,
    skip: Option<Skip>,
) -> Result<()> {
    let now = app.clock().now();
    let message = NewMessage {
        id: draft.message,
        purpose: Purpose::Test,
        // The queue of a campaign may be halted.
        campaign: None,
        occurrence: 0,
        user: draft.user,
        channel: draft.content.channel,
        variant: draft.content.variant.clone(),
        context: Some(serde_json::to_value(context).map_err(anyhow::Error::from)?),
        start: match skip {
            None => Start::Queued { due: now, expires: None },
            Some(skip) => Start::Skipped(skip),
        },
    };
    lifecycle::publish(app, &lifecycle::of_new(workspace, &message), now).await?;
    let mut connection = app.db().acquire().await?;
    messages::insert(&mut connection, workspace, &[message], now).await?;
    app.due_signal().notify();
    Ok(())
}

/// The variant of a test: the one of the request, or the first that fits.
pub(super) fn variant_of<'d>(
    definition: &'d Definition,
    wanted: Option<&str>,
    fits: impl Fn(&Variant) -> bool,
) -> Result<&'d Variant> {
    let named = |id: &str| definition.variants.iter().find(|variant| variant.id == id);
    let found = match wanted {
        Some(id) => {
            let found = named(id);
            let found = found.ok_or_else(|| {
                Error::invalid("variantId", "must be the id of a variant of the campaign")
            })?;
            if found.is_control() {
                return Err(Error::invalid("variantId", "must not be the control group's"));
            }
            Some(found).filter(|variant| fits(variant))
        }
        None => definition.variants.iter().find(|variant| !variant.is_control() && fits(variant)),
    };
    found.ok_or_else(|| Error::bad_request("the campaign has no message of this channel"))
}

pub(super) fn has_channel(channel: MessageChannel) -> impl Fn(&Variant) -> bool {
    move |variant| {
        variant.message.as_ref().is_some_and(|message| message.content.channel() == channel)
    }
}

/// A variant of a campaign that is tested on a channel.
pub(super) struct TestedVariant<'d> {
    pub(super) id: CampaignId,
    pub(super) definition: &'d Definition,
    pub(super) variant: &'d Variant,
    pub(super) channel: MessageChannel,
}

/// The content of a test: the variant as it is now.
pub(super) async fn content_of(
    app: &DeliveryState,
    workspace: WorkspaceId,
    tested: TestedVariant<'_>,
) -> Result<StoredContent> {
    let TestedVariant { id, definition, variant, channel } = tested;
    let message = variant.message.as_ref().map(|message| &message.content);
    let list = definition.subscription_category_id;
    let is_marketing = match list {
        None => true,
        Some(list) => match lists::ops::get(app, workspace, list).await {
            Ok(list) => list.kind != lists::model::ListKind::Transactional,
            Err(Error::NotFound(_)) => true,
            Err(error) => return Err(error),
        },
    };
    Ok(StoredContent {
        channel,
        message: serde_json::to_value(message).map_err(anyhow::Error::from)?,
        config: definition.channel_config.clone(),
        utm: definition.utm_settings.clone(),
        campaign: Some(Named { id, name: definition.name.clone() }),
        variant: Some(variant.id.clone()),
        list,
        is_marketing,
    })
}

/// The recipient of a test, and the facts about them.
async fn recipient(
    app: &DeliveryState,
    workspace: WorkspaceId,
    channel: MessageChannel,
    request: &TestSendRequest,
) -> Result<(Option<UserId>, Facts)> {
    let (user, mut facts) = match &request.user {
        Some(text) => {
            let user = find_user(app, workspace, text).await?;
            (Some(user), facts_of(app, workspace, user, channel).await?)
        }
        None => (None, Facts::default()),
    };
    let Some(to) = &request.to else { return Ok((user, facts)) };
    let wrong = |problem: String| Error::invalid("to", problem);
    let identifier = match channel {
        MessageChannel::Email => {
            let address = to.parse::<EmailAddress>().map_err(|it| wrong(it.to_string()))?;
            facts.recipient.email = Some(to.clone());
            address.into_string()
        }
        MessageChannel::Push | MessageChannel::Webhook => {
            facts.recipient.external_id = Some(to.clone());
            to.clone()
        }
        MessageChannel::Sms | MessageChannel::Whatsapp | MessageChannel::Viber => {
            let number = to.parse::<PhoneNumber>().map_err(|it| wrong(it.to_string()))?;
            let country = app.country(workspace).await?;
            let number = number.in_country(country).into_string();
            // Eligibility reads it again when it is sent, by no country.
            facts.recipient.phone = Some(country.map_or_else(|| to.clone(), |_| number.clone()));
            facts.phone_normal = Some(number.clone());
            number
        }
    };
    (facts.is_invalid, facts.devices) = (false, Vec::new());
    let mut connection = app.db().acquire().await?;
    facts.suppressed =
        recipients::suppressed(&mut connection, workspace, channel, &identifier).await?;
    Ok((user, facts))
}

fn address_of(recipient: &Recipient, channel: MessageChannel) -> String {
    let address = match channel {
        MessageChannel::Email => &recipient.email,
        MessageChannel::Push | MessageChannel::Webhook => &recipient.external_id,
        MessageChannel::Sms | MessageChannel::Whatsapp | MessageChannel::Viber => &recipient.phone,
    };
    address.clone().unwrap_or_default()
}

/// Renders a test for its recipient.
async fn preview(
    workspace: WorkspaceId,
    draft: &Draft,
    context: &Context,
    signer: Signer,
) -> Result<Content> {
    let (recipient, message) = (draft.facts.recipient.clone(), draft.message);
    let (context, now) = (context.clone(), signer.now());
    let rendered = tokio::task::spawn_blocking(move || {
        let around = Around { workspace, message, now, signer: &signer, context: &context };
        let content = context.content.as_deref();
        content.map(|content| Prepared::of_stored(content)?.render(&recipient, &around)).transpose()
    });
    let rendered = rendered.await.map_err(Error::internal)?;
    let rendered = rendered.map_err(|fault| Error::bad_request(format!("message.{fault}")))?;
    let rendered = rendered.ok_or_else(|| Error::internal("a test without content"))?;
    Ok(rendered.content)
}

/// Shows a test in the app of a profile.
///
/// # Errors
/// As [`send`].
pub async fn show(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
    request: TestSendRequest,
) -> Result<Tested<InAppContent>> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = campaign.pending_draft.map_or(campaign.definition, |it| it.definition);
    if definition.channel != CampaignChannel::InApp {
        return Err(Error::bad_request("the campaign has no message of this channel"));
    }
    let has_content = |variant: &Variant| variant.custom_content.is_some();
    let variant = variant_of(&definition, request.variant.as_deref(), has_content)?;
    let content = variant.custom_content.clone().unwrap_or_default();
    let text = request.user.as_deref();
    let text = text.ok_or_else(|| Error::invalid("userId", "is required"))?;
    let user = find_user(app, workspace, text).await?;
    let facts = facts_of(app, workspace, user, MessageChannel::Push).await?;
    let to = facts.recipient.external_id.clone().unwrap_or_else(|| user.to_string());
    let now = app.clock().now();
    let message = MessageId::mint(now);
    let named = Named { id, name: definition.name.clone() };
    let signer = app.links().signer(now).await?;
    let context = Context { trigger: request.trigger.map(Value::Object), ..Context::default() };
    let list = definition.subscription_category_id;
    let rendered = tokio::task::spawn_blocking(move || {
        let around = Around { workspace, message, now, signer: &signer, context: &context };
        let outs = WaysOut::of(&facts.recipient, &around, list, MessageChannel::Push);
        let globals = globals(&facts.recipient, &around, Some(&named), &outs);
        InApp::read(&content)?.render(&globals, message)
    });
    let rendered = rendered.await.map_err(Error::internal)?;
    let preview = rendered.map_err(|fault| Error::bad_request(fault.to_string()))?;
    let test = InAppTest {
        id: message,
        user,
        campaign: id,
        variant: variant.id.clone(),
        content: preview.clone(),
    };
    let mut connection = app.db().acquire().await?;
    in_app::put_test(&mut connection, workspace, now, &test).await?;
    Ok(Tested { message, to, preview, refused: None })
}
