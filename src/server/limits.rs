//! The limits of the settings, as the parts of the server take them.

use std::time::Duration;

use analytics::ReadLimits;
use config::Settings;
use engines::DataDir;
use ingest::spool::SpoolOptions;
use web::{
    auth::LookUpLimit,
    http::{
        BodyLimits, TrustedProxies,
        failures::FailureRate,
        quota::WorkspaceQuota,
        rate::{AppRates, KeyedRate, Rate, RateClass, RateLimit},
        rate_limits::RateLimits,
        work::WorkspaceWork,
    },
};

/// Disk space that the spool leaves free.
pub(crate) const SPOOL_RESERVE_BYTES: u64 = 512 << 20;
/// Longest pause within a request body.
const BODY_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Questions stand back for acknowledgements and inserts, and statements in SQL for questions.
const READ_NICE: u8 = 10;

pub(super) fn body_limits(settings: &config::Http) -> BodyLimits {
    BodyLimits {
        verified_bytes: settings.verified_body_bytes(),
        workspace_bytes: settings.workspace_body_bytes(),
        public_bytes: settings.public_body_bytes,
        peer_bytes: settings.peer_body_bytes,
        silence_max: BODY_SILENCE_MAX,
        arrival_max: Duration::from_secs(settings.body_timeout_seconds),
        grace: Duration::from_secs(settings.body_grace_seconds),
        rate_min: settings.body_rate_bytes,
    }
}

pub(super) fn read_limits(settings: &Settings) -> ReadLimits {
    let engines = &settings.engines;
    ReadLimits {
        time_max: Duration::from_secs(engines.clickhouse_query_seconds),
        queries_max: engines.clickhouse_queries,
        waiting_max: engines.clickhouse_queries_waiting,
        nice: settings.clickhouse_url.is_none().then_some(READ_NICE),
    }
}

fn rate(set: config::Rate) -> Rate {
    Rate { per_second: set.per_second, burst: set.burst }
}

pub(super) fn look_up_limit(settings: &Settings) -> LookUpLimit {
    LookUpLimit {
        rate: FailureRate::new("unknown_keys", rate(settings.rate_limits.failed_lookups)),
        proxies: TrustedProxies::new(&settings.http.trusted_proxies),
    }
}

pub(super) fn rate_limits(settings: &config::RateLimits) -> RateLimits {
    let limit = |class, set: config::Rate| RateLimit::new(class, rate(set));
    RateLimits {
        management: limit(RateClass::Management, settings.management),
        campaigns: limit(RateClass::Campaigns, settings.campaigns),
        transactional: limit(RateClass::Transactional, settings.transactional),
        links: KeyedRate::new("links", rate(settings.links)),
        short_links: FailureRate::new("unknown_short_links", rate(settings.failed_lookups)),
        test_sends: WorkspaceQuota::per_minute("test_sends", settings.test_sends.per_minute),
        sdk: AppRates::new(rate(settings.sdk_peer), rate(settings.sdk_key)),
        sdk_profile_work: WorkspaceWork::new("sdk_profile_work", rate(settings.sdk_profile_work)),
    }
}

/// The settings of the spool.
pub(super) fn spool_options(settings: &Settings, data_dir: &DataDir) -> SpoolOptions {
    SpoolOptions {
        dir: data_dir.spool(),
        segment_bytes: settings.spool.segment_bytes,
        limit_bytes: settings.spool.limit_bytes,
        reserve_bytes: SPOOL_RESERVE_BYTES,
        queue_bytes: settings.ingest.queue_bytes,
        durability: match settings.spool.durability {
            config::Durability::Fsync => ingest::spool::Durability::Fsync,
            config::Durability::Os => ingest::spool::Durability::Os,
        },
    }
}
