//! The state of the sender domain endpoints.

use std::sync::Arc;

use web::Services;

use crate::{dns::Dns, model::SenderSetup};

#[derive(Debug, Clone)]
pub struct SenderDomainState {
    services: Services,
    sender_setup: SenderSetup,
    dns: Arc<Dns>,
}

impl SenderDomainState {
    pub fn new(services: Services, sender_setup: SenderSetup, dns: Dns) -> Self {
        Self { services, sender_setup, dns: Arc::new(dns) }
    }

    pub fn sender_setup(&self) -> &SenderSetup {
        &self.sender_setup
    }

    pub fn dns(&self) -> &Dns {
        &self.dns
    }
}

web::area_state!(SenderDomainState, Services, services);
