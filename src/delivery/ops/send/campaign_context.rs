//! The parsed templates, the plan and the rules that all messages of a campaign share while they are sent. Renewed when
//! the campaign changes.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use audience::model::{SubscriptionPreference, Targeting};
use campaigns::model::{
    Campaign, CampaignChannel, CampaignKey, CampaignKind, Definition,
    message::MessageChannel,
    settings::{limits::SendRateLimit, trigger::ReEntry},
};
use contacts::lists;
use kernel::{Error, Result, WorkspaceId, quiet::QuietTimeOverride, zone::Zone};
use parking_lot::Mutex;

use crate::{
    DeliveryState,
    model::{claimed::Claimed, plan::Plan, retry::ATTEMPTS_MAX},
    render::{Prepared, RenderFault},
    store::{recipients, runs},
};

/// Campaigns whose contexts are cached.
const CONTEXTS_MAX: usize = 64;
/// How long a context is used without reading the list and the workspace's zone again.
const FRESH: Duration = Duration::from_secs(10);

/// The data that all messages of a campaign share.
#[derive(Debug)]
pub(crate) struct CampaignContext {
    workspace: WorkspaceId,
    pub(crate) campaign: Campaign,
    pub(crate) plan: Plan,
    pub(crate) quiet: Option<QuietTimeOverride>,
    /// The zone of recipients without one.
    pub(crate) zone: Zone,
    pub(crate) preference: SubscriptionPreference,
    pub(crate) rate: Option<u32>,
    /// Attempts at the provider.
    pub(crate) attempts_max: i16,
    prepared: HashMap<String, Result<Prepared, RenderFault>>,
    made: Instant,
}

impl CampaignContext {
    /// The workspace and id of the campaign.
    pub(crate) fn key(&self) -> CampaignKey {
        CampaignKey { workspace: self.workspace, id: self.campaign.id }
    }

    async fn of(app: &DeliveryState, workspace: WorkspaceId, campaign: Campaign) -> Result<Self> {
        let definition = &campaign.definition;
        let is_marketing = match definition.subscription_category_id {
            None => true,
            Some(list) => match lists::ops::get(app, workspace, list).await {
                Ok(list) => list.kind != lists::model::ListKind::Transactional,
                Err(Error::NotFound(_)) => true,
                Err(error) => return Err(error),
            },
        };
        let mut connection = app.db().acquire().await?;
        let zone = recipients::workspace_zone(&mut connection, workspace).await?;
        let begins = runs::begun(&mut *connection, workspace, campaign.id).await?;
        drop(connection);
        let prepared = tokio::task::block_in_place(|| {
            let variants = definition.variants.iter().filter(|variant| !variant.is_control());
            let prepared = variants.map(|variant| {
                let opened = campaigns::ops::with_open_headers(app.vault(), workspace, variant);
                let read = opened
                    .map_err(|fault| RenderFault { reason: format!("headers: {fault}") })
                    .and_then(|variant| {
                        Prepared::of_variant(campaign.id, definition, &variant, is_marketing)
                    });
                (variant.id.clone(), read)
            });
            prepared.collect()
        });
        let attempts_max = match definition.channel {
            CampaignChannel::Webhook => {
                let config = definition.channel_config.clone().unwrap_or_default();
                i16::try_from(config.max_attempts()).unwrap_or(ATTEMPTS_MAX)
            }
            _ => ATTEMPTS_MAX,
        };
        Ok(Self {
            workspace,
            plan: Plan::of(&campaign, begins.unwrap_or_else(|| app.clock().now())),
            quiet: quiet_hours(app, definition),
            zone: zone.and_then(|name| name.parse().ok()).unwrap_or(Zone::UTC),
            preference: definition
                .targeting
                .as_ref()
                .map(Targeting::preference)
                .unwrap_or_default(),
            rate: definition.send_rate_limit.as_ref().and_then(SendRateLimit::max_per_minute),
            attempts_max,
            prepared,
            campaign,
            made: Instant::now(),
        })
    }

    /// The templates of a variant, or why they cannot be read; none for a variant that is gone.
    pub(crate) fn prepared(&self, variant: &str) -> Option<&Result<Prepared, RenderFault>> {
        self.prepared.get(variant)
    }

    /// Why nothing of it can be sent: no variant has templates that can be read.
    pub(crate) fn fault(&self) -> Option<String> {
        let mut faults = self.prepared.values().map(|prepared| prepared.as_ref().err());
        let first = self.prepared.values().find_map(|prepared| prepared.as_ref().err())?;
        faults.all(|fault| fault.is_some()).then(|| format!("the message cannot be read: {first}"))
    }

    /// A message of the control group with its variant, as it is settled.
    pub(crate) fn control_of(&self, message: Claimed) -> Claimed {
        let variant = self.plan.control().map(|control| control.id.clone());
        Claimed { variant, ..message }
    }

    pub(crate) fn keeps_exposures(&self) -> bool {
        keeps_exposures(&self.campaign)
    }

    /// Whether a person gets one message of an occurrence. Not where each event is to have its own.
    pub(crate) fn sends_one_to_a_person(&self) -> bool {
        let trigger = self.campaign.definition.trigger_config.as_ref();
        trigger.is_none_or(|trigger| trigger.re_entry() != ReEntry::Always)
    }

    /// Whether it keeps to frequency caps, and counts against them.
    pub(crate) fn is_capped(&self) -> bool {
        !self.campaign.definition.ignore_touching_rules
    }

    /// Whether a volume limit holds.
    pub(crate) fn volume(&self) -> Option<&campaigns::model::settings::limits::SendVolumeLimit> {
        let limit = self.campaign.definition.send_volume_limit.as_ref();
        limit.filter(|limit| limit.max_sends().is_some())
    }
}

/// Whether variants are kept with their recipients: where there are several, and it goes out again.
pub(crate) fn keeps_exposures(campaign: &Campaign) -> bool {
    let definition = &campaign.definition;
    definition.variants.len() > 1
        && matches!(definition.kind(), CampaignKind::Recurring | CampaignKind::Triggered)
}

/// The quiet hours of a campaign: its own, else those that were set for all.
pub(crate) fn quiet_hours(
    app: &DeliveryState,
    definition: &Definition,
) -> Option<QuietTimeOverride> {
    let set = || app.delivery().quiet_hours.as_ref().map(config::QuietHours::as_override);
    let quiet = definition.quiet_time_override.clone().or_else(set);
    quiet.filter(QuietTimeOverride::is_enabled)
}

/// The channel of a variant's message, in a campaign on this channel.
pub(crate) fn channel_of(
    campaign: &Campaign,
    variant: Option<&campaigns::model::Variant>,
) -> MessageChannel {
    let definition = &campaign.definition;
    let content = |variant: &campaigns::model::Variant| {
        variant.message.as_ref().map(|message| message.content.channel())
    };
    MessageChannel::of(definition.channel)
        .or_else(|| variant.and_then(content))
        .or_else(|| definition.variants.iter().find_map(content))
        .unwrap_or(MessageChannel::Email)
}

/// The channels on which a campaign sends.
pub(crate) fn channels_of(campaign: &Campaign) -> Vec<MessageChannel> {
    if campaign.definition.channel != CampaignChannel::AiOptimized {
        return MessageChannel::of(campaign.definition.channel).into_iter().collect();
    }
    let variants = campaign.definition.variants.iter().filter(|variant| !variant.is_control());
    variants.map(|variant| channel_of(campaign, Some(variant))).collect()
}

/// The cached contexts of campaigns.
#[derive(Debug, Default)]
pub(crate) struct CampaignContexts(Mutex<HashMap<CampaignKey, Arc<CampaignContext>>>);

impl CampaignContexts {
    /// The context of a campaign at this revision, or a later one.
    pub(crate) async fn of(
        &self,
        app: &DeliveryState,
        key: CampaignKey,
        revision: i64,
    ) -> Result<Arc<CampaignContext>> {
        let CampaignKey { workspace, id } = key;
        let kept = self.0.lock().get(&key).cloned();
        if let Some(campaign_context) =
            kept.filter(|kept| kept.campaign.revision >= revision && kept.made.elapsed() < FRESH)
        {
            return Ok(campaign_context);
        }
        let campaign = campaigns::ops::find(app, workspace, id).await?;
        let campaign_context = Arc::new(CampaignContext::of(app, workspace, campaign).await?);
        let mut contexts = self.0.lock();
        if contexts.len() >= CONTEXTS_MAX {
            contexts.retain(|_, kept| kept.made.elapsed() < FRESH);
        }
        if contexts.len() < CONTEXTS_MAX {
            contexts.insert(key, Arc::clone(&campaign_context));
        }
        Ok(campaign_context)
    }
}
