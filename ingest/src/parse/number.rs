//! JSON numbers: their text as sent and their value as a double.

/// Powers of ten a double holds exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Integers up to here are doubles exactly.
const EXACT_INTEGER_MAX: u64 = 1 << 53;
/// Decimal digits that always fit 64 bits.
const DIGITS_IN_U64: usize = 19;
/// Size of the most negative 64-bit integer.
const NEGATIVE_MAX: u64 = 1 << 63;

/// A number of the body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number<'a> {
    /// As sent.
    pub text: &'a str,
    /// The nearest double, infinite when there is none.
    pub value: f64,
    /// Whether readers that keep integers in 64 bits and the rest as doubles (ClickHouse, most
    /// JSON libraries) can hold it: a finite double, or an integer in `i64` or `u64`.
    pub is_portable: bool,
}

/// What one pass over the digits found.
#[derive(Debug, Default)]
pub(super) struct Digits {
    pub(super) is_negative: bool,
    /// All digits before the exponent as one integer, meaningful up to [`DIGITS_IN_U64`] of them.
    pub(super) mantissa: u64,
    /// Digits before the exponent.
    pub(super) count: usize,
    /// Those of them after the point.
    pub(super) places: usize,
    pub(super) exponent: Option<i32>,
}

impl Digits {
    /// Completes the number whose text is `text`.
    #[inline]
    pub(super) fn number<'a>(&self, text: &'a str) -> Number<'a> {
        let value = self.exact().unwrap_or_else(|| nearest(text));
        let is_integer = self.places == 0 && self.exponent.is_none();
        let is_portable = if is_integer { self.fits_64_bits(text) } else { value.is_finite() };
        Number { text, value, is_portable }
    }

    /// The value where one division or multiplication of exact doubles gives it, correctly rounded
    /// (Clinger, "How to read floating point numbers accurately", 1990).
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "the mantissa is at most 2^53")]
    fn exact(&self) -> Option<f64> {
        if self.count > DIGITS_IN_U64 || self.mantissa > EXACT_INTEGER_MAX {
            return None;
        }
        let places = i32::try_from(self.places).ok()?;
        let power = self.exponent.unwrap_or(0).checked_sub(places)?;
        let scale = *POWERS_OF_TEN.get(power.unsigned_abs() as usize)?;
        let size = self.mantissa as f64;
        let size = if power < 0 { size / scale } else { size * scale };
        Some(if self.is_negative { -size } else { size })
    }

    #[inline]
    fn fits_64_bits(&self, text: &str) -> bool {
        if self.count > DIGITS_IN_U64 {
            return text.parse::<u64>().is_ok();
        }
        !self.is_negative || self.mantissa <= NEGATIVE_MAX
    }
}

/// The nearest double, the long way.
#[cold]
fn nearest(text: &str) -> f64 {
    text.parse().unwrap_or(f64::INFINITY)
}
