//! `abTestConfig`: variants are tested on a part of the audience before the best is sent to the rest.

use std::ops::RangeInclusive;

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Share of the audience in the test, in percent.
pub const TEST_PERCENTAGE: RangeInclusive<f64> = 1.0..=100.0;
/// Default share, in percent.
pub const TEST_PERCENTAGE_DEFAULT: f64 = 20.0;
/// Longest test, in hours: thirty days.
pub const TEST_DURATION_HOURS_MAX: u32 = 720;
/// Default length, in hours.
pub const TEST_DURATION_HOURS_DEFAULT: u32 = 4;
/// Largest required sample of each variant.
pub const MIN_SAMPLE_MAX: u32 = 1_000_000;
/// Default sample of each variant.
pub const MIN_SAMPLE_DEFAULT: u32 = 100;
/// Confidence required of a winner.
pub const CONFIDENCE: RangeInclusive<f64> = 0.5..=0.999;
pub const CONFIDENCE_DEFAULT: f64 = 0.95;

/// The metric that the winner is selected by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinnerMetric {
    #[default]
    OpenRate,
    ClickRate,
    ConversionRate,
    RevenuePerRecipient,
}

impl WinnerMetric {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("open_rate", Self::OpenRate),
        ("click_rate", Self::ClickRate),
        ("conversion_rate", Self::ConversionRate),
        ("revenue_per_recipient", Self::RevenuePerRecipient),
    ];
}

/// How the winner is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinnerSelection {
    /// Automatically, at the end of the test.
    #[default]
    Automatic,
    Manual,
}

impl WinnerSelection {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("automatic", Self::Automatic), ("manual", Self::Manual)];
}

/// What happens if no variant wins significantly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IfInconclusive {
    /// The best so far is sent to the rest.
    #[default]
    SendBest,
    /// No further messages are sent.
    Stop,
}

impl IfInconclusive {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("send_best", Self::SendBest), ("stop", Self::Stop)];
}

/// The settings of an A/B test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbTestConfig {
    /// Whether there is a test; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Share of the audience in the test, 1 to 100; default 20.
    #[serde(serialize_with = "super::plain", skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 1, maximum = 100)]
    pub test_percentage: Option<f64>,
    /// The metric that the winner is selected by; default `open_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_metric: Option<WinnerMetric>,
    /// How the winner is selected; default `automatic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_selection: Option<WinnerSelection>,
    /// Length of the test, 1 to 720 hours; default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 720)]
    pub test_duration_hours: Option<u32>,
    /// Required recipients of each variant, 1 to 1,000,000; default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub min_sample_per_variant: Option<u32>,
    /// Confidence required of a winner, 0.5 to 0.999; default 0.95.
    #[serde(serialize_with = "super::plain", skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 0.5, maximum = 0.999)]
    pub confidence_level: Option<f64>,
    /// What happens without a winner; default `send_best`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_inconclusive: Option<IfInconclusive>,
}

impl FromFields for AbTestConfig {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            enabled: body.optional("enabled").bool(),
            test_percentage: body.optional("testPercentage").number(TEST_PERCENTAGE),
            winner_metric: body.optional("winnerMetric").one_of(WinnerMetric::NAMED),
            winner_selection: body.optional("winnerSelection").one_of(WinnerSelection::NAMED),
            test_duration_hours: whole(
                body.optional("testDurationHours"),
                1..=TEST_DURATION_HOURS_MAX,
            ),
            min_sample_per_variant: whole(body.optional("minSamplePerVariant"), 1..=MIN_SAMPLE_MAX),
            confidence_level: body.optional("confidenceLevel").number(CONFIDENCE),
            if_inconclusive: body.optional("ifInconclusive").one_of(IfInconclusive::NAMED),
        }
    }
}

impl AbTestConfig {
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    pub fn test_percentage(&self) -> f64 {
        self.test_percentage.unwrap_or(TEST_PERCENTAGE_DEFAULT)
    }

    pub fn winner_metric(&self) -> WinnerMetric {
        self.winner_metric.unwrap_or_default()
    }

    pub fn winner_selection(&self) -> WinnerSelection {
        self.winner_selection.unwrap_or_default()
    }

    pub fn test_duration_hours(&self) -> u32 {
        self.test_duration_hours.unwrap_or(TEST_DURATION_HOURS_DEFAULT)
    }

    pub fn min_sample_per_variant(&self) -> u32 {
        self.min_sample_per_variant.unwrap_or(MIN_SAMPLE_DEFAULT)
    }

    pub fn confidence_level(&self) -> f64 {
        self.confidence_level.unwrap_or(CONFIDENCE_DEFAULT)
    }

    pub fn if_inconclusive(&self) -> IfInconclusive {
        self.if_inconclusive.unwrap_or_default()
    }
}
