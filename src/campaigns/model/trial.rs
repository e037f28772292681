//! The progress of a campaign's A/B test.

use std::collections::BTreeMap;

use kernel::{
    Timestamp,
    time::{HOUR, millis},
};
use serde::{Deserialize, Serialize};
use statistics::sequential::group;
use utoipa::ToSchema;

use super::{Campaign, settings::ab_test::AbTestConfig};

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

/// A look at an A/B test while it runs: how its variants compared with the baseline then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TrialLook)]
pub struct TrialLook {
    pub at: Timestamp,
    /// Share of the test's time that was over, above 0 and at most 1.
    pub time: f64,
    /// By the id of the variant; those whose samples were too small for a comparison are absent.
    pub variants: BTreeMap<String, LookResult>,
}

/// How a variant compared with the baseline at a look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TrialLookResult)]
pub struct LookResult {
    /// The difference in standard deviations.
    pub z: f64,
    /// What was seen so far, in a unit of its own that only grows.
    pub information: f64,
    /// The difference is significant where `z` reaches this on either side, adjusted for the number of comparisons
    /// (Bonferroni).
    pub boundary: f64,
    /// The smallest error at which a boundary would have been reached at this look or before, for one comparison.
    pub p_value: f64,
    /// The lower end of the lift's interval, which holds at all looks together; absent where nothing can be said yet.
    #[serde(default)]
    pub lift_lower: Option<f64>,
    /// The upper end of the lift's interval.
    #[serde(default)]
    pub lift_upper: Option<f64>,
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
    /// The looks at it so far, at most one for each sixteenth of its time.
    #[serde(default)]
    pub looks: Vec<TrialLook>,
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
            let is_live = campaign.is_active_or_paused();
            let phase = if is_live { Phase::Testing } else { Phase::None };
            Self {
                phase,
                winner_variant_id: None,
                round: 1,
                previous_winner_variant_id: None,
                began_at: None,
                after_occurrence: 0,
                looks: Vec::new(),
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
            looks: Vec::new(),
            verdict: None,
        }
    }

    /// The share of its time that is over, at most 1; none before its first messages were sent.
    pub fn share_of_time(&self, config: &AbTestConfig, now: Timestamp) -> Option<f64> {
        let passed = now.millis().saturating_sub(self.began_at?.millis()).max(0);
        let whole = millis(HOUR * config.test_duration_hours());
        #[expect(clippy::cast_precision_loss, reason = "a month of milliseconds is exact")]
        let share = passed as f64 / whole as f64;
        Some(share.min(1.0))
    }

    /// Whether so much of its time is over since the last look that another is taken.
    pub fn is_look_due(&self, share_of_time: f64) -> bool {
        self.is_running() && group::is_due(self.looks.last().map(|look| look.time), share_of_time)
    }

    /// Whether it has ended, or its time is over.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::WinnerSent | Phase::Inconclusive)
            || self.looks.last().is_some_and(|look| look.time >= 1.0)
    }

    /// Whether its variants are still being tested.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Testing
    }
}
