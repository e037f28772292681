//! `resendPolicy` and `resendCooldownDays`: the recipients of a campaign that is sent again.

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Longest window of the policy `cooldown`, in days: ten years.
pub const COOLDOWN_DAYS_MAX: u32 = 3650;

/// The recipients of a campaign that is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResendPolicy {
    /// Recipients who did not get it before.
    #[default]
    OnlyNew,
    Everyone,
    /// All except recipients of the last `resendCooldownDays` days.
    Cooldown,
}

impl ResendPolicy {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("only_new", Self::OnlyNew), ("everyone", Self::Everyone), ("cooldown", Self::Cooldown)];
}

/// Reads both fields of a campaign. A draft may lack the days of a cooldown; a launch may not.
pub fn read(body: &mut Fields<'_>) -> (ResendPolicy, Option<u32>) {
    let policy = body.optional("resendPolicy").one_of(ResendPolicy::NAMED).unwrap_or_default();
    (policy, whole(body.optional("resendCooldownDays"), 1..=COOLDOWN_DAYS_MAX))
}
