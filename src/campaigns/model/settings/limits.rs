//! `sendVolumeLimit` and `sendRateLimit`: how many messages a campaign may send, and how fast.

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Messages of a volume limit.
pub const SENDS_MAX: u32 = 1_000_000_000;
/// Messages a minute of a rate limit.
pub const RATE_PER_MINUTE_MAX: u32 = 10_000_000;

/// What a volume limit counts (DECISIONS F13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cadence {
    /// All messages of the campaign together.
    #[default]
    Lifetime,
    /// The messages of one occurrence.
    PerSend,
}

impl Cadence {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("lifetime", Self::Lifetime), ("per_send", Self::PerSend)];
}

/// How many messages a campaign may send. Whom it leaves out is decided by hash, the same each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendVolumeLimit {
    /// Whether it holds; it does without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Messages, 1 to 1,000,000,000; needed while it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub max_sends: Option<u32>,
    /// What is counted; `lifetime` without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cadence: Option<Cadence>,
}

impl FromFields for SendVolumeLimit {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let limit = Self {
            enabled: body.optional("enabled").bool(),
            max_sends: whole(body.optional("maxSends"), 1..=SENDS_MAX),
            cadence: body.optional("cadence").one_of(Cadence::NAMED),
        };
        need_number(body, "maxSends", limit.enabled);
        limit
    }
}

impl SendVolumeLimit {
    /// The messages it allows, where it holds.
    pub fn max_sends(&self) -> Option<u32> {
        self.max_sends.filter(|_| self.enabled != Some(false))
    }

    pub fn cadence(&self) -> Cadence {
        self.cadence.unwrap_or_default()
    }
}

/// How fast a campaign may send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendRateLimit {
    /// Whether it holds; it does without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Messages a minute, 1 to 10,000,000; needed while it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub max_per_minute: Option<u32>,
}

impl FromFields for SendRateLimit {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let limit = Self {
            enabled: body.optional("enabled").bool(),
            max_per_minute: whole(body.optional("maxPerMinute"), 1..=RATE_PER_MINUTE_MAX),
        };
        need_number(body, "maxPerMinute", limit.enabled);
        limit
    }
}

impl SendRateLimit {
    /// The messages a minute it allows, where it holds.
    pub fn max_per_minute(&self) -> Option<u32> {
        self.max_per_minute.filter(|_| self.enabled != Some(false))
    }
}

/// A limit that holds has a number.
fn need_number(body: &mut Fields<'_>, field: &str, enabled: Option<bool>) {
    if enabled != Some(false) && body.optional(field).unjudged().is_null() {
        body.refuse(field, "is required unless enabled is false");
    }
}
