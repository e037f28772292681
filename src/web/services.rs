//! The services that the handlers of every area use.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use analytics::Analytics;
use axum::extract::FromRef;
use ingest::intake::Intake;
use kernel::{Clock, Country, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;
use url::Url;

use crate::{
    audit_log::Author,
    auth::Auth,
    countries::Countries,
    db,
    http::{BodyBudget, Requester, TrustedProxies, health::Readiness, rate_limits::RateLimits},
    links::Links,
    telemetry::recorder::Recorder,
    workspaces::{self, DataDays},
};

/// The services that areas share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Services(Arc<ServiceParts>);

/// The parts of [`Services`].
#[derive(Debug)]
pub struct ServiceParts {
    /// The one source of time.
    pub clock: Clock,
    pub db: PgPool,
    pub auth: Auth,
    pub analytics: Analytics,
    pub intake: Intake,
    pub readiness: Readiness,
    pub recorder: Recorder,
    /// The memory for request bodies.
    pub body_budget: BodyBudget,
    pub rate_limits: RateLimits,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
    /// Creates and opens the signed links in messages.
    pub links: Links,
    /// The address by which people reach the console, without its path; none where this process serves none.
    pub console_url: Option<Url>,
    /// Names of events from SDK keys that are treated as if a server had sent them.
    pub sdk_trusted_events: HashSet<String>,
    /// The countries by which workspaces read national phone numbers.
    pub countries: Countries,
    /// After how many days data of workspaces without days of their own is deleted.
    pub data_days: DataDays,
    /// The folder with the dead letters of this process.
    pub dead_letters_dir: PathBuf,
    /// Whether this process is the only one that writes into ClickHouse.
    pub is_only_writer: bool,
}

impl Services {
    pub fn new(parts: ServiceParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The one source of time.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub fn db(&self) -> &PgPool {
        &self.0.db
    }

    pub fn auth(&self) -> &Auth {
        &self.0.auth
    }

    pub fn analytics(&self) -> &Analytics {
        &self.0.analytics
    }

    pub fn intake(&self) -> &Intake {
        &self.0.intake
    }

    pub fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    pub fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }

    /// Every metric of this process as Prometheus reads them, with those that are measured when they are asked for.
    pub fn metrics_text(&self) -> String {
        db::observe_pool(self.db());
        self.readiness().workers().observe();
        let (in_flight, waiting) = self.analytics().in_flight_and_waiting();
        for (state, count) in [("in_flight", in_flight), ("waiting", waiting)] {
            let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
            metrics_catalogue::CLICKHOUSE_QUERIES.with([state]).set(count);
        }
        self.recorder().render()
    }

    /// The address by which people reach the console, without its path; none where this process serves none.
    pub fn console_url(&self) -> Option<&Url> {
        self.0.console_url.as_ref()
    }

    /// The folder with the dead letters of this process.
    pub fn dead_letters_dir(&self) -> &Path {
        &self.0.dead_letters_dir
    }

    /// Whether this process is the only one that writes into ClickHouse.
    pub fn is_only_writer(&self) -> bool {
        self.0.is_only_writer
    }

    /// The author of a change that is made now.
    pub fn author(&self, actor: String, requester: Requester) -> Author {
        Author { actor, requester, now: self.clock().now() }
    }

    pub fn rate_limits(&self) -> &RateLimits {
        &self.0.rate_limits
    }

    /// Creates and opens the signed links in messages.
    pub fn links(&self) -> &Links {
        &self.0.links
    }

    /// Names of events from SDK keys that are treated as if a server had sent them.
    pub fn sdk_trusted_events(&self) -> &HashSet<String> {
        &self.0.sdk_trusted_events
    }

    /// The country by which a workspace reads national phone numbers, where one is set.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn country(&self, workspace: WorkspaceId) -> Result<Option<Country>> {
        self.0.countries.of(&self.0.db, workspace).await
    }

    /// The moment from which on a workspace keeps events, if that is later than the beginning of a range: what is
    /// counted in the range is complete from then on.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn events_complete_from(
        &self,
        workspace: WorkspaceId,
        start_ms: i64,
    ) -> Result<Option<Timestamp>> {
        let days = workspaces::days(self.db(), workspace, self.0.data_days).await?;
        Ok(self.complete_from(days.events, start_ms))
    }

    /// Likewise, of reports on messages; `with_events` where they count events, too.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn messages_complete_from(
        &self,
        workspace: WorkspaceId,
        start_ms: i64,
        with_events: bool,
    ) -> Result<Option<Timestamp>> {
        let days = workspaces::days(self.db(), workspace, self.0.data_days).await?;
        let messages = self.complete_from(days.message_events, start_ms);
        let events = self.complete_from(days.events, start_ms).filter(|_| with_events);
        Ok(messages.max(events))
    }

    fn complete_from(&self, days: u32, start_ms: i64) -> Option<Timestamp> {
        let since = workspaces::kept_since(days, self.clock().now());
        since.filter(|since| start_ms < since.millis())
    }

    /// The country of workspaces that have none of their own.
    pub fn default_country(&self) -> Option<Country> {
        self.0.countries.default_country()
    }
}

impl FromRef<Services> for TrustedProxies {
    fn from_ref(services: &Services) -> Self {
        services.0.trusted_proxies.clone()
    }
}

impl FromRef<Services> for Auth {
    fn from_ref(services: &Services) -> Self {
        services.0.auth.clone()
    }
}

impl FromRef<Services> for BodyBudget {
    fn from_ref(services: &Services) -> Self {
        services.0.body_budget.clone()
    }
}

impl FromRef<Services> for Readiness {
    fn from_ref(services: &Services) -> Self {
        services.0.readiness.clone()
    }
}

/// Makes the [`Services`] in an area's state available through the state: it dereferences to them, and the
/// extractors of requests find their parts.
#[macro_export]
macro_rules! area_state {
    ($state:ty, $inner:ty, $($field:tt)+) => {
        impl std::ops::Deref for $state {
            type Target = $inner;

            fn deref(&self) -> &$inner {
                &self.$($field)+
            }
        }

        $crate::area_state!(@extracts $state:
            $crate::Services, $crate::http::TrustedProxies, $crate::auth::Auth, $crate::http::BodyBudget,
            $crate::http::health::Readiness);
    };
    (@extracts $state:ty: $services:ty $(, $part:ty)*) => {
        impl axum::extract::FromRef<$state> for $services {
            fn from_ref(state: &$state) -> Self {
                let services: &$services = state;
                services.clone()
            }
        }
        $(
            impl axum::extract::FromRef<$state> for $part {
                fn from_ref(state: &$state) -> Self {
                    let services: &$services = state;
                    axum::extract::FromRef::from_ref(services)
                }
            }
        )*
    };
}
