//! Tests of a campaign: one message to one person, to look at, whatever the campaign's state. Nothing
//! about the audience is asked, nor what somebody agreed to; an address that does not exist stays one.

use campaigns::model::{
    CampaignChannel, Definition, Variant, in_app::InAppContent, message::MessageChannel,
};
use contacts::{audience::model::SubscriptionPreference, lists};
use kernel::{
    CampaignId, EmailAddress, Error, MessageId, PhoneNumber, Result, UserId, WorkspaceId,
};
use providers::model::Content;
use serde_json::{Map, Value};
use web::links::Signer;

use super::{facts_of, find_user, is_about_the_address, must_have_provider, readable, reason_of};
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

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// Whose profile it is rendered for, and goes to unless `to` says otherwise.
    pub user: Option<String>,
    /// The address it goes to.
    pub to: Option<String>,
    /// Which variant; the first that says something where absent.
    pub variant: Option<String>,
    /// What templates see as `trigger`.
    pub trigger: Option<Map<String, Value>>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested<C> {
    pub message: MessageId,
    pub to: String,
    pub preview: C,
    /// Why it is not sent.
    pub refused: Option<String>,
}

/// A test under preparation.
struct Draft {
    user: Option<UserId>,
    facts: Facts,
    said: StoredContent,
    message: MessageId,
}

/// Sends a test on one channel.
///
/// # Errors
/// Not found for a campaign or a user that is not there; bad request for a variant or an address that is
/// none, a campaign of another channel, a channel without a provider, templates that cannot be rendered.
pub async fn send(
    app: &DeliveryState,
    workspace: WorkspaceId,
    (id, channel): (CampaignId, MessageChannel),
    wish: Wish,
) -> Result<Tested<Content>> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = campaign.pending_draft.map_or(campaign.definition, |it| it.definition);
    let said = said(app, workspace, (id, &definition, channel), &wish).await?;
    must_have_provider(app, channel).await?;
    let said = readable(said).await?;
    let (user, facts) = recipient(app, workspace, channel, &wish).await?;
    let now = app.clock().now();
    let draft = Draft { user, facts, said, message: MessageId::mint(now) };
    let context = Context {
        trigger: wish.trigger.map(Value::Object),
        to: wish.to,
        content: Some(Box::new(draft.said.clone())),
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
    let mut preview =
        preview(workspace, draft.facts.recipient.clone(), (draft.message, &context), signer)
            .await?;
    sender_domain::refuse_unknown(app, workspace, &mut preview).await?;
    let refused = skip.as_ref().map(|skip| reason_of(skip).to_owned());
    keep(app, workspace, (&draft, context), skip).await?;
    Ok(Tested { message: draft.message, to, preview, refused })
}

async fn keep(
    app: &DeliveryState,
    workspace: WorkspaceId,
    (draft, context): (&Draft, Context),
    skip: Option<Skip>,
) -> Result<()> {
    let now = app.clock().now();
    let message = NewMessage {
        id: draft.message,
        purpose: Purpose::Test,
        // Messages of campaigns wait for their campaign's turn, and it may have none.
        campaign: None,
        occurrence: 0,
        user: draft.user,
        channel: draft.said.channel,
        variant: draft.said.variant.clone(),
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

/// The variant that is meant.
fn variant<'d>(
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

/// What a test says: a variant as it is now.
async fn said(
    app: &DeliveryState,
    workspace: WorkspaceId,
    (id, definition, channel): (CampaignId, &Definition, MessageChannel),
    wish: &Wish,
) -> Result<StoredContent> {
    let of_channel = |variant: &Variant| {
        variant.message.as_ref().is_some_and(|message| message.content.channel() == channel)
    };
    let variant = variant(definition, wish.variant.as_deref(), of_channel)?;
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

/// Whom a test is for, and what is known of them.
async fn recipient(
    app: &DeliveryState,
    workspace: WorkspaceId,
    channel: MessageChannel,
    wish: &Wish,
) -> Result<(Option<UserId>, Facts)> {
    let (user, mut facts) = match &wish.user {
        Some(text) => {
            let user = find_user(app, workspace, text).await?;
            (Some(user), facts_of(app, workspace, (user, channel)).await?)
        }
        None => (None, Facts::default()),
    };
    let Some(to) = &wish.to else { return Ok((user, facts)) };
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

/// What the message will say.
async fn preview(
    workspace: WorkspaceId,
    recipient: Recipient,
    (message, context): (MessageId, &Context),
    signer: Signer,
) -> Result<Content> {
    let (context, now) = (context.clone(), signer.now());
    let rendered = tokio::task::spawn_blocking(move || {
        let around = Around { workspace, message, now, signer: &signer, context: &context };
        let said = context.content.as_deref();
        said.map(|said| Prepared::of_stored(said)?.render(&recipient, &around)).transpose()
    });
    let rendered = rendered.await.map_err(Error::internal)?;
    let rendered = rendered.map_err(|fault| Error::bad_request(format!("message.{fault}")))?;
    let rendered = rendered.ok_or_else(|| Error::internal("a test says nothing"))?;
    Ok(rendered.content)
}

/// Puts a test into the app of somebody.
///
/// # Errors
/// As [`send`].
pub async fn show(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
    wish: Wish,
) -> Result<Tested<InAppContent>> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = campaign.pending_draft.map_or(campaign.definition, |it| it.definition);
    if definition.channel != CampaignChannel::InApp {
        return Err(Error::bad_request("the campaign has no message of this channel"));
    }
    let shows = |variant: &Variant| variant.custom_content.is_some();
    let variant = variant(&definition, wish.variant.as_deref(), shows)?;
    let content = variant.custom_content.clone().unwrap_or_default();
    let text = wish.user.as_deref();
    let text = text.ok_or_else(|| Error::invalid("userId", "is required"))?;
    let user = find_user(app, workspace, text).await?;
    let facts = facts_of(app, workspace, (user, MessageChannel::Push)).await?;
    let to = facts.recipient.external_id.clone().unwrap_or_else(|| user.to_string());
    let now = app.clock().now();
    let message = MessageId::mint(now);
    let named = Named { id, name: definition.name.clone() };
    let signer = app.links().signer(now).await?;
    let context = Context { trigger: wish.trigger.map(Value::Object), ..Context::default() };
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
