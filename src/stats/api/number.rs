//! Numbers in JSON: integers without a fraction, others rounded.

use serde::{Serialize, Serializer};
use statistics::proportion::Interval;

/// Largest number written as an integer: every JSON parser represents it exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Money is rounded to ten thousandths.
const MONEY_UNITS: f64 = 1e4;
/// Parts of events are rounded to millionths.
const PART_UNITS: f64 = 1e6;

/// A number in its shortest form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number(f64);

impl Number {
    pub(super) fn of(value: f64) -> Self {
        Self(value)
    }

    /// Money, to ten thousandths.
    pub(super) fn money(value: f64) -> Self {
        Self((value * MONEY_UNITS).round() / MONEY_UNITS)
    }

    /// Parts of events, to millionths.
    pub(super) fn parts(value: f64) -> Self {
        Self((value * PART_UNITS).round() / PART_UNITS)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < WHOLE_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// What open and click rates are a share of.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RateBase {
    /// The messages that were sent and did not bounce, whatever deliveries the provider reports.
    SentNotBounced,
}

/// Both ends of an interval.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
#[schema(as = StatsInterval)]
pub(super) struct Bounds {
    #[schema(value_type = f64)]
    lower: Number,
    #[schema(value_type = f64)]
    upper: Number,
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Self {
        Self { lower: Number::of(interval.lower), upper: Number::of(interval.upper) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        let written = |number: Number| serde_json::to_string(&number).unwrap();
        assert_eq!(written(Number::of(2.0)), "2");
        assert_eq!(written(Number::of(0.25)), "0.25");
        assert_eq!(written(Number::of(-0.0)), "0");
        assert_eq!(written(Number::parts(1.0 / 3.0 + 2.0 / 3.0 - 1e-12)), "1");
        assert_eq!(written(Number::money(10.1 + 20.2)), "30.3");
        assert_eq!(written(Number::of(1e300)), "1e+300");
        assert_eq!(written(Number::of(f64::NAN)), "null");
    }
}
