//! What a campaign's message is for one person, rendered and not sent.

use campaigns::model::{
    CampaignChannel, Definition, Edit, Variant, in_app::InAppContent, message::MessageChannel,
};
use kernel::{
    CampaignId, Error, FieldError, MessageId, Result, WorkspaceId, fields::read_object_by,
};
use providers::model::Content;
use serde_json::{Map, Value, json};

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

/// The recipient that the message of a campaign is rendered for which is not saved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnsavedRenderRequest {
    /// The profile: the internal id, or the caller's own.
    pub user: String,
    /// The campaign, in the shape of a new one; its name may be absent.
    pub campaign: Map<String, Value>,
    /// The variant; the first one with content by default.
    pub variant: Option<String>,
    /// The value of `trigger` in templates.
    pub trigger: Option<Map<String, Value>>,
}

/// The name of a campaign that has none yet.
const UNNAMED: &str = "Preview";

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
    let variant = match &request.typed {
        Some(typed) => {
            let read = Some(read(typed, definition.channel)?).filter(has_content(&definition));
            read.ok_or_else(|| Error::invalid("variant", "must have a message"))?
        }
        None => chosen(&definition, request.variant.as_deref())?,
    };
    let RenderRequest { user, trigger, .. } = request;
    render_variant(app, workspace, Rendering { id, definition, variant, user, trigger }).await
}

/// Renders the message of a campaign that is not saved, likewise.
///
/// # Errors
/// Not found for an unknown profile; bad request for invalid fields of the campaign, without content, and for templates
/// that cannot be rendered.
pub async fn render_unsaved(
    app: &DeliveryState,
    workspace: WorkspaceId,
    zone: &str,
    request: UnsavedRenderRequest,
) -> Result<RenderedFor> {
    let UnsavedRenderRequest { user, mut campaign, variant, trigger } = request;
    campaign.entry("name").or_insert_with(|| json!(UNNAMED));
    let definition = Edit::of(campaign).alone(zone).map_err(|error| inside("campaign", error))?;
    let variant = chosen(&definition, variant.as_deref())?;
    let id = CampaignId::new(uuid::Uuid::nil());
    render_variant(app, workspace, Rendering { id, definition, variant, user, trigger }).await
}

/// Whether a variant of a campaign has a message.
fn has_content(definition: &Definition) -> impl Fn(&Variant) -> bool + use<> {
    let is_in_app = definition.channel == CampaignChannel::InApp;
    move |variant| {
        if is_in_app { variant.custom_content.is_some() } else { variant.message.is_some() }
    }
}

fn chosen(definition: &Definition, variant: Option<&str>) -> Result<Variant> {
    Ok(variant_of(definition, variant, has_content(definition))?.clone())
}

/// A message that is to be rendered.
struct Rendering {
    id: CampaignId,
    definition: Definition,
    variant: Variant,
    user: String,
    trigger: Option<Map<String, Value>>,
}

async fn render_variant(
    app: &DeliveryState,
    workspace: WorkspaceId,
    rendering: Rendering,
) -> Result<RenderedFor> {
    let Rendering { id, definition, variant, user, trigger } = rendering;
    let message = variant.message.as_ref();
    let channel = message.map_or(MessageChannel::Push, |message| message.content.channel());
    let user = find_user(app, workspace, &user).await?;
    let recipient = facts_of(app, workspace, user, channel).await?.recipient;
    let context = Context {
        trigger: trigger.map(Value::Object),
        // The reader of a preview must not unsubscribe the profile.
        to: Some(String::new()),
        ..Context::default()
    };
    let signer = app.links().signer(app.clock().now()).await?;
    let person = Person { recipient, context, workspace, signer };
    let variant_id = variant.id.clone();
    if definition.channel == CampaignChannel::InApp {
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
    read.map_err(|faults| inside("variant", Error::Invalid(faults)))
}

/// The faults of an object as those of a field of the request.
fn inside(field: &str, error: Error) -> Error {
    let Error::Invalid(faults) = error else { return error };
    let inside = |fault: FieldError| match fault.path.as_str() {
        "" => FieldError::new(field, fault.problem),
        path => FieldError::new(format!("{field}.{path}"), fault.problem),
    };
    Error::Invalid(faults.into_iter().map(inside).collect())
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
