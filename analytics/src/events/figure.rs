//! A number as JSON text: exact, and never in the form `1e+2`.

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

/// How many units one whole is: sums are kept in millionths (6 decimal places).
const UNITS_PER_WHOLE: i128 = 1_000_000;

/// A number in plain decimal notation, valid as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure(String);

impl Figure {
    /// A number as it is. `None` for what JSON has no number for.
    pub fn from_f64(value: f64) -> Option<Self> {
        // Rust prints the shortest digits that read back as the same number, without exponents.
        (value.is_finite()).then(|| Self(format!("{}", value + 0.0)))
    }

    /// A sum: whole millionths, and what of the values lay below a millionth or beyond what
    /// millionths can hold. Rounded to 6 decimal places.
    pub(crate) fn from_sum(units: i128, rest: f64) -> Option<Self> {
        // 1e31 wholes are 1e37 units; an i128 holds 1.7e38.
        if rest.abs() < 1e31 && units.unsigned_abs() < 10_u128.pow(37) {
            // Apart, so that a large whole part keeps its digits.
            let (whole, fraction) = (rest.trunc(), (rest.fract() * 1e6).round());
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the comparison above")]
            let (whole, fraction) = (whole as i128, fraction as i128);
            return Some(Self(decimal_text(units + whole * UNITS_PER_WHOLE + fraction)));
        }
        Self::from_f64(lossy(units) / 1e6 + rest)
    }

    /// The mean of `count` values of that sum, or `None` of none.
    pub(crate) fn from_mean(units: i128, rest: f64, count: u64) -> Option<Self> {
        if count == 0 {
            return None;
        }
        // One division, correctly rounded: 0.1 + 0.1 + 0.1 over 3 is 0.1, not 0.09999999999999999.
        let whole = lossy(units) / (lossy(i128::from(count)) * 1e6);
        Self::from_f64(whole + rest / lossy(i128::from(count)))
    }

    /// The figure of a count.
    pub fn from_count(count: u64) -> Self {
        Self(count.to_string())
    }

    /// How often `count` has `of` in it; none of nothing.
    pub fn ratio(count: u64, of: u64) -> Option<Self> {
        if of == 0 {
            None
        } else {
            Self::from_f64(lossy(i128::from(count)) / lossy(i128::from(of)))
        }
    }

    /// As a float, for arithmetic that need not be exact.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The number in decimal, as JSON has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

fn lossy(units: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is wanted")]
    let nearest = units as f64;
    nearest
}

fn decimal_text(units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    let per_whole = UNITS_PER_WHOLE.unsigned_abs();
    let (whole, fraction) = (units / per_whole, units % per_whole);
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{fraction:06}");
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_are_plain_decimals() {
        let cases = [
            (0, 0.0, "0"),
            (300_000, 0.0, "0.3"),
            (10_000_000, 0.0, "10"),
            (-1, 0.0, "-0.000001"),
            (-1_500_000, 0.0, "-1.5"),
            (100_000_000, 0.0, "100"),
            (0, 0.000_000_4, "0"),
            (0, 0.000_000_6, "0.000001"),
            (1_000_000, 1e-7 * 10_000_000.0, "2"),
            (500_000, 1e20, "100000000000000000000.5"),
            (0, -1.25, "-1.25"),
            (123_456_789_012_345_678_901_234_567, 0.0, "123456789012345678901.234567"),
        ];
        for (units, rest, text) in cases {
            let figure = Figure::from_sum(units, rest).map(|figure| figure.0);
            assert_eq!(figure.as_deref(), Some(text), "{units} {rest}");
        }
    }

    #[test]
    fn a_sum_past_every_decimal_is_still_a_number() {
        let figure = Figure::from_sum(0, 1e300).expect("finite");
        assert!((figure.as_f64() - 1e300).abs() < 1e285);
        assert!(!figure.as_str().contains('e'));
        assert_eq!(Figure::from_sum(0, f64::INFINITY), None);
    }

    #[test]
    fn means_are_one_division() {
        let cases = [(300_000, 3, "0.1"), (10_000_000, 4, "2.5"), (-3_000_000, 2, "-1.5")];
        for (units, count, text) in cases {
            let mean = Figure::from_mean(units, 0.0, count).map(|figure| figure.0);
            assert_eq!(mean.as_deref(), Some(text));
        }
        assert_eq!(Figure::from_mean(0, 0.0, 0), None);
    }

    proptest! {
        #[test]
        fn every_result_is_a_json_number(value in proptest::num::f64::NORMAL) {
            let figure = Figure::from_f64(value).expect("finite");
            let text = serde_json::to_string(&figure).expect("serializes");
            prop_assert!(!text.contains(['e', 'E', '"']));
            prop_assert_eq!(text.parse::<f64>().expect("a number").to_bits(), value.to_bits());
        }

        #[test]
        fn units_read_back_as_themselves(units in -1_000_000_000_000_000_i64..1_000_000_000_000_000) {
            let text = decimal_text(i128::from(units));
            let value: f64 = text.parse().expect("a number");
            #[expect(clippy::cast_possible_truncation, reason = "within the range above")]
            let back = (value * 1e6).round() as i64;
            prop_assert_eq!(back, units);
        }
    }
}
