//! What the handlers of campaigns may reach.

use std::sync::Arc;

use config::Delivery;
use content::spam::Spamd;
use engines::vault::Vault;
use kernel::ChannelSet;
use sender_domains::SenderDomainState;

use crate::due_signal::DueSignal;

/// The state of sender domains, and what campaigns need beside it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CampaignState(Arc<CampaignParts>);

/// What a [`CampaignState`] is made of.
#[derive(Debug)]
pub struct CampaignParts {
    /// What sender domains reach.
    pub sender_domains: SenderDomainState,
    /// Checks emails against spam filters; without it, by rules of this program.
    pub spamd: Option<Spamd>,
    /// Tells senders that something is due.
    pub due_signal: DueSignal,
    pub delivery: Delivery,
    /// The channels that have a provider.
    pub enabled_channels: ChannelSet,
    pub vault: Vault,
}

impl CampaignState {
    /// A handle around the parts.
    pub fn new(parts: CampaignParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The server that checks emails against spam filters, where one is set.
    pub fn spamd(&self) -> Option<&Spamd> {
        self.0.spamd.as_ref()
    }

    /// Tells senders that something is due.
    pub fn due_signal(&self) -> &DueSignal {
        &self.0.due_signal
    }

    pub fn delivery(&self) -> &Delivery {
        &self.0.delivery
    }

    /// The channels that have a provider; webhooks need none.
    pub fn enabled_channels(&self) -> ChannelSet {
        self.0.enabled_channels
    }

    pub fn vault(&self) -> &Vault {
        &self.0.vault
    }
}

web::area_state!(CampaignState, SenderDomainState, 0.sender_domains);
