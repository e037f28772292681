//! What the console holds while the server runs.

use std::{num::NonZeroU32, sync::Arc, time::Instant};

use axum::extract::FromRef;
use members::{Passwords, openid::OpenId};
use web::{
    Services,
    http::{BodyBudget, TrustedProxies, attempts::AttemptRate, failures::FailureRate},
};

use crate::{
    Routers, Site,
    in_process::Api,
    late_answers::LateAnswers,
    once::SentForms,
    process_metrics::Metrics,
    recent_metrics::{Measured, Measurements},
    seen_sessions::SeenSessions,
    shared_answers::SharedAnswers,
    view::Entry,
};

/// Failed attempts to sign in that a peer has in a minute.
const SIGN_IN_FAILURES: NonZeroU32 = NonZeroU32::new(5).expect("five is not zero");
/// Cookies without a session that a peer may send in a minute: each is looked up in PostgreSQL. One that was looked up of late
/// is not, and does not count; that of a session that was found here before is looked up whatever the others of its peer did.
const SESSION_FAILURES: NonZeroU32 = NonZeroU32::new(60).expect("sixty is not zero");

/// The state of the console. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ConsoleState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    services: Services,
    api: Api,
    /// None where the listener for SQL is off.
    sql: Option<SqlApi>,
    /// The address by which people reach this server, without a slash at its end.
    url: String,
    /// Whether people come by HTTPS, so that cookies may be limited to it.
    is_secure: bool,
    sign_in_attempts: AttemptRate,
    session_failures: FailureRate,
    seen_sessions: SeenSessions,
    entries: Vec<Entry>,
    openid: Option<Arc<OpenId>>,
    passwords: Passwords,
    measurements: Measurements,
    late_answers: LateAnswers,
    sent_forms: SentForms,
}

/// The listener for SQL.
#[derive(Debug)]
pub struct SqlApi {
    pub api: Api,
    /// The port at which other programs reach it.
    pub port: u16,
}

impl ConsoleState {
    pub fn new(services: Services, routers: Routers, site: Site, entries: Vec<Entry>) -> Self {
        let Site { public_url, openid } = site;
        let answers = SharedAnswers::default();
        let api = |name, router| Api::new(name, router, services.clock().clone(), answers.clone());
        Self(Arc::new(Inner {
            api: api("api", routers.api),
            sql: routers.sql.map(|sql| SqlApi { api: api("sql", sql.router), port: sql.port }),
            services,
            url: public_url.as_str().trim_end_matches('/').to_owned(),
            is_secure: public_url.scheme() == "https",
            sign_in_attempts: AttemptRate::per_minute("console_sign_in", SIGN_IN_FAILURES),
            session_failures: FailureRate::per_minute("console_session", SESSION_FAILURES),
            seen_sessions: SeenSessions::default(),
            entries,
            openid,
            passwords: Passwords::default(),
            measurements: Measurements::default(),
            late_answers: LateAnswers::default(),
            sent_forms: SentForms::default(),
        }))
    }

    pub fn services(&self) -> &Services {
        &self.0.services
    }

    /// The metrics of this second, and what was measured in the last minutes.
    pub async fn measure(&self) -> Arc<Measured> {
        self.0.measurements.measure(Instant::now(), || Metrics::read(self.services())).await
    }

    pub(crate) fn late_answers(&self) -> &LateAnswers {
        &self.0.late_answers
    }

    pub(crate) fn sent_forms(&self) -> &SentForms {
        &self.0.sent_forms
    }

    pub fn api(&self) -> &Api {
        &self.0.api
    }

    /// The listener for SQL, where it is on.
    pub fn sql(&self) -> Option<&SqlApi> {
        self.0.sql.as_ref()
    }

    /// Whether people come by HTTPS, so that cookies may be limited to it.
    pub fn is_secure(&self) -> bool {
        self.0.is_secure
    }

    /// The address by which people reach this server, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    pub fn sign_in_attempts(&self) -> &AttemptRate {
        &self.0.sign_in_attempts
    }

    /// The OpenID provider, where there is one.
    pub fn openid(&self) -> Option<&OpenId> {
        self.0.openid.as_deref()
    }

    pub fn passwords(&self) -> &Passwords {
        &self.0.passwords
    }

    pub fn session_failures(&self) -> &FailureRate {
        &self.0.session_failures
    }

    pub(crate) fn seen_sessions(&self) -> &SeenSessions {
        &self.0.seen_sessions
    }

    /// Every page of the navigation, in its order.
    pub fn entries(&self) -> &[Entry] {
        &self.0.entries
    }
}

impl FromRef<ConsoleState> for BodyBudget {
    fn from_ref(state: &ConsoleState) -> Self {
        Self::from_ref(state.services())
    }
}

impl FromRef<ConsoleState> for TrustedProxies {
    fn from_ref(state: &ConsoleState) -> Self {
        Self::from_ref(state.services())
    }
}
