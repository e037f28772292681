//! The state of the campaign endpoints.

use std::sync::Arc;

use config::Delivery;
use contacts::ContactState;
use content::spam::Spamd;
use engines::vault::Vault;
use kernel::{ChannelSet, Error, Result};
use sender_domains::SenderDomainState;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::due_signal::DueSignal;

/// The state of sender domains, and what campaigns need in addition. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CampaignState {
    parts: Arc<CampaignParts>,
    sto_scans: Arc<Semaphore>,
}

/// Each scan holds the visits of a workspace in memory.
const STO_SCANS_MAX: usize = 2;

/// The parts of a [`CampaignState`].
#[derive(Debug)]
pub struct CampaignParts {
    pub sender_domains: SenderDomainState,
    pub contacts: ContactState,
    /// Checks emails against spam filters; without it, by rules of this program.
    pub spamd: Option<Spamd>,
    pub due_signal: DueSignal,
    pub delivery: Delivery,
    pub enabled_channels: ChannelSet,
    pub vault: Vault,
}

impl CampaignState {
    pub fn new(parts: CampaignParts) -> Self {
        Self { parts: Arc::new(parts), sto_scans: Arc::new(Semaphore::new(STO_SCANS_MAX)) }
    }

    pub fn contacts(&self) -> &ContactState {
        &self.parts.contacts
    }

    /// The server that checks emails against spam filters, where one is set.
    pub fn spamd(&self) -> Option<&Spamd> {
        self.parts.spamd.as_ref()
    }

    pub fn due_signal(&self) -> &DueSignal {
        &self.parts.due_signal
    }

    pub fn delivery(&self) -> &Delivery {
        &self.parts.delivery
    }

    /// The channels that have a provider; webhooks need none.
    pub fn enabled_channels(&self) -> ChannelSet {
        self.parts.enabled_channels
    }

    pub fn vault(&self) -> &Vault {
        &self.parts.vault
    }

    pub(crate) async fn sto_scan_permit(&self) -> Result<OwnedSemaphorePermit> {
        let scans = Arc::clone(&self.sto_scans);
        scans.acquire_owned().await.map_err(|_| Error::store_unavailable())
    }
}

web::area_state!(CampaignState, SenderDomainState, parts.sender_domains);
