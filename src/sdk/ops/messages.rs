//! The in-app messages of one person: of live campaigns that target them, suit their app and were not
//! displayed too often. A message that is sent for the first time is recorded as sent.

use std::{collections::HashMap, sync::Arc};

use audience::{
    model::{Person, Targeting},
    ops::includes,
};
use campaigns::model::{in_app::InAppContent, settings::channel_config::ChannelConfig};
use contacts::users::{self, model::User};
use delivery::{
    model::{Context, Named, Recipient, message::message_id, plan::Draw},
    ops::{
        in_app_tests::{self, InAppTest},
        lifecycle::{self, LifecycleEvent, MessageIdentity},
    },
    render::{Around, RenderFault, WaysOut, globals},
};
use ingest::record::MessageKind;
use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use serde_json::{Map, Value};
use uuid::Uuid;
use web::links::{Link, Preferences, Signer};

use super::live::Ready;
use crate::{
    SdkState,
    model::{self, DisplayHistory},
    store::recipients::{self, KnownRecipient, RecipientStatus},
};

/// Messages in one answer, those with the highest priority.
pub(super) const MESSAGES_MAX: usize = 20;
/// The channel in message events.
pub(super) const CHANNEL: &str = "in_app";
/// In-app campaigns have a single occurrence.
const OCCURRENCE: i32 = 0;

/// A message for an app to display.
#[derive(Debug, Clone)]
pub(crate) struct DisplayableMessage {
    pub(crate) id: MessageId,
    pub(crate) campaign: CampaignId,
    pub(crate) variant: String,
    pub(crate) is_test: bool,
    pub(crate) config: ChannelConfig,
    pub(crate) content: InAppContent,
    pub(crate) shown: DisplayHistory,
}

pub(super) fn id_of(campaign: CampaignId, user: UserId) -> MessageId {
    message_id(campaign, OCCURRENCE, &user)
}

/// The messages an app may display to a person now: tests first, then by priority.
///
/// # Errors
/// If a store is unavailable, or a targeting cannot be evaluated.
pub(crate) async fn messages(
    app: &SdkState,
    workspace: WorkspaceId,
    user: UserId,
    requesting_app: &model::App,
) -> Result<Vec<DisplayableMessage>> {
    let now = app.clock().now();
    let profile = users::ops::by_id(app.db(), workspace, user).await?;
    let tests = in_app_tests::waiting(app.db(), workspace, now, user).await?;
    let assigned = assign(app, workspace, &profile, requesting_app).await?;
    let render_for = RenderFor::Person(Box::new(profile));
    let rendered = render(app, workspace, user, render_for, assigned).await?;
    record(app, workspace, user, &rendered).await?;
    let messages = rendered.into_iter().filter_map(|it| it.into_message(user));
    Ok(tests.into_iter().map(of_test).chain(messages).take(MESSAGES_MAX).collect())
}

fn of_test(test: InAppTest) -> DisplayableMessage {
    DisplayableMessage {
        id: test.id,
        campaign: test.campaign,
        variant: test.variant,
        is_test: true,
        config: ChannelConfig::default(),
        content: test.content,
        shown: DisplayHistory::default(),
    }
}

/// A campaign that targets the person, and the variant drawn for them.
pub(super) struct AssignedCampaign {
    pub(super) ready: Arc<Ready>,
    pub(super) variant: String,
    pub(super) is_control: bool,
    pub(super) known: Option<KnownRecipient>,
}

/// Finds the campaigns that target a person and suit the app, and draws their variants.
async fn assign(
    app: &SdkState,
    workspace: WorkspaceId,
    profile: &User,
    requesting_app: &model::App,
) -> Result<Vec<AssignedCampaign>> {
    let now = app.clock().now();
    let live = app.in_app().of(app, workspace).await?;
    let suitable = suitable(&live, requesting_app, now);
    if suitable.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = suitable.iter().map(|it| it.campaign.id.uuid()).collect();
    let mut known = recipients::of_user(app.db(), workspace, profile.id, &ids).await?;
    let displayable = displayable(suitable, &known, now);
    let targetings: Vec<Option<&Targeting>> =
        displayable.iter().map(|it| it.campaign.definition.targeting.as_ref()).collect();
    let person = Person { user: profile.id, external_id: profile.external_id.clone() };
    let verdicts = includes(app, workspace, &person, &targetings).await?;
    let mut assigned = Vec::new();
    let mut shown = 0;
    for (ready, is_targeted) in displayable.into_iter().zip(verdicts) {
        let known = known.remove(&ready.campaign.id);
        let drawn = if is_targeted { draw(&ready, profile.id, known.as_ref(), now) } else { None };
        if let Some((variant, is_control)) = drawn
            && (is_control || shown < MESSAGES_MAX)
        {
            shown += usize::from(!is_control);
            assigned.push(AssignedCampaign { ready, variant, is_control, known });
        }
    }
    Ok(assigned)
}

/// The live campaigns that suit the app and the time.
pub(super) fn suitable(
    live: &[Arc<Ready>],
    requesting_app: &model::App,
    now: Timestamp,
) -> Vec<Arc<Ready>> {
    live.iter().filter(|it| model::suits(&it.config(), requesting_app, now)).cloned().collect()
}

/// The campaigns whose display frequency admits another display.
fn displayable(
    suitable: Vec<Arc<Ready>>,
    known: &HashMap<CampaignId, KnownRecipient>,
    now: Timestamp,
) -> Vec<Arc<Ready>> {
    let mut displayable = suitable;
    displayable.retain(|it| {
        let shown = known.get(&it.campaign.id).map(|known| known.shown).unwrap_or_default();
        model::may_display(it.config().display_frequency.as_ref(), shown, now)
    });
    displayable
}

/// The variant of a person, and whether it is the control group; none if there is nothing to display.
pub(super) fn draw(
    ready: &Ready,
    user: UserId,
    known: Option<&KnownRecipient>,
    now: Timestamp,
) -> Option<(String, bool)> {
    let previous =
        known.filter(|it| it.status == RecipientStatus::Sent).map(|it| it.variant.as_str());
    // A variant drawn by the learning optimiser stays: a message must not change between two displays.
    if let Some(previous) = previous.filter(|_| ready.campaign.state.rl.is_some())
        && ready.plan.variant(previous).is_some_and(|variant| !variant.is_control())
    {
        return Some((previous.to_owned(), false));
    }
    match ready.plan.draw(user, previous, now)? {
        Draw::Variant(variant) => Some((variant.id.clone(), false)),
        Draw::Control(variant) => Some((variant.id.clone(), true)),
        Draw::Wait(_) | Draw::Skip(_) => None,
    }
}

/// A rendered message, or the reason there is none.
pub(super) struct Rendered {
    assigned: AssignedCampaign,
    /// None for the control group.
    content: Option<Result<InAppContent, RenderFault>>,
}

impl Rendered {
    fn status(&self) -> RecipientStatus {
        match &self.content {
            None => RecipientStatus::Control,
            Some(Ok(_)) => RecipientStatus::Sent,
            Some(Err(_)) => RecipientStatus::Failed,
        }
    }

    pub(super) fn into_message(self, user: UserId) -> Option<DisplayableMessage> {
        let AssignedCampaign { ready, variant, known, .. } = self.assigned;
        Some(DisplayableMessage {
            id: id_of(ready.campaign.id, user),
            campaign: ready.campaign.id,
            variant,
            is_test: false,
            config: ready.config(),
            content: self.content?.ok()?,
            shown: known.map(|known| known.shown).unwrap_or_default(),
        })
    }
}

/// Whose attributes and links a message is rendered with.
#[derive(Debug)]
pub(super) enum RenderFor {
    Person(Box<User>),
    Everyone,
}

/// Renders on a blocking thread. A variant without content is left out.
pub(super) async fn render(
    app: &SdkState,
    workspace: WorkspaceId,
    user: UserId,
    render_for: RenderFor,
    assigned: Vec<AssignedCampaign>,
) -> Result<Vec<Rendered>> {
    if assigned.is_empty() {
        return Ok(Vec::new());
    }
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let rendered = tokio::task::spawn_blocking(move || {
        let (recipient, preferences) = match render_for {
            RenderFor::Person(profile) => {
                let link = Link::Preferences(Preferences { workspace, user });
                (recipient(*profile)?, Signer::url(&signer, &link))
            }
            RenderFor::Everyone => (Recipient::default(), String::new()),
        };
        let rendered = assigned.into_iter().filter_map(|assigned| {
            if assigned.is_control {
                return Some(Rendered { assigned, content: None });
            }
            let content = assigned.ready.content(&assigned.variant)?;
            let content = match content {
                Ok(ready) => {
                    let message = id_of(assigned.ready.campaign.id, user);
                    let campaign = &assigned.ready.campaign;
                    let named = Named { id: campaign.id, name: campaign.definition.name.clone() };
                    let outs = WaysOut {
                        // In-app messages have no unsubscribe link.
                        unsubscribe: String::new(),
                        preferences: preferences.clone(),
                    };
                    let context = Context::default();
                    let around =
                        Around { workspace, message, now, signer: &signer, context: &context };
                    ready.render(&globals(&recipient, &around, Some(&named), &outs), message)
                }
                Err(fault) => Err(fault.clone()),
            };
            Some(Rendered { assigned, content: Some(content) })
        });
        Ok(rendered.collect())
    });
    rendered.await.map_err(anyhow::Error::from)?
}

fn recipient(profile: User) -> Result<Recipient> {
    let attributes: Map<String, Value> =
        serde_json::from_str(profile.attributes.get()).map_err(anyhow::Error::from)?;
    let timezone = attributes.get("timezone").and_then(Value::as_str).map(str::to_owned);
    Ok(Recipient {
        user: Some(profile.id),
        external_id: profile.external_id,
        email: profile.email,
        phone: profile.phone,
        attributes,
        timezone,
    })
}

/// Appends message events for new messages, then stores their status. In this order a failure leads to a
/// repeated event, not to a missing one.
pub(super) async fn record(
    app: &SdkState,
    workspace: WorkspaceId,
    user: UserId,
    rendered: &[Rendered],
) -> Result<()> {
    let changed: Vec<&Rendered> = rendered
        .iter()
        .filter(|it| {
            let known = it.assigned.known.as_ref();
            known.is_none_or(|known| {
                known.status != it.status() || known.variant != it.assigned.variant
            })
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let now = app.clock().now();
    let events: Vec<LifecycleEvent> =
        changed.iter().flat_map(|it| lifecycle_events(it, workspace, user)).collect();
    lifecycle::publish(app, &events, now).await?;
    let lines: Vec<recipients::Recipient> = changed
        .iter()
        .map(|it| recipients::Recipient {
            campaign: it.assigned.ready.campaign.id,
            message: id_of(it.assigned.ready.campaign.id, user),
            variant: it.assigned.variant.clone(),
            status: it.status(),
        })
        .collect();
    recipients::put(app.db(), workspace, now, user, &lines).await
}

fn lifecycle_events(
    rendered: &Rendered,
    workspace: WorkspaceId,
    user: UserId,
) -> impl Iterator<Item = LifecycleEvent> {
    let campaign = rendered.assigned.ready.campaign.id;
    let message = MessageIdentity {
        workspace,
        campaign: Some(campaign),
        message: id_of(campaign, user),
        occurrence: 0,
        user: Some(user),
        variant: Some(rendered.assigned.variant.clone()),
        channel: CHANNEL.into(),
        is_test: false,
    };
    let kinds: &[MessageKind] = match rendered.status() {
        RecipientStatus::Sent => &[MessageKind::Queued, MessageKind::Sent],
        RecipientStatus::Control => &[MessageKind::Control],
        RecipientStatus::Failed => &[MessageKind::Queued, MessageKind::Failed],
    };
    let fault = rendered.content.as_ref().and_then(|content| content.as_ref().err());
    kinds.iter().map(move |kind| {
        let event = LifecycleEvent::new(message.clone(), *kind);
        match fault {
            Some(fault) if *kind == MessageKind::Failed => {
                event.because(RenderFault::CODE, &fault.reason)
            }
            _ => event,
        }
    })
}
