//! `abTestConfig`: how variants are tried on some before the best goes to all (DECISIONS F7).

use std::ops::RangeInclusive;

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Share of the audience in the trial, in percent.
pub const TEST_PERCENTAGE: RangeInclusive<f64> = 1.0..=100.0;
/// Share without one, in percent.
pub const TEST_PERCENTAGE_DEFAULT: f64 = 20.0;
/// Longest trial, in hours: thirty days.
pub const TEST_DURATION_HOURS_MAX: u32 = 720;
/// Trial without a length, in hours.
pub const TEST_DURATION_HOURS_DEFAULT: u32 = 4;
/// Most recipients that may be asked of each variant.
pub const MIN_SAMPLE_MAX: u32 = 1_000_000;
/// Recipients asked of each variant where nothing else is said.
pub const MIN_SAMPLE_DEFAULT: u32 = 100;
/// Confidence a winner needs.
pub const CONFIDENCE: RangeInclusive<f64> = 0.5..=0.999;
/// Confidence where nothing else is said.
pub const CONFIDENCE_DEFAULT: f64 = 0.95;

/// What the best variant is best at.
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
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("open_rate", Self::OpenRate),
        ("click_rate", Self::ClickRate),
        ("conversion_rate", Self::ConversionRate),
        ("revenue_per_recipient", Self::RevenuePerRecipient),
    ];
}

/// Who picks the winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinnerSelection {
    /// The service, when the trial ends.
    #[default]
    Automatic,
    Manual,
}

impl WinnerSelection {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("automatic", Self::Automatic), ("manual", Self::Manual)];
}

/// What happens when no variant is surely the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IfInconclusive {
    /// The one that did best so far goes to all.
    #[default]
    SendBest,
    /// Nobody else gets anything.
    Stop,
}

impl IfInconclusive {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("send_best", Self::SendBest), ("stop", Self::Stop)];
}

/// How variants are tried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbTestConfig {
    /// Whether they are; they are without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Share of the audience in the trial, 1 to 100; 20 without a word.
    #[serde(serialize_with = "super::plain", skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 1, maximum = 100)]
    pub test_percentage: Option<f64>,
    /// What the best is best at; `open_rate` without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_metric: Option<WinnerMetric>,
    /// Who picks it; `automatic` without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner_selection: Option<WinnerSelection>,
    /// Length of the trial, 1 to 720 hours; 4 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 720)]
    pub test_duration_hours: Option<u32>,
    /// Recipients of each variant before anything is concluded, 1 to 1,000,000; 100 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub min_sample_per_variant: Option<u32>,
    /// Confidence a winner needs, 0.5 to 0.999; 0.95 without a word.
    #[serde(serialize_with = "super::plain", skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 0.5, maximum = 0.999)]
    pub confidence_level: Option<f64>,
    /// What happens without a winner; `send_best` without a word.
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
    /// Whether variants are tried.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// Share of the audience in the trial, in percent.
    pub fn test_percentage(&self) -> f64 {
        self.test_percentage.unwrap_or(TEST_PERCENTAGE_DEFAULT)
    }

    /// What the best is best at.
    pub fn winner_metric(&self) -> WinnerMetric {
        self.winner_metric.unwrap_or_default()
    }

    pub fn winner_selection(&self) -> WinnerSelection {
        self.winner_selection.unwrap_or_default()
    }

    /// Length of the trial, in hours.
    pub fn test_duration_hours(&self) -> u32 {
        self.test_duration_hours.unwrap_or(TEST_DURATION_HOURS_DEFAULT)
    }

    /// Recipients of each variant before anything is concluded.
    pub fn min_sample_per_variant(&self) -> u32 {
        self.min_sample_per_variant.unwrap_or(MIN_SAMPLE_DEFAULT)
    }

    /// Confidence a winner needs.
    pub fn confidence_level(&self) -> f64 {
        self.confidence_level.unwrap_or(CONFIDENCE_DEFAULT)
    }

    /// What happens without a winner.
    pub fn if_inconclusive(&self) -> IfInconclusive {
        self.if_inconclusive.unwrap_or_default()
    }
}
