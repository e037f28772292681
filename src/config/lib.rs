//! Settings. Precedence: flag, environment variable, `millrace.toml`, default.
//!
//! `millrace.default.toml` beside this file documents every setting and is the single place of its default.
//! It is merged with the other sources as TOML and read into [`Settings`] once, so unknown keys are refused
//! by name in every source.

mod backup;
mod callbacks;
mod channels;
mod console;
mod delivery;
mod openid;
mod retention;
mod source;
mod sql;
mod telemetry;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use kernel::TrustedProxy;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

pub use self::{
    backup::{Backup, BackupSecrets},
    callbacks::{Callbacks, GenericCallbacks, Inbound},
    channels::{Channels, ProviderSettings},
    console::Console,
    delivery::{ANY_CHANNEL, CAP_HOURS_MAX, Cap, Delivery, QuietHours, Transactional},
    openid::OpenId,
    retention::Retention,
    source::{Environment, Flags},
    sql::{Sql, SqlListen},
    telemetry::Telemetry,
};

/// Shortest secret for signing sessions: HS256 requires the length of its hash.
pub const SESSION_SECRET_BYTES_MIN: usize = 32;

/// Longest time for which a key may be accepted without confirmation.
const UNCONFIRMED_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// Shortest master key, in bytes.
pub const MASTER_KEY_BYTES_MIN: usize = 32;

/// Why the settings are invalid, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file was named but cannot be read.
    #[error("cannot read the settings file {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: std::io::Error },
    /// A source holds an unknown key or an invalid value.
    #[error("{source_name}: {reason}")]
    Refused {
        /// A file name, a variable or a flag.
        source_name: String,
        reason: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Address of the API.
    pub listen: SocketAddr,
    /// Address of `/metrics`, `/livez`, `/readyz`.
    pub admin_listen: SocketAddr,
    /// Address of ClickHouse's interface for callers who ask in SQL.
    pub sql_listen: SqlListen,
    /// Whether the API's listener serves the console.
    pub console: Console,
    /// The folder for the spool, the embedded engines' files and secrets. Absolute.
    pub data_dir: PathBuf,
    /// Base URL of links in messages, if set; see [`Settings::public_url`].
    #[serde(default, deserialize_with = "url_as_text")]
    pub public_url: Option<Url>,
    /// An external PostgreSQL instead of the embedded one.
    pub database_url: Option<SecretString>,
    /// The HTTP interface of an external ClickHouse instead of the embedded one.
    pub clickhouse_url: Option<SecretString>,
    /// The cluster of the external ClickHouse.
    #[serde(default)]
    pub clickhouse: ClickHouse,
    /// The roles of this process.
    pub roles: Vec<Role>,
    pub spool: Spool,
    pub ingest: Ingest,
    pub http: Http,
    pub rate_limits: RateLimits,
    pub limits: Limits,
    /// The embedded engines, and the connection pools.
    pub engines: Engines,
    pub auth: Auth,
    pub security: Security,
    pub sdk: Sdk,
    #[serde(default)]
    pub spam: Spam,
    pub triggers: Triggers,
    pub delivery: Delivery,
    pub transactional: Transactional,
    pub retention: Retention,
    pub backup: Backup,
    pub sql: Sql,
    pub telemetry: Telemetry,
    /// The provider whose accounts sign in at the console.
    #[serde(default)]
    pub openid: OpenId,
    /// How phone numbers are read.
    #[serde(default)]
    pub phone_numbers: PhoneNumbers,
    /// One provider a channel.
    #[serde(default)]
    pub channels: Channels,
    #[serde(default)]
    pub callbacks: Callbacks,
    #[serde(default)]
    pub inbound: Inbound,
    /// Warnings for the operator, logged once at start; without secrets.
    #[serde(skip)]
    pub notices: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhoneNumbers {
    /// The country of national numbers in workspaces without a country of their own.
    pub country: Option<kernel::Country>,
}

/// A part of the server that can be scaled on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The HTTP API and the ingest.
    Api,
    Delivery,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spool {
    /// Largest size on disk.
    pub limit_bytes: u64,
    /// Size of a segment file.
    pub segment_bytes: u64,
    /// What an acknowledged event survives.
    pub durability: Durability,
}

/// What an acknowledged event survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// `fdatasync`: a power failure.
    Fsync,
    /// A write: a crash of the program, but not of the machine.
    Os,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Largest volume of events waiting for the disk.
    pub queue_bytes: usize,
    /// Most rows of one insert.
    pub batch_rows: usize,
    /// Longest wait of a row for its batch to fill.
    pub linger_ms: u64,
    /// Remembered ids of events without a timestamp.
    pub window_entries: usize,
    /// Memory of the filters that distinguish new events from stored ones, with the embedded ClickHouse.
    pub landed_keys_bytes: usize,
    /// Seconds by which this machine's clock may be behind ClickHouse's, or behind stored events.
    pub clock_behind_max_seconds: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClickHouse {
    /// The cluster in `system.clusters` on whose servers replicated tables are created; none: a single
    /// server.
    pub cluster: Option<String>,
    /// Shards of the cluster; only 1 is supported.
    pub shards: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Most open connections of a listener.
    pub connections_max: usize,
    /// Most open connections of one peer that is not a trusted proxy.
    pub peer_connections_max: usize,
    /// Seconds for the head of a request.
    pub header_timeout_seconds: u64,
    /// Seconds for the body of a request.
    pub body_timeout_seconds: u64,
    /// Lowest average rate of a request body in bytes a second; 0 for no limit.
    pub body_rate_bytes: u32,
    /// Seconds after which the rate is enforced.
    pub body_grace_seconds: u64,
    /// Most bytes of request bodies in flight.
    pub body_bytes: usize,
    /// Of these, bytes for callers without a verified credential.
    pub public_body_bytes: usize,
    /// Of these, bytes for one peer.
    pub peer_body_bytes: usize,
    /// Percent of the rest that one workspace may use.
    pub workspace_body_percent: usize,
    /// Seconds a connection may be idle between two requests.
    pub idle_timeout_seconds: u64,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<TrustedProxy>,
}

impl Http {
    /// Bytes for request bodies of callers with a verified credential.
    pub fn verified_body_bytes(&self) -> usize {
        self.body_bytes.saturating_sub(self.public_body_bytes)
    }

    /// Of these, bytes for one workspace.
    pub fn workspace_body_bytes(&self) -> usize {
        self.verified_body_bytes() / 100 * self.workspace_body_percent
    }

    /// Inconsistent limits: a key and the reason.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.public_body_bytes >= self.body_bytes {
            return Some(("http.public_body_bytes", "must be less than `http.body_bytes`"));
        }
        if self.peer_body_bytes > self.public_body_bytes {
            let reason = "must be at most `http.public_body_bytes`";
            return Some(("http.peer_body_bytes", reason));
        }
        if !(1..=100).contains(&self.workspace_body_percent) {
            return Some(("http.workspace_body_percent", "must be between 1 and 100"));
        }
        None
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// Subscriptions, lists and suppressions.
    pub management: Rate,
    pub campaigns: Rate,
    /// Calls that send transactional messages.
    pub transactional: Rate,
    /// Calls of apps, by peer.
    pub sdk_peer: Rate,
    /// Calls of apps, by SDK key.
    pub sdk_key: Rate,
    /// Changes of profiles by SDK keys, by workspace: an identify counts 1, an alias 20.
    pub sdk_profile_work: Rate,
    /// Opens and clicks, by peer.
    pub links: Rate,
    /// Unknown credentials and short links, by peer.
    pub failed_lookups: Rate,
    /// Test sends, by workspace.
    pub test_sends: RatePerMinute,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePerMinute {
    /// Requests in any minute; 0 for no limit.
    pub per_minute: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Stored opens of one message a minute; likewise clicks.
    pub message_engagements_per_minute: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Sustained requests a second; 0 for no limit.
    pub per_second: u32,
    /// Requests at once after an idle time; at least `per_second`.
    pub burst: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engines {
    /// Memory limit of the embedded ClickHouse, in bytes.
    pub clickhouse_memory_bytes: u64,
    /// Concurrent queries of the embedded ClickHouse.
    pub clickhouse_connections: usize,
    /// Most connections to PostgreSQL.
    pub postgres_connections: u32,
    /// Seconds a call waits for a connection before PostgreSQL positive_settings as unavailable.
    pub postgres_wait_seconds: u64,
    /// Seconds a statement may run in PostgreSQL.
    pub postgres_statement_seconds: u64,
    /// Seconds a statement waits for a lock in PostgreSQL.
    pub postgres_lock_seconds: u64,
    /// Seconds for a ClickHouse query, including the wait in the queue.
    pub clickhouse_query_seconds: u64,
    /// ClickHouse queries that run at the same time.
    pub clickhouse_queries: usize,
    /// ClickHouse queries that may wait in the queue.
    pub clickhouse_queries_waiting: usize,
    /// The folder where engines are installed.
    pub cache_dir: Option<PathBuf>,
    /// A `libchdb` instead of the installed one.
    pub libchdb: Option<PathBuf>,
    /// A folder with `postgres` and `initdb` instead of the installed ones.
    pub postgres_bin: Option<PathBuf>,
    /// The account that runs PostgreSQL when Millrace runs as root.
    pub postgres_user: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    /// Bytes of the spool that may be retained for events the triggers have not read.
    pub backlog_bytes: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The secret that signs dashboard sessions; none: one in the data directory.
    pub session_secret: Option<SecretString>,
    /// Seconds a key is accepted without confirmation by PostgreSQL.
    pub unconfirmed_seconds: u64,
    /// The same for endpoints that track events.
    pub unconfirmed_tracking_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// Whether webhooks may be sent to loopback and private addresses.
    pub allow_private_webhook_targets: bool,
    /// The key that seals stored secrets and from which others are derived, of at least
    /// [`MASTER_KEY_BYTES_MIN`] bytes; none: one in the data directory.
    pub master_key: Option<SecretString>,
    /// Additional trusted certificate authorities, in PEM.
    pub ca_file: Option<PathBuf>,
    /// The resolver for sender domains; none: the system's.
    pub resolver: Option<SocketAddr>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sdk {
    /// Origins that may call `/v1` from a browser.
    pub allowed_origins: Vec<kernel::Origin>,
    /// Whether calls about a person require that person's user token.
    pub identity: kernel::Identity,
    /// Events from SDK keys that have the effects of events from a server.
    pub trusted_events: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spam {
    /// `host:port` of a SpamAssassin daemon; none: built-in rules.
    pub spamd: Option<String>,
}

const TRUSTED_EVENTS_MAX: usize = 1000;
const EVENT_NAME_CHARS_MAX: usize = 255;

impl Sdk {
    fn trusted_events_fault(&self) -> Option<&'static str> {
        let fits = |name: &String| (1..=EVENT_NAME_CHARS_MAX).contains(&name.chars().count());
        if self.trusted_events.len() > TRUSTED_EVENTS_MAX {
            Some("must name at most 1000 events")
        } else if !self.trusted_events.iter().all(fits) {
            Some("must be names of events, of between 1 and 255 characters")
        } else {
            None
        }
    }
}

impl Settings {
    /// Reads flags, environment, file and defaults. `providers` checks the settings of channels.
    ///
    /// # Errors
    /// When a source cannot be read or holds an invalid value.
    pub fn load(flags: &Flags, providers: &dyn ProviderSettings) -> Result<Self, Error> {
        Self::from_sources(flags, &Environment::of_process(), providers)
    }

    /// Like [`Settings::load`], with a given environment.
    ///
    /// # Errors
    /// Like [`Settings::load`].
    pub fn from_sources(
        flags: &Flags,
        environment: &Environment,
        providers: &dyn ProviderSettings,
    ) -> Result<Self, Error> {
        let mut settings = source::merge(flags, environment)?;
        settings.data_dir = absolute(&settings.data_dir)?;
        settings.check(providers)?;
        Ok(settings)
    }

    /// Base URL of links in messages: the setting, otherwise the API's address.
    pub fn public_url(&self) -> Url {
        self.public_url.clone().unwrap_or_else(|| {
            Url::parse(&format!("http://{}", self.listen))
                .expect("a socket address is a valid authority")
        })
    }

    pub fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    fn check_providers(&self, providers: &dyn ProviderSettings) -> Result<(), Error> {
        self.channels.read(|channel, table| providers.check_channel(channel, table))?;
        self.channels.from_domains()?;
        providers.check_callbacks(&self.callbacks)
    }

    /// The first invalid value of sections that check themselves: the key and the reason.
    fn section_fault(&self) -> Option<(&'static str, String)> {
        let retention = self.retention.fault();
        retention.or_else(|| self.telemetry.fault()).or_else(|| self.openid.fault())
    }

    /// Checks that types cannot express.
    fn check(&self, providers: &dyn ProviderSettings) -> Result<(), Error> {
        let refuse = |key: &str, reason: &str| {
            Err(Error::Refused { source_name: key.to_owned(), reason: reason.to_owned() })
        };
        if self.roles.is_empty() {
            return refuse("roles", "must name at least one of `api` and `delivery`");
        }
        self.check_providers(providers)?;
        if let Some((key, reason)) = self.listeners_fault().or_else(|| self.sql.fault()) {
            return refuse(key, reason);
        }
        if self.public_url.as_ref().is_some_and(|url| !matches!(url.scheme(), "http" | "https")) {
            return refuse("public_url", "must start with http:// or https://");
        }
        if self.spam.spamd.as_deref().is_some_and(|address| !is_host_and_port(address)) {
            return refuse("spam.spamd", "must be host:port");
        }
        if self.spool.segment_bytes == 0
            || self.spool.limit_bytes < self.spool.segment_bytes.saturating_mul(SEGMENTS_MIN)
        {
            return refuse("spool.limit_bytes", "must hold at least four segments");
        }
        if self.clickhouse.cluster.is_some() && self.clickhouse_url.is_none() {
            return refuse(
                "clickhouse.cluster",
                "needs `clickhouse_url`: the embedded ClickHouse is one server and in no cluster",
            );
        }
        if self.clickhouse.shards.is_some_and(|shards| shards != 1) {
            return refuse(
                "clickhouse.shards",
                "must be 1: events cannot be spread over several shards, only replicated",
            );
        }
        if let Some((key, reason)) = self.http.fault() {
            return refuse(key, reason);
        }
        if let Some(reason) = self.sdk.trusted_events_fault() {
            return refuse("sdk.trusted_events", reason);
        }
        if let Some((key, reason)) = self.delivery.fault() {
            return refuse(&key, &reason);
        }
        if let Some((key, reason)) = self.section_fault() {
            return refuse(key, &reason);
        }
        for (key, value) in self.positive_settings() {
            if value == 0 {
                return refuse(key, "must be at least 1");
            }
        }
        let is_short = |secret: &Option<SecretString>, least| {
            secret.as_ref().is_some_and(|secret| secret.expose_secret().len() < least)
        };
        if is_short(&self.auth.session_secret, SESSION_SECRET_BYTES_MIN) {
            return refuse("auth.session_secret", "must be at least 32 bytes long");
        }
        if self.auth.unconfirmed_tracking_seconds < self.auth.unconfirmed_seconds {
            return refuse(
                "auth.unconfirmed_tracking_seconds",
                "must be at least `auth.unconfirmed_seconds`",
            );
        }
        if self.auth.unconfirmed_tracking_seconds > UNCONFIRMED_SECONDS_MAX {
            return refuse("auth.unconfirmed_tracking_seconds", "must be at most 604800, a week");
        }
        if is_short(&self.security.master_key, MASTER_KEY_BYTES_MIN) {
            return refuse("security.master_key", "must be at least 32 bytes long");
        }
        Ok(())
    }

    /// An address that another listener has: its key and the reason.
    fn listeners_fault(&self) -> Option<(&'static str, &'static str)> {
        if self.listen == self.admin_listen && self.listen.port() != 0 {
            return Some(("admin_listen", "must differ from `listen`"));
        }
        let SqlListen::At(address) = self.sql_listen else { return None };
        let is_taken = [self.listen, self.admin_listen].contains(&address);
        (is_taken && address.port() != 0)
            .then_some(("sql_listen", "must differ from `listen` and `admin_listen`"))
    }

    /// Settings that must be positive.
    fn positive_settings(&self) -> [(&'static str, u64); 22] {
        let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        [
            ("ingest.queue_bytes", wide(self.ingest.queue_bytes)),
            ("ingest.batch_rows", wide(self.ingest.batch_rows)),
            ("triggers.backlog_bytes", self.triggers.backlog_bytes),
            ("http.connections_max", wide(self.http.connections_max)),
            ("http.peer_connections_max", wide(self.http.peer_connections_max)),
            ("http.header_timeout_seconds", self.http.header_timeout_seconds),
            ("http.body_bytes", wide(self.http.body_bytes)),
            ("http.peer_body_bytes", wide(self.http.peer_body_bytes)),
            ("http.body_timeout_seconds", self.http.body_timeout_seconds),
            ("http.body_grace_seconds", self.http.body_grace_seconds),
            ("http.idle_timeout_seconds", self.http.idle_timeout_seconds),
            (
                "limits.message_engagements_per_minute",
                self.limits.message_engagements_per_minute.into(),
            ),
            ("auth.unconfirmed_seconds", self.auth.unconfirmed_seconds),
            ("engines.clickhouse_memory_bytes", self.engines.clickhouse_memory_bytes),
            ("engines.clickhouse_connections", wide(self.engines.clickhouse_connections)),
            ("engines.postgres_connections", u64::from(self.engines.postgres_connections)),
            ("engines.postgres_wait_seconds", self.engines.postgres_wait_seconds),
            ("engines.postgres_statement_seconds", self.engines.postgres_statement_seconds),
            ("engines.postgres_lock_seconds", self.engines.postgres_lock_seconds),
            ("engines.clickhouse_query_seconds", self.engines.clickhouse_query_seconds),
            ("engines.clickhouse_queries", wide(self.engines.clickhouse_queries)),
            ("engines.clickhouse_queries_waiting", wide(self.engines.clickhouse_queries_waiting)),
        ]
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_host_and_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty()
            && !host.contains(|c: char| c.is_whitespace() || c == '/')
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// The spool needs room for this many segments: one written, one read, two recycled.
const SEGMENTS_MIN: u64 = 4;

fn url_as_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Url::parse(&text)
        .map(Some)
        .map_err(|error| serde::de::Error::custom(format!("not a URL: {error}")))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::Refused {
        source_name: "data_dir".to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
