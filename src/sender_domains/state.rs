//! What the handlers of sender domains may reach.

use std::sync::Arc;

use web::Services;

use crate::{dns::Dns, model::SenderSetup};

/// The services, and what domains are checked with.
#[derive(Debug, Clone)]
pub struct SenderDomainState {
    services: Services,
    sender_setup: SenderSetup,
    dns: Arc<Dns>,
}

impl SenderDomainState {
    /// The state around these.
    pub fn new(services: Services, sender_setup: SenderSetup, dns: Dns) -> Self {
        Self { services, sender_setup, dns: Arc::new(dns) }
    }

    /// What the settings say of sending email.
    pub fn sender_setup(&self) -> &SenderSetup {
        &self.sender_setup
    }

    /// Finds the records of domains.
    pub fn dns(&self) -> &Dns {
        &self.dns
    }
}

web::area_state!(SenderDomainState, Services, services);
