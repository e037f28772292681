//! What a comparison says by all looks at it together.

use serde::Serialize;
use statistics::proportion::Interval;
use utoipa::ToSchema;

/// How the looks at a comparison count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SequentialMethod)]
pub enum SequentialMethod {
    /// Looks at an A/B test whose end is known: each spends a part of the error (Lan and DeMets 1983).
    GroupSequential,
    /// No known end: an interval that holds at all sample sizes together (Waudby-Smith et al., arXiv:2103.06476).
    ConfidenceSequence,
}

/// A comparison by all looks together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequential {
    pub method: SequentialMethod,
    /// Adjusted for the number of comparisons (Bonferroni). None before the first look.
    pub p_value: Option<f64>,
    /// Where the lift lies, at all looks together.
    pub interval: Option<Interval>,
    pub is_significant: bool,
    /// Share of the test's time that was over at the last look.
    pub information_fraction: Option<f64>,
    /// What the difference, in standard deviations, has to reach.
    pub boundary: Option<f64>,
    /// Whether nothing more is expected: a single comparison is right then.
    pub is_final: bool,
}

impl Sequential {
    /// Leaves out what would look like a result.
    #[must_use]
    pub fn without_result(self) -> Self {
        Self { p_value: None, interval: None, is_significant: false, boundary: None, ..self }
    }
}
