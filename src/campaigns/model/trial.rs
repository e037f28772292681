//! The progress of a campaign's A/B test.

use std::collections::BTreeMap;

use kernel::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Campaign, Status, settings::ab_test::AbTestConfig};

/// Phase of an A/B test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It has not started.
    None,
    /// Variants are being tested.
    Testing,
    /// The winner is sent to all.
    WinnerSent,
    /// It ended without a winner.
    Inconclusive,
}

impl Phase {
    /// The phase as the API writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Testing => "testing",
            Self::WinnerSent => "winner_sent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How an A/B test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A variant won significantly.
    Won,
    /// No variant won significantly; the best one is sent to the rest.
    BestSent,
    /// No variant won significantly; the rest gets nothing.
    Stopped,
    /// The winner was selected by hand.
    Selected,
}

/// The end of an A/B test, as it was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TrialVerdict)]
pub struct TrialVerdict {
    /// Messages decided later belong to the roll-out.
    pub at: Timestamp,
    pub decision: Decision,
    /// The p-value of the best variant against each other one, by the id of the other, adjusted for their number (Holm).
    /// Empty if the winner was selected by hand.
    pub p_values: BTreeMap<String, f64>,
}

/// Progress of an A/B test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    pub phase: Phase,
    /// The variant that won, once one has.
    pub winner_variant_id: Option<String>,
    /// Number of the test, from 1; `retest-ab` starts another.
    pub round: u32,
    /// The variant that won the previous test.
    #[serde(default)]
    pub previous_winner_variant_id: Option<String>,
    /// When its first messages were sent.
    #[serde(default)]
    pub began_at: Option<Timestamp>,
    /// The last occurrence before it.
    #[serde(default)]
    pub after_occurrence: i32,
    /// How it ended; absent while it runs, and of tests that ended before verdicts were kept.
    #[serde(default)]
    pub verdict: Option<TrialVerdict>,
}

impl Trial {
    /// The A/B test of a campaign, if it has one.
    pub fn of(campaign: &Campaign) -> Option<Self> {
        campaign
            .definition
            .ab_test_config
            .as_ref()
            .filter(|config| AbTestConfig::is_enabled(config))?;
        let kept = campaign.state.ab.clone().and_then(|kept| serde_json::from_value(kept).ok());
        Some(kept.unwrap_or_else(|| {
            let is_live = matches!(campaign.state.status, Status::Active);
            let phase = if is_live { Phase::Testing } else { Phase::None };
            Self {
                phase,
                winner_variant_id: None,
                round: 1,
                previous_winner_variant_id: None,
                began_at: None,
                after_occurrence: 0,
                verdict: None,
            }
        }))
    }

    /// The next test, of a campaign with `occurrence` runs so far.
    #[must_use]
    pub fn next(&self, occurrence: i32) -> Self {
        Self {
            phase: Phase::Testing,
            winner_variant_id: None,
            round: self.round.saturating_add(1),
            previous_winner_variant_id: self.winner_variant_id.clone(),
            began_at: None,
            after_occurrence: occurrence,
            verdict: None,
        }
    }
}
