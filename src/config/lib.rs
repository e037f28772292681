//! Settings: a flag beats an environment variable, which beats `millrace.toml`, which beats the default.
//!
//! `millrace.default.toml` beside this file documents every setting and is the one place its default
//! stands. It is merged with the other sources as TOML and read into [`Settings`] once, so a key that
//! nothing reads cannot exist in any source: it is refused by name.

mod callbacks;
mod channels;
mod delivery;
mod retention;
mod source;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use kernel::TrustedProxy;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

pub use self::{
    callbacks::{
        BasicCredentials, Callbacks, GenericCallbacks, Inbound, Mailgun, Resend, Sendgrid, Ses,
        WhatsappCallbacks,
    },
    channels::{
        Apns, Channels, Dkim, Fcm, Gateway, Headers, Infobip, Native, ProviderConfig, Smtp, Twilio,
        WebPush, Whatsapp,
    },
    delivery::{ANY_CHANNEL, CAP_HOURS_MAX, Cap, Delivery, QuietHours, Transactional},
    retention::Retention,
    source::{Environment, Flags},
};

/// Least length of a secret that signs sessions, in bytes: HS256 wants as many as its hash has.
pub const SESSION_SECRET_BYTES_MIN: usize = 32;

/// Longest time that a key may be taken without being confirmed.
const UNCONFIRMED_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// Least length of the master key, in bytes.
pub const MASTER_KEY_BYTES_MIN: usize = 32;

/// Why the settings cannot be used; one plain line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file was named but cannot be read.
    #[error("cannot read the settings file {}: {reason}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// One source holds something that is no setting, or no value for it.
    #[error("{source_name}: {reason}")]
    Refused {
        /// A file name, a variable or a flag.
        source_name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Everything an operator can set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Address of the API.
    pub listen: SocketAddr,
    /// Address of `/metrics`, `/livez`, `/readyz`.
    pub admin_listen: SocketAddr,
    /// Spool, files of the embedded engines, secrets. Absolute.
    pub data_dir: PathBuf,
    /// Base of links put into messages, when set; see [`Settings::public_url`].
    #[serde(default, deserialize_with = "url_as_text")]
    pub public_url: Option<Url>,
    /// A PostgreSQL to use instead of the embedded one.
    pub database_url: Option<SecretString>,
    /// A ClickHouse HTTP interface to use instead of the embedded one.
    pub clickhouse_url: Option<SecretString>,
    /// What the ClickHouse of that address is part of.
    #[serde(default)]
    pub clickhouse: ClickHouse,
    /// What this process does.
    pub roles: Vec<Role>,
    /// The log of acknowledged events.
    pub spool: Spool,
    /// From the spool into ClickHouse.
    pub ingest: Ingest,
    pub http: Http,
    /// What one credential may ask for.
    pub rate_limits: RateLimits,
    /// What is stored at most.
    pub limits: Limits,
    /// The embedded engines, and the pools that lead to any engine.
    pub engines: Engines,
    pub auth: Auth,
    /// What outgoing calls may reach.
    pub security: Security,
    pub sdk: Sdk,
    /// Who judges what emails look like to spam filters.
    #[serde(default)]
    pub spam: Spam,
    /// What events set off.
    pub triggers: Triggers,
    /// How messages are sent, and what holds them back.
    pub delivery: Delivery,
    /// What transactional messages may do that others may not.
    pub transactional: Transactional,
    /// What is deleted after how many days.
    pub retention: Retention,
    /// One provider a channel.
    #[serde(default)]
    pub channels: Channels,
    /// What may come back, and from whom.
    #[serde(default)]
    pub callbacks: Callbacks,
    /// Mail that comes back.
    #[serde(default)]
    pub inbound: Inbound,
    /// What the operator should be told once at start, in whole sentences without secrets.
    #[serde(skip)]
    pub notices: Vec<String>,
}

/// Something a process does, so that a deployment can scale each on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Answers the API and writes events.
    Api,
    Delivery,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spool {
    /// Bytes on disk at most.
    pub limit_bytes: u64,
    /// Bytes of one segment file.
    pub segment_bytes: u64,
    /// What an acknowledgement promises.
    pub durability: Durability,
}

/// What an acknowledged event has survived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// `fdatasync`: a power cut.
    Fsync,
    /// A write: a crash of the program, not one of the machine.
    Os,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Bytes of events waiting for the disk at most.
    pub queue_bytes: usize,
    /// Rows of one insert at most.
    pub batch_rows: usize,
    /// Milliseconds a row waits for its batch to fill at most.
    pub linger_ms: u64,
    /// Recent ids without a timestamp that are remembered.
    pub window_entries: usize,
    /// Seconds by which this machine's clock may be behind ClickHouse's, or behind what is stored.
    pub clock_behind_max_seconds: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClickHouse {
    /// Name of a cluster in `system.clusters`, on all servers of which tables are made, replicated; none:
    /// one server.
    pub cluster: Option<String>,
    /// Shards of the cluster; only 1 is supported.
    pub shards: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Open connections of a listener at most.
    pub connections_max: usize,
    /// Of these, connections of one peer that is no trusted proxy.
    pub peer_connections_max: usize,
    /// Seconds for a whole request head.
    pub header_timeout_seconds: u64,
    /// Seconds for a whole request body.
    pub body_timeout_seconds: u64,
    /// Bytes a second that a request body must bring on average; 0 for no such limit.
    pub body_rate_bytes: u32,
    /// Seconds after which that counts.
    pub body_grace_seconds: u64,
    /// Bytes of request bodies in flight at most, all together.
    pub body_bytes: usize,
    /// Of these, bytes of callers without a verified credential.
    pub public_body_bytes: usize,
    /// Of these, bytes of one peer.
    pub peer_body_bytes: usize,
    /// Percent of the rest that one workspace may hold.
    pub workspace_body_percent: usize,
    /// Seconds between two requests of a connection.
    pub idle_timeout_seconds: u64,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<TrustedProxy>,
}

impl Http {
    /// Bytes of request bodies of callers with a verified credential.
    pub fn verified_body_bytes(&self) -> usize {
        self.body_bytes.saturating_sub(self.public_body_bytes)
    }

    /// Of these, bytes of one workspace.
    pub fn workspace_body_bytes(&self) -> usize {
        self.verified_body_bytes() / 100 * self.workspace_body_percent
    }

    /// What is wrong with the amounts together: a key and the reason.
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
    /// Of subscriptions, lists and suppressions.
    pub management: Rate,
    pub campaigns: Rate,
    /// Of messages sent one by one.
    pub transactional: Rate,
    /// Of what apps do, by peer.
    pub sdk_peer: Rate,
    /// Of what apps do, by SDK key.
    pub sdk_key: Rate,
    /// Of opens and clicks of messages, by peer.
    pub links: Rate,
    /// Of credentials and short links that do not exist, by peer.
    pub failed_lookups: Rate,
    /// Of test sends, in each workspace.
    pub test_sends: RatePerMinute,
}

/// A rate of requests that a workspace has.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePerMinute {
    /// Requests in any minute; 0 for no limit.
    pub per_minute: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Opens of one message that are stored in a minute; likewise clicks.
    pub message_engagements_per_minute: u32,
}

/// A rate of requests.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests a second in the long run; 0 for no limit.
    pub per_second: u32,
    /// Requests at once after a silence; at least `per_second`.
    pub burst: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engines {
    /// Memory budget of the embedded ClickHouse, in bytes.
    pub clickhouse_memory_bytes: u64,
    /// Queries the embedded ClickHouse runs at once.
    pub clickhouse_connections: usize,
    /// Connections to PostgreSQL at most.
    pub postgres_connections: u32,
    /// Seconds a call waits for one of them before the store counts as unavailable.
    pub postgres_wait_seconds: u64,
    /// Seconds a statement may run in PostgreSQL.
    pub postgres_statement_seconds: u64,
    /// Seconds a statement waits for a lock in PostgreSQL.
    pub postgres_lock_seconds: u64,
    /// Seconds a question to ClickHouse may take, its wait for its turn included.
    pub clickhouse_query_seconds: u64,
    /// Questions to ClickHouse in flight at one time.
    pub clickhouse_queries: usize,
    /// Questions to ClickHouse that wait for their turn at most.
    pub clickhouse_queries_waiting: usize,
    /// Where engines are installed.
    pub cache_dir: Option<PathBuf>,
    /// A `libchdb` to use instead of an installed one.
    pub libchdb: Option<PathBuf>,
    /// A folder with `postgres` and `initdb` to use instead of installed ones.
    pub postgres_bin: Option<PathBuf>,
    /// Who runs PostgreSQL when Millrace runs as root.
    pub postgres_user: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    /// Bytes of the spool that events waiting for the triggers may keep from being freed.
    pub backlog_bytes: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Signs dashboard sessions; none: the data directory keeps one.
    pub session_secret: Option<SecretString>,
    /// Seconds that a key is taken without PostgreSQL having confirmed it.
    pub unconfirmed_seconds: u64,
    /// Likewise where events are tracked.
    pub unconfirmed_tracking_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// Whether a webhook may go to a loopback or private address.
    pub allow_private_webhook_targets: bool,
    /// What secrets in the stores are sealed with, and what is derived from it: at least
    /// [`MASTER_KEY_BYTES_MIN`] bytes; none: the data directory keeps one.
    pub master_key: Option<SecretString>,
    /// Certificate authorities trusted besides the public ones, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Answers for the records of sender domains; none: the resolvers that the system names.
    pub resolver: Option<SocketAddr>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sdk {
    /// Pages that may call `/v1` from a browser.
    pub allowed_origins: Vec<kernel::Origin>,
    /// Whether calls about a person need that person's user token.
    pub identity: kernel::Identity,
    /// Names of events that count from SDK keys as if a server had sent them.
    pub trusted_events: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spam {
    /// `host:port` of a SpamAssassin daemon; none: rules of our own.
    pub spamd: Option<String>,
}

/// Names in `[sdk] trusted_events`.
const TRUSTED_EVENTS_MAX: usize = 1000;
/// Characters of the name of an event.
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
    /// Reads flags, the environment, the settings file and the defaults.
    pub fn load(flags: &Flags) -> Result<Self, Error> {
        Self::from_sources(flags, &Environment::of_process())
    }

    /// Like [`Settings::load`], from a given environment.
    pub fn from_sources(flags: &Flags, environment: &Environment) -> Result<Self, Error> {
        let mut settings = source::merge(flags, environment)?;
        settings.data_dir = absolute(&settings.data_dir)?;
        settings.check()?;
        Ok(settings)
    }

    /// Base of links put into messages: what was set, else the API's address.
    pub fn public_url(&self) -> Url {
        self.public_url.clone().unwrap_or_else(|| {
            Url::parse(&format!("http://{}", self.listen))
                .expect("a socket address is a valid authority")
        })
    }

    /// Whether this process has `role`.
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// What the types alone cannot hold.
    fn check(&self) -> Result<(), Error> {
        let refuse = |key: &str, reason: &str| {
            Err(Error::Refused { source_name: key.to_owned(), reason: reason.to_owned() })
        };
        if self.roles.is_empty() {
            return refuse("roles", "must name at least one of `api` and `delivery`");
        }
        self.channels.carriers()?;
        self.channels.from_domains()?;
        if self.listen == self.admin_listen && self.listen.port() != 0 {
            return refuse("admin_listen", "must differ from `listen`");
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
        if let Some((key, reason)) = self.retention.fault() {
            return refuse(key, &reason);
        }
        for (key, value) in self.counts() {
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

    /// Settings of which none is no sensible amount.
    fn counts(&self) -> [(&'static str, u64); 22] {
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

/// Segments the spool must have room for: one written, one read, two recycled.
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
