//! Comparisons by all looks together, as `variant-stats` answers them.

use serde::Serialize;
use utoipa::ToSchema;

use super::number::{Bounds, Number};
use crate::model::sequential_result::{Sequential, SequentialMethod};

/// A comparison that may be looked at again and again: all looks together find a difference between equal variants as
/// rarely as a single look would.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SequentialComparison)]
pub(super) struct SequentialAnswer {
    method: SequentialMethod,
    /// Adjusted for the number of comparisons (Bonferroni); null before the first look.
    #[schema(value_type = Option<f64>)]
    p_value: Option<Number>,
    /// Of the lift, at all looks together; null where nothing can be said yet.
    interval: Option<Bounds>,
    is_significant: bool,
    /// Of an A/B test: the share of its time that was over at the last look, by which the error is spent.
    #[schema(value_type = Option<f64>)]
    information_fraction: Option<Number>,
    /// What the difference, in standard deviations, has to reach.
    #[schema(value_type = Option<f64>)]
    boundary: Option<Number>,
    /// Whether no more is expected: `isSignificant` of the comparison is that of a single look then.
    #[serde(rename = "final")]
    is_final: bool,
}

impl From<Sequential> for SequentialAnswer {
    fn from(found: Sequential) -> Self {
        Self {
            method: found.method,
            p_value: found.p_value.map(Number::of),
            interval: found.interval.map(Bounds::from),
            is_significant: found.is_significant,
            information_fraction: found.information_fraction.map(Number::of),
            boundary: found.boundary.map(Number::of),
            is_final: found.is_final,
        }
    }
}
