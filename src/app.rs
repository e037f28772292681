//! What a running server holds, and every handler may reach.

use std::{collections::HashSet, sync::Arc};

use analytics::Analytics;
use axum::extract::FromRef;
use ingest::intake::Intake;
use sqlx::PgPool;

use crate::{
    auth::Auth,
    callbacks::Tellers,
    config::{Callbacks, Delivery, Retention, Transactional},
    delivery::{ops::bell::Bell, providers::Providers},
    http::{BodyBudget, TrustedProxies, health::Readiness, rate::RateLimits},
    kernel::{ChannelSet, Clock},
    links::Links,
    sdk::{self, Identity, Origins},
    sender_domains::{dns::Dns, model::SenderSetup},
    spam::Spamd,
    telemetry::recorder::Recorder,
    tracking::StoredRate,
    vault::Vault,
};

/// The state of the router: a handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// The one source of time.
    pub clock: Clock,
    /// PostgreSQL.
    pub db: PgPool,
    /// Credentials to callers.
    pub auth: Auth,
    /// Questions to ClickHouse.
    pub analytics: Analytics,
    /// The write path.
    pub intake: Intake,
    /// What `/readyz` answers.
    pub readiness: Readiness,
    /// What `/metrics` answers.
    pub recorder: Recorder,
    /// Memory that request bodies may hold at one time.
    pub body_budget: BodyBudget,
    /// How often one credential may ask.
    pub rate_limits: RateLimits,
    /// How many opens and clicks of one message are stored.
    pub stored_engagements: StoredRate,
    /// Proxies whose word on the requester's address is taken.
    pub trusted_proxies: TrustedProxies,
    /// Makes and opens the signed links in messages.
    pub links: Links,
    /// In-app campaigns, ready for apps.
    pub in_app: sdk::ops::Live,
    /// Which pages may call `/v1`.
    pub sdk_origins: Origins,
    /// Whether calls of apps need a user token.
    pub sdk_identity: Identity,
    /// Names of events that count from SDK keys as if a server had sent them.
    pub sdk_trusted_events: HashSet<String>,
    /// Checks user tokens.
    pub user_tokens: sdk::ops::UserTokens,
    /// Who judges what emails look like to spam filters; none: rules of our own.
    pub spamd: Option<Spamd>,
    /// Tells senders that something is due.
    pub bell: Bell,
    /// How messages are sent.
    pub delivery: Delivery,
    /// What transactional messages may do.
    pub transactional: Transactional,
    /// What is deleted after how many days.
    pub retention: Retention,
    /// The channels that somebody carries messages of.
    pub carried: ChannelSet,
    /// Who carries them.
    pub providers: Providers,
    /// Seals secrets.
    pub vault: Vault,
    /// What the settings say of sending email.
    pub sender_setup: SenderSetup,
    /// Finds the records of sender domains.
    pub dns: Dns,
    /// What may come back.
    pub callbacks: Callbacks,
    /// And from whom.
    pub tellers: Tellers,
}

impl App {
    /// A handle around the parts.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The one source of time.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// PostgreSQL.
    pub fn db(&self) -> &PgPool {
        &self.0.db
    }

    /// Credentials to callers.
    pub fn auth(&self) -> &Auth {
        &self.0.auth
    }

    /// Questions to ClickHouse.
    pub fn analytics(&self) -> &Analytics {
        &self.0.analytics
    }

    /// The write path.
    pub fn intake(&self) -> &Intake {
        &self.0.intake
    }

    /// Makes and opens the signed links in messages.
    pub fn links(&self) -> &Links {
        &self.0.links
    }

    /// In-app campaigns, ready for apps.
    pub fn in_app(&self) -> &sdk::ops::Live {
        &self.0.in_app
    }

    /// Which pages may call `/v1`.
    pub fn sdk_origins(&self) -> &Origins {
        &self.0.sdk_origins
    }

    /// Whether calls of apps need a user token.
    pub fn sdk_identity(&self) -> Identity {
        self.0.sdk_identity
    }

    /// Names of events that count from SDK keys as if a server had sent them.
    pub fn sdk_trusted_events(&self) -> &HashSet<String> {
        &self.0.sdk_trusted_events
    }

    /// Checks user tokens.
    pub fn user_tokens(&self) -> &sdk::ops::UserTokens {
        &self.0.user_tokens
    }

    /// Who judges what emails look like to spam filters, where it is set.
    pub fn spamd(&self) -> Option<&Spamd> {
        self.0.spamd.as_ref()
    }

    /// How messages are sent.
    pub fn delivery(&self) -> &Delivery {
        &self.0.delivery
    }

    /// What is deleted after how many days.
    pub fn retention(&self) -> Retention {
        self.0.retention
    }

    /// What transactional messages may do.
    pub fn transactional(&self) -> Transactional {
        self.0.transactional
    }

    /// Tells senders that something is due.
    pub fn bell(&self) -> &Bell {
        &self.0.bell
    }

    /// The channels that somebody carries messages of; webhooks need nobody.
    pub fn carried(&self) -> ChannelSet {
        self.0.carried
    }

    /// Seals secrets.
    pub fn vault(&self) -> &Vault {
        &self.0.vault
    }

    /// Who carries messages.
    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    /// What the settings say of sending email.
    pub fn sender_setup(&self) -> &SenderSetup {
        &self.0.sender_setup
    }

    /// Finds the records of sender domains.
    pub fn dns(&self) -> &Dns {
        &self.0.dns
    }

    /// Who may tell of messages after they left.
    pub fn tellers(&self) -> &Tellers {
        &self.0.tellers
    }

    /// What may come back.
    pub fn callbacks(&self) -> &Callbacks {
        &self.0.callbacks
    }

    /// What `/readyz` answers.
    pub fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    /// How often one credential may ask.
    pub fn rate_limits(&self) -> &RateLimits {
        &self.0.rate_limits
    }

    /// How many opens and clicks of one message are stored.
    pub fn stored_engagements(&self) -> &StoredRate {
        &self.0.stored_engagements
    }

    /// What `/metrics` answers.
    pub fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }
}

impl FromRef<App> for TrustedProxies {
    fn from_ref(app: &App) -> Self {
        app.0.trusted_proxies.clone()
    }
}

impl FromRef<App> for Auth {
    fn from_ref(app: &App) -> Self {
        app.0.auth.clone()
    }
}

impl FromRef<App> for BodyBudget {
    fn from_ref(app: &App) -> Self {
        app.0.body_budget.clone()
    }
}

impl FromRef<App> for Readiness {
    fn from_ref(app: &App) -> Self {
        app.0.readiness.clone()
    }
}
