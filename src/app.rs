//! The state of every area, composed.

use std::sync::Arc;

use callbacks::CallbackState;
use campaigns::CampaignState;
use delivery::DeliveryState;
use identity::IdentityState;
use insights::ops::InsightState;
use members::openid::OpenId;
use privacy::PrivacyState;
use recipient_pages::PageState;
use sdk::SdkState;
use sender_domains::SenderDomainState;
use sql_listener::SqlState;
use url::Url;
use web::Services;

/// The listener for SQL.
#[derive(Debug, Clone)]
pub struct SqlListener {
    pub state: SqlState,
    /// As the settings name it.
    pub port: u16,
}

/// How people reach the console.
#[derive(Debug, Clone)]
pub struct ConsoleSite {
    /// The address by which people reach this server.
    pub public_url: Url,
    /// The OpenID provider, where there is one.
    pub openid: Option<Arc<OpenId>>,
}

/// What a running server holds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App {
    /// Delivery, and within it campaigns, sender domains and the shared services.
    pub delivery: DeliveryState,
    pub callbacks: CallbackState,
    pub pages: PageState,
    pub sdk: SdkState,
    pub insights: InsightState,
    pub identity: IdentityState,
    /// The listener for SQL, where it is on.
    pub sql: Option<SqlListener>,
    pub privacy: PrivacyState,
    /// The console, where there is one.
    pub console: Option<ConsoleSite>,
}

impl App {
    /// What every area reaches.
    pub fn services(&self) -> &Services {
        &self.delivery
    }

    /// What sender domains reach.
    pub fn sender_domains(&self) -> &SenderDomainState {
        &self.delivery
    }

    pub fn campaigns(&self) -> &CampaignState {
        &self.delivery
    }
}

web::area_state!(App, DeliveryState, delivery);
