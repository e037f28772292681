//! What a campaign's message is for one person, rendered and not sent.

use campaigns::model::{
    CampaignChannel, Definition, Variant, in_app::InAppContent, message::MessageChannel,
};
use kernel::{
    CampaignId, Error, FieldError, MessageId, Result, WorkspaceId, fields::read_object_by,
};
use providers::model::Content;
use serde_json::{Map, Value};

use super::{
    check_content, facts_of, find_user,
    test_send::{TestedVariant, content_of, variant_of},
};
use crate::{
    DeliveryState,
    model::{Context, Named, Recipient, message::channel_name},
    render::{Around, InApp, Prepared, WaysOut, globals},
};

/// The recipient that a campaign's message is rendered for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderRequest {
    /// The profile: the internal id, or the caller's own.
    pub user: String,
    /// The variant; the first one with content by default.
    pub variant: Option<String>,
    /// A variant of the campaign that is not saved, rendered in the stead of a saved one.
    pub typed: Option<Map<String, Value>>,
    /// The value of `trigger` in templates.
    pub trigger: Option<Map<String, Value>>,
}

/// A message as it was rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedFor {
    pub channel: &'static str,
    pub variant_id: String,
    /// Its content, in the shape of its channel.
    pub message: Value,
}

/// The profile a message is rendered for, and its links.
struct Person {
    recipient: Recipient,
    context: Context,
    workspace: WorkspaceId,
    signer: web::links::Signer,
}

impl Person {
    fn around(&self) -> Around<'_> {
        let now = self.signer.now();
        Around {
            workspace: self.workspace,
            message: MessageId::mint(now),
            now,
            signer: &self.signer,
            context: &self.context,
        }
    }
}

/// Renders a campaign's message for a profile: of pending edits where there are some, in any status. Nothing is stored,
/// and links to unsubscribe change nothing.
///
/// # Errors
/// Not found for an unknown campaign or profile; bad request for an invalid variant, without content, and for templates
/// that cannot be rendered.
pub async fn render(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
    request: RenderRequest,
) -> Result<RenderedFor> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = campaign.pending_draft.map_or(campaign.definition, |it| it.definition);
    let is_in_app = definition.channel == CampaignChannel::InApp;
    let has_content = |variant: &Variant| {
        if is_in_app { variant.custom_content.is_some() } else { variant.message.is_some() }
    };
    let variant = match &request.typed {
        Some(typed) => Some(read(typed, definition.channel)?).filter(has_content),
        None => Some(variant_of(&definition, request.variant.as_deref(), has_content)?.clone()),
    };
    let variant = variant.ok_or_else(|| Error::invalid("variant", "must have a message"))?;
    let message = variant.message.as_ref();
    let channel = message.map_or(MessageChannel::Push, |message| message.content.channel());
    let user = find_user(app, workspace, &request.user).await?;
    let recipient = facts_of(app, workspace, user, channel).await?.recipient;
    let context = Context {
        trigger: request.trigger.map(Value::Object),
        // The reader of a preview must not unsubscribe the profile.
        to: Some(String::new()),
        ..Context::default()
    };
    let signer = app.links().signer(app.clock().now()).await?;
    let person = Person { recipient, context, workspace, signer };
    let variant_id = variant.id.clone();
    if is_in_app {
        let message = in_app(id, definition, variant, person).await?;
        return Ok(RenderedFor { channel: "in_app", variant_id, message });
    }
    let tested = TestedVariant { id, definition: &definition, variant: &variant, channel };
    let content = check_content(content_of(app, workspace, tested).await?).await?;
    let rendered = tokio::task::spawn_blocking(move || {
        Prepared::of_stored(&content)?.render(&person.recipient, &person.around())
    });
    let rendered = rendered.await.map_err(Error::internal)?;
    let rendered = rendered.map_err(|fault| Error::bad_request(format!("message.{fault}")))?;
    let mut message = written(&rendered.content)?;
    if let (Content::Webhook(_), Some(fields)) = (&rendered.content, message.as_object_mut()) {
        // They may hold credentials.
        fields.remove("headers");
    }
    Ok(RenderedFor { channel: channel_name(channel), variant_id, message })
}

/// Reads a variant as that of a campaign on this channel.
fn read(typed: &Map<String, Value>, channel: CampaignChannel) -> Result<Variant> {
    let read = read_object_by(typed, |fields| Variant::read(fields, channel));
    read.map_err(|faults| {
        let inside = |fault: FieldError| match fault.path.as_str() {
            "" => FieldError::new("variant", fault.problem),
            path => FieldError::new(format!("variant.{path}"), fault.problem),
        };
        Error::Invalid(faults.into_iter().map(inside).collect())
    })
}

async fn in_app(
    id: CampaignId,
    definition: Definition,
    variant: Variant,
    person: Person,
) -> Result<Value> {
    let content: InAppContent = variant.custom_content.unwrap_or_default();
    let named = Named { id, name: definition.name };
    let list = definition.subscription_category_id;
    let rendered = tokio::task::spawn_blocking(move || {
        let around = person.around();
        let outs = WaysOut::of(&person.recipient, &around, list, MessageChannel::Push);
        let globals = globals(&person.recipient, &around, Some(&named), &outs);
        InApp::read(&content)?.render(&globals, around.message)
    });
    let rendered = rendered.await.map_err(Error::internal)?;
    written(&rendered.map_err(|fault| Error::bad_request(fault.to_string()))?)
}

fn written<T: serde::Serialize>(content: &T) -> Result<Value> {
    Ok(serde_json::to_value(content).map_err(anyhow::Error::from)?)
}
