//! `sendVolumeLimit` and `sendRateLimit`: the number of messages of a campaign, and their rate.

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

pub const SENDS_MAX: u32 = 1_000_000_000;
pub const RATE_PER_MINUTE_MAX: u32 = 10_000_000;

/// The period of a volume limit.
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
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("lifetime", Self::Lifetime), ("per_send", Self::PerSend)];
}

/// The maximum number of messages of a campaign. The excluded recipients are selected by a hash, the same
/// each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendVolumeLimit {
    /// Whether the limit is active; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Messages, 1 to 1,000,000,000; required while the limit is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub max_sends: Option<u32>,
    /// The period; default `lifetime`.
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
    /// The maximum, if the limit is active.
    pub fn max_sends(&self) -> Option<u32> {
        self.max_sends.filter(|_| self.enabled != Some(false))
    }

    pub fn cadence(&self) -> Cadence {
        self.cadence.unwrap_or_default()
    }
}

/// The maximum sending rate of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendRateLimit {
    /// Whether the limit is active; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Messages a minute, 1 to 10,000,000; required while the limit is active.
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
    /// The maximum, if the limit is active.
    pub fn max_per_minute(&self) -> Option<u32> {
        self.max_per_minute.filter(|_| self.enabled != Some(false))
    }
}

/// An active limit needs a number.
fn need_number(body: &mut Fields<'_>, field: &str, enabled: Option<bool>) {
    if enabled != Some(false) && body.optional(field).unchecked().is_null() {
        body.refuse(field, "is required unless enabled is false");
    }
}
