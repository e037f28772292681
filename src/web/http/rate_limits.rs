//! The rate limits of all routes.

use super::{
    failures::FailureRate,
    quota::WorkspaceQuota,
    rate::{AppRates, KeyedRate, RateLimit},
    work::WorkspaceWork,
};

/// The buckets of every class.
#[derive(Debug, Clone)]
pub struct RateLimits {
    /// For consent, lists, the preference page and suppressions.
    pub management: RateLimit,
    pub campaigns: RateLimit,
    /// For messages sent one by one.
    pub transactional: RateLimit,
    /// For opens and clicks of messages, by peer.
    pub links: KeyedRate,
    /// For short links that do not exist, by peer.
    pub short_links: FailureRate,
    pub test_sends: WorkspaceQuota,
    /// For requests of apps with an SDK key.
    pub sdk: AppRates,
    /// For what requests with an SDK key change about profiles.
    pub sdk_profile_work: WorkspaceWork,
}

impl RateLimits {
    pub const NONE: Self = Self {
        management: RateLimit::NONE,
        campaigns: RateLimit::NONE,
        transactional: RateLimit::NONE,
        links: KeyedRate::NONE,
        short_links: FailureRate::NONE,
        test_sends: WorkspaceQuota::NONE,
        sdk: AppRates::NONE,
        sdk_profile_work: WorkspaceWork::NONE,
    };
}
