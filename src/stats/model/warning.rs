//! Warnings of reports: a code for programs, a sentence for people.

use serde::Serialize;
use utoipa::ToSchema;

/// Why a number of a report should be read with care.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The campaign tracks no conversions.
    NoConversions,
    /// The control group has fewer people than this.
    ControlSmall(u64),
    /// Fewer recipients than this on one side of a comparison.
    FewRecipients(u64),
    /// Fewer successes or failures than this are expected on one side of a comparison.
    FewExpected(f64),
    /// Fewer people than this have paid on one side of a comparison of revenue.
    FewPayers(usize),
    /// A variant has fewer recipients than the A/B test asks for.
    BelowMinSample(u64),
    /// The control group has no messages to open or click in.
    ControlHasNoMessages,
    /// Attribution windows are still open: this share of them is over.
    WindowsOpen(f64),
    /// Orders are in several currencies; the main one is named.
    MixedCurrencies(String),
    /// The shares of failed messages differ between variants; the p-value of that.
    DifferentialFailure(f64),
    /// The effect of these variants becomes smaller from sending to sending.
    EffectFades(String),
    /// People did too much before for comparisons to be adjusted by it.
    HistoryTooLarge,
    /// Rewards are still to come, so that variants with quick rewards look better than they are.
    FasterVariantsLookBetter,
}

impl Warning {
    /// The code of the warning, which stays the same.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoConversions => "no_conversion_tracking",
            Self::ControlSmall(_) => "control_small",
            Self::FewRecipients(_) => "few_recipients",
            Self::FewExpected(_) => "few_expected",
            Self::FewPayers(_) => "few_payers",
            Self::BelowMinSample(_) => "below_min_sample",
            Self::ControlHasNoMessages => "control_has_no_messages",
            Self::WindowsOpen(_) => "windows_open",
            Self::MixedCurrencies(_) => "mixed_currencies",
            Self::DifferentialFailure(_) => "differential_failure",
            Self::EffectFades(_) => "effect_fades",
            Self::HistoryTooLarge => "history_too_large",
            Self::FasterVariantsLookBetter => "faster_variants_look_better",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NoConversions => {
                "No conversions are counted, because conversionTracking is absent.".to_owned()
            }
            Self::ControlSmall(people) => format!(
                "The control group has fewer than {people} people: only large effects can be seen."
            ),
            Self::FewRecipients(least) => {
                format!("One side has fewer than {least} recipients: wait for more.")
            }
            Self::FewExpected(least) => format!(
                "Fewer than {least} successes or failures are to be expected on one side: wait for more."
            ),
            Self::FewPayers(least) => {
                format!("Fewer than {least} people have paid on one side: wait for more.")
            }
            Self::BelowMinSample(least) => format!(
                "A variant has fewer than {least} recipients, the minSamplePerVariant of the A/B test: \
                 no result is shown before."
            ),
            Self::ControlHasNoMessages => {
                "The control group gets no messages to open or click in.".to_owned()
            }
            Self::WindowsOpen(closed) => format!(
                "Conversions are still coming in: {:.0} % of the attribution windows are over.",
                closed * 100.0
            ),
            Self::MixedCurrencies(main) => format!(
                "Orders are in several currencies, which are not added up: totals and comparisons are in \
                 {main}, the currency of most orders. Set the currency of the workspace, or send \
                 total_base and base_currency with each order."
            ),
            Self::DifferentialFailure(_) => {
                "More messages fail in one variant than in another, so those who received them are no \
                 longer comparable. Compare by all who were assigned."
                    .to_owned()
            }
            Self::EffectFades(variants) => format!(
                "The effect of {variants} becomes smaller from sending to sending: what all of them show \
                 together promises too much for the next."
            ),
            Self::HistoryTooLarge => {
                "The campaign is too large, or people did too much in the 90 days before it, for an adjusted \
                 comparison to be computed with the report."
                    .to_owned()
            }
            Self::FasterVariantsLookBetter => {
                "Rewards are still to come: a variant whose rewards come sooner looks better than it is \
                 until the reward windows are over."
                    .to_owned()
            }
        }
    }
}

/// A warning of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = StatsWarning)]
pub struct WarningAnswer {
    /// Stays the same; for programs.
    code: &'static str,
    /// A sentence for people.
    message: String,
}

impl From<&Warning> for WarningAnswer {
    fn from(warning: &Warning) -> Self {
        Self { code: warning.code(), message: warning.message() }
    }
}
