//! Doubles written as JSON.

/// Decimal places of the numbers that are written the quick way.
const SCALE: i64 = 10_000;
/// Scaled numbers are below this: decimals of 15 digits that differ are different doubles.
const SCALED_MAX: f64 = 1e15;

/// Appends the shortest decimal that reads as `double` again, with a point or an exponent. `double`
/// is finite.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "whole numbers below 10^15 are exact as doubles, and what is not equal is written by ryu"
)]
pub(crate) fn write_double(out: &mut String, double: f64) {
    let scaled = double * SCALE as f64;
    if double > 0.0 && scaled < SCALED_MAX {
        let whole = (scaled + 0.5) as i64;
        // Division is rounded correctly, as reading a decimal is: equal here is equal there.
        if whole > 0 && whole as f64 / SCALE as f64 == double {
            return write_decimal(out, whole.unsigned_abs());
        }
    }
    out.push_str(ryu::Buffer::new().format_finite(double));
}

/// Appends that many ten-thousandths, with one decimal place at least.
#[inline]
fn write_decimal(out: &mut String, ten_thousandths: u64) {
    let scale = SCALE.unsigned_abs();
    out.push_str(itoa::Buffer::new().format(ten_thousandths / scale));
    let mut digits = *b".0000";
    let mut rest = ten_thousandths % scale;
    let mut length = 2;
    for place in (1..digits.len()).rev() {
        let digit = rest % 10;
        rest /= 10;
        digits[place] += u8::try_from(digit).unwrap_or_default();
        if digit != 0 && place >= length {
            length = place + 1;
        }
    }
    out.push_str(str::from_utf8(&digits[..length]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(double: f64) -> String {
        let mut out = String::new();
        write_double(&mut out, double);
        out
    }

    proptest! {
        #[test]
        fn doubles_are_written_as_ryu_writes_them(
            any in any::<f64>().prop_filter("finite", |double| double.is_finite()),
            whole in -2_000_000_000_i32..2_000_000_000,
            places in 0_u8..7,
        ) {
            let decimal = f64::from(whole) / 10_f64.powi(i32::from(places));
            for double in [any, decimal] {
                let (found, ryu) = (written(double), ryu::Buffer::new().format_finite(double).to_owned());
                prop_assert_eq!(found.parse::<f64>().unwrap().to_bits(), double.to_bits());
                prop_assert!(found.len() <= ryu.len() || ryu.contains('e'), "{} {}", found, ryu);
            }
        }
    }

    #[test]
    fn the_edges_keep_their_form() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (49.9, "49.9"),
            (0.0001, "0.0001"),
            (10.05, "10.05"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (99_999_999_999.999_9, "99999999999.9999"),
            (1e300, "1e300"),
        ];
        for (double, expected) in cases {
            assert_eq!(written(double), expected);
        }
    }
}
