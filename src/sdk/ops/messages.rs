//! The in-app messages of one person: those of the live campaigns that mean them, suit their app and were
//! not seen too often. What is handed over for the first time is told of, as sent.

use std::{collections::HashMap, sync::Arc};

use campaigns::model::{in_app::InAppContent, settings::channel_config::ChannelConfig};
use contacts::{
    audience::{
        model::{Person, Targeting},
        ops::includes,
    },
    users::{self, model::User},
};
use delivery::{
    model::{Context, Named, Recipient, message::message_id, plan::Draw},
    render::{Around, RenderFault, WaysOut, globals},
    store::in_app::{InAppTest, tests_of},
};
use ingest::record::{MessageEvent, MessageKind};
use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use serde_json::{Map, Value};
use uuid::Uuid;
use web::{
    links::{Link, Preferences, Signer},
    spool::append_failed,
};

use super::live::Ready;
use crate::{
    SdkState,
    model::{self, Shown},
    store::recipients::{self, Known, Standing},
};

/// Messages in one answer; those of the greatest priority.
pub(super) const MESSAGES_MAX: usize = 20;
/// The channel in message events.
pub(super) const CHANNEL: &str = "in_app";
/// In-app campaigns go out once, and stay.
const OCCURRENCE: i32 = 0;

/// A message for an app to show.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    pub(crate) id: MessageId,
    pub(crate) campaign: CampaignId,
    pub(crate) variant: String,
    pub(crate) is_test: bool,
    pub(crate) config: ChannelConfig,
    pub(crate) content: InAppContent,
    pub(crate) shown: Shown,
}

/// The id of a campaign's in-app message to a person.
pub(super) fn id_of(campaign: CampaignId, user: UserId) -> MessageId {
    message_id(campaign, OCCURRENCE, &user)
}

/// What an app may show a person now, what goes first at first: tests, then by priority.
///
/// # Errors
/// When a store is away, or a targeting cannot be answered.
pub(crate) async fn messages(
    app: &SdkState,
    workspace: WorkspaceId,
    user: UserId,
    asking: &model::App,
) -> Result<Vec<Offered>> {
    let now = app.clock().now();
    let profile = users::ops::by_id(app.db(), workspace, user).await?;
    let tests = tests_of(app.db(), workspace, now, user).await?;
    let placed = place(app, workspace, &profile, asking).await?;
    let shown_to = ShownTo::Person(Box::new(profile));
    let rendered = render(app, workspace, (user, shown_to), placed).await?;
    keep(app, workspace, user, &rendered).await?;
    let messages = rendered.into_iter().filter_map(|it| it.into_offered(user));
    Ok(tests.into_iter().map(of_test).chain(messages).take(MESSAGES_MAX).collect())
}

fn of_test(test: InAppTest) -> Offered {
    Offered {
        id: test.id,
        campaign: test.campaign,
        variant: test.variant,
        is_test: true,
        config: ChannelConfig::default(),
        content: test.content,
        shown: Shown::default(),
    }
}

/// A campaign that means the person, and their part in it.
pub(super) struct Placed {
    pub(super) ready: Arc<Ready>,
    pub(super) variant: String,
    pub(super) is_control: bool,
    pub(super) known: Option<Known>,
}

/// Finds the campaigns that mean a person and suit the app, and draws their variants.
async fn place(
    app: &SdkState,
    workspace: WorkspaceId,
    profile: &User,
    asking: &model::App,
) -> Result<Vec<Placed>> {
    let now = app.clock().now();
    let live = app.in_app().of(app, workspace).await?;
    let suited = suited(&live, asking, now);
    if suited.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = suited.iter().map(|it| it.campaign.id.uuid()).collect();
    let mut known = recipients::of_user(app.db(), workspace, profile.id, &ids).await?;
    let open = open(suited, &known, now);
    let targetings: Vec<Option<&Targeting>> =
        open.iter().map(|it| it.campaign.definition.targeting.as_ref()).collect();
    let person = Person { user: profile.id, external_id: profile.external_id.clone() };
    let verdicts = includes(app, workspace, &person, &targetings).await?;
    let mut placed = Vec::new();
    let mut shown = 0;
    for (ready, is_meant) in open.into_iter().zip(verdicts) {
        let known = known.remove(&ready.campaign.id);
        let drawn = if is_meant { draw(&ready, profile.id, known.as_ref(), now) } else { None };
        if let Some((variant, is_control)) = drawn
            && (is_control || shown < MESSAGES_MAX)
        {
            shown += usize::from(!is_control);
            placed.push(Placed { ready, variant, is_control, known });
        }
    }
    Ok(placed)
}

/// Those of the live campaigns that suit the app and the moment.
pub(super) fn suited(live: &[Arc<Ready>], asking: &model::App, now: Timestamp) -> Vec<Arc<Ready>> {
    live.iter().filter(|it| model::suits(&it.config(), asking, now)).cloned().collect()
}

/// Those of them that the person may see again.
fn open(
    suited: Vec<Arc<Ready>>,
    known: &HashMap<CampaignId, Known>,
    now: Timestamp,
) -> Vec<Arc<Ready>> {
    let mut open = suited;
    open.retain(|it| {
        let shown = known.get(&it.campaign.id).map(|known| known.shown).unwrap_or_default();
        model::may_show(it.config().display_frequency.as_ref(), shown, now)
    });
    open
}

/// The variant of a person, and whether it is the control group's; none where there is nothing to show.
pub(super) fn draw(
    ready: &Ready,
    user: UserId,
    known: Option<&Known>,
    now: Timestamp,
) -> Option<(String, bool)> {
    let had = known.filter(|it| it.standing == Standing::Sent).map(|it| it.variant.as_str());
    // What learning once drew for somebody stays: a message does not change before their eyes.
    if let Some(had) = had.filter(|_| ready.campaign.state.rl.is_some())
        && ready.plan.variant(had).is_some_and(|variant| !variant.is_control())
    {
        return Some((had.to_owned(), false));
    }
    match ready.plan.draw(user, had, now)? {
        Draw::Variant(variant) => Some((variant.id.clone(), false)),
        Draw::Control(variant) => Some((variant.id.clone(), true)),
        Draw::Wait(_) | Draw::Skip(_) => None,
    }
}

/// A message, or why there is none.
pub(super) struct Rendered {
    placed: Placed,
    /// None for the control group.
    content: Option<Result<InAppContent, RenderFault>>,
}

impl Rendered {
    fn standing(&self) -> Standing {
        match &self.content {
            None => Standing::Control,
            Some(Ok(_)) => Standing::Sent,
            Some(Err(_)) => Standing::Failed,
        }
    }

    pub(super) fn into_offered(self, user: UserId) -> Option<Offered> {
        let Placed { ready, variant, known, .. } = self.placed;
        Some(Offered {
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
pub(super) enum ShownTo {
    /// Those of a person.
    Person(Box<User>),
    Anybody,
}

/// Renders what is to be shown, off the executor's threads. A variant without content is left out.
pub(super) async fn render(
    app: &SdkState,
    workspace: WorkspaceId,
    (user, shown_to): (UserId, ShownTo),
    placed: Vec<Placed>,
) -> Result<Vec<Rendered>> {
    if placed.is_empty() {
        return Ok(Vec::new());
    }
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let rendered = tokio::task::spawn_blocking(move || {
        let (recipient, preferences) = match shown_to {
            ShownTo::Person(profile) => {
                let link = Link::Preferences(Preferences { workspace, user });
                (recipient(*profile)?, Signer::url(&signer, &link))
            }
            ShownTo::Anybody => (Recipient::default(), String::new()),
        };
        let rendered = placed.into_iter().filter_map(|placed| {
            if placed.is_control {
                return Some(Rendered { placed, content: None });
            }
            let content = placed.ready.content(&placed.variant)?;
            let content = match content {
                Ok(ready) => {
                    let message = id_of(placed.ready.campaign.id, user);
                    let campaign = &placed.ready.campaign;
                    let named = Named { id: campaign.id, name: campaign.definition.name.clone() };
                    let outs = WaysOut {
                        // Nobody gets out of an app by a link.
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
            Some(Rendered { placed, content: Some(content) })
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

/// Tells what is new, and then writes it down.
pub(super) async fn keep(
    app: &SdkState,
    workspace: WorkspaceId,
    user: UserId,
    rendered: &[Rendered],
) -> Result<()> {
    let changed: Vec<&Rendered> = rendered
        .iter()
        .filter(|it| {
            let known = it.placed.known.as_ref();
            known.is_none_or(|known| {
                known.standing != it.standing() || known.variant != it.placed.variant
            })
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let now = app.clock().now();
    let user_id = user.to_string();
    let events: Vec<MessageEvent<'_>> =
        changed.iter().flat_map(|it| told(it, (user, &user_id), now)).collect();
    app.intake()
        .append_message_events(workspace.uuid(), &events, now.millis())
        .await
        .map_err(append_failed)?;
    let lines: Vec<recipients::Recipient> = changed
        .iter()
        .map(|it| recipients::Recipient {
            campaign: it.placed.ready.campaign.id,
            message: id_of(it.placed.ready.campaign.id, user),
            variant: it.placed.variant.clone(),
            standing: it.standing(),
        })
        .collect();
    recipients::put(app.db(), workspace, now, user, &lines).await
}

/// What is told of a message that is handed over, or is not.
fn told<'a>(
    rendered: &'a Rendered,
    (user, user_id): (UserId, &'a str),
    now: Timestamp,
) -> impl Iterator<Item = MessageEvent<'a>> {
    let campaign = rendered.placed.ready.campaign.id;
    let of = MessageEvent {
        campaign_id: campaign.uuid(),
        user_id,
        message_id: id_of(campaign, user).uuid(),
        timestamp_ms: now.millis(),
        variant_id: &rendered.placed.variant,
        channel: CHANNEL,
        ..MessageEvent::default()
    };
    let kinds: &[MessageKind] = match rendered.standing() {
        Standing::Sent => &[MessageKind::Queued, MessageKind::Sent],
        Standing::Control => &[MessageKind::Control],
        Standing::Failed => &[MessageKind::Queued, MessageKind::Failed],
    };
    let fault = rendered.content.as_ref().and_then(|content| content.as_ref().err());
    kinds.iter().map(move |kind| {
        let failed = fault.filter(|_| *kind == MessageKind::Failed);
        MessageEvent {
            kind: *kind,
            code: failed.map_or("", |_| RenderFault::CODE),
            reason: failed.map_or("", |fault| fault.reason.as_str()),
            ..of
        }
    })
}
