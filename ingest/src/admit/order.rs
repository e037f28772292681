//! What an `Order Completed` event says about money, taken out of its properties.

use std::borrow::Cow;

use simd_json::{Node, StaticNode};

use crate::{
    model::{ORDER_COMPLETED, limits::CURRENCY_BYTES_MAX},
    record::OrderView,
};

/// Decimal places kept of an amount.
const SCALE: i64 = 4;
/// Amounts are below this, in ten-thousandths: `Decimal(18, 4)`.
const SCALED_MAX: u128 = 999_999_999_999_999_999;
/// Digits of an amount that are looked at. Its 18 whole and 4 decimal places, and one to round by,
/// are far fewer, so that the others cannot matter.
const DIGITS_MAX: u32 = 30;
/// Exponents beyond this make zero or too much of any amount.
const EXPONENT_MAX: i64 = 1_000_000;

/// An order, its texts borrowed from the properties where they are strings.
#[derive(Debug, Default)]
pub(super) struct Lifted<'a> {
    order_id: Cow<'a, str>,
    revenue: Option<i64>,
    currency: String,
    base_revenue: Option<i64>,
    base_currency: String,
}

impl<'a> Lifted<'a> {
    /// The order in the properties of an `Order Completed` event; `None` for events of another name.
    pub(super) fn from<'m>(
        event_name: &str,
        properties: impl Iterator<Item = (&'m str, &'m [Node<'a>])>,
    ) -> Option<Self>
    where
        'a: 'm,
    {
        if event_name != ORDER_COMPLETED {
            return None;
        }
        let mut order = Self::default();
        for (key, value) in properties {
            let Some(value) = value.first().copied() else { break };
            match key {
                "orderId" => order.order_id = scalar(value).unwrap_or_default(),
                "total" => order.revenue = amount(value),
                "total_base" => order.base_revenue = amount(value),
                "currency" => order.currency = currency(value),
                "base_currency" => order.base_currency = currency(value),
                _ => {}
            }
        }
        Some(order)
    }

    pub(super) fn view(&self) -> OrderView<'_> {
        OrderView {
            order_id: &self.order_id,
            revenue: self.revenue,
            currency: &self.currency,
            base_revenue: self.base_revenue,
            base_currency: &self.base_currency,
        }
    }
}

/// A string, or the shortest text that means a number; none for anything else.
fn scalar(value: Node<'_>) -> Option<Cow<'_, str>> {
    let text = match value {
        Node::String(text) => return Some(Cow::Borrowed(text)),
        Node::Static(StaticNode::I64(integer)) => itoa::Buffer::new().format(integer).to_owned(),
        Node::Static(StaticNode::U64(integer)) => itoa::Buffer::new().format(integer).to_owned(),
        Node::Static(StaticNode::F64(double)) => ryu::Buffer::new().format(double).to_owned(),
        _ => return None,
    };
    Some(Cow::Owned(text))
}

fn amount(value: Node<'_>) -> Option<i64> {
    scalar(value).and_then(|text| ten_thousandths(&text))
}

/// A currency code in upper case; empty when it is none.
fn currency(value: Node<'_>) -> String {
    let Node::String(sent) = value else { return String::new() };
    let code = sent.trim();
    let is_code =
        code.len() <= CURRENCY_BYTES_MAX && code.bytes().all(|byte| byte.is_ascii_graphic());
    if is_code { code.to_ascii_uppercase() } else { String::new() }
}

/// Decimal text as ten-thousandths, half away from zero, without passing through a float; none when
/// it is no number or does not fit `Decimal(18, 4)`.
fn ten_thousandths(text: &str) -> Option<i64> {
    let text = text.trim().as_bytes();
    let (is_negative, text) = signed(text);
    let (mut mantissa, mut digits, mut power) = (0_u128, 0_u32, SCALE);
    let (mut is_fraction, mut has_digits, mut rest) = (false, false, text);
    while let [byte, after @ ..] = rest {
        match byte {
            b'0'..=b'9' if digits < DIGITS_MAX => {
                mantissa = mantissa * 10 + u128::from(byte - b'0');
                digits += u32::from(mantissa != 0);
                power -= i64::from(is_fraction);
                has_digits = true;
            }
            b'0'..=b'9' => power += i64::from(!is_fraction),
            b'.' if !is_fraction => is_fraction = true,
            b'e' | b'E' if has_digits => {
                power += exponent(after)?;
                rest = &[];
                break;
            }
            _ => return None,
        }
        rest = after;
    }
    debug_assert!(rest.is_empty());
    let scaled = has_digits.then(|| scale(mantissa, power)).flatten()?;
    let size = i64::try_from(scaled).ok()?;
    Some(if is_negative { -size } else { size })
}

/// `mantissa` times ten to the `power`, rounded half up; none past [`SCALED_MAX`].
fn scale(mantissa: u128, power: i64) -> Option<u128> {
    let factor =
        u32::try_from(power.unsigned_abs()).ok().and_then(|size| 10_u128.checked_pow(size));
    let scaled = match factor {
        _ if mantissa == 0 => 0,
        Some(factor) if power >= 0 => mantissa.checked_mul(factor)?,
        Some(divisor) => (mantissa + divisor / 2) / divisor,
        None if power < 0 => 0,
        None => return None,
    };
    (scaled <= SCALED_MAX).then_some(scaled)
}

/// Whether there is a minus sign, and what follows the sign.
fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [sign @ (b'-' | b'+'), size @ ..] => (*sign == b'-', size),
        size => (false, size),
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = signed(text);
    if digits.is_empty() {
        return None;
    }
    let size = digits.iter().try_fold(0_i64, |size, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        Some((size * 10 + digit).min(EXPONENT_MAX))
    })?;
    Some(if is_negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse::{Parser, members};

    #[test]
    fn amounts_are_decimal_from_text_to_store() {
        let cases = [
            ("12.34", Some(123_400)),
            ("0.10", Some(1000)),
            ("1e2", Some(1_000_000)),
            ("1.5E-3", Some(15)),
            ("-7", Some(-70_000)),
            (" +3 ", Some(30_000)),
            (".5", Some(5000)),
            ("5.", Some(50_000)),
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("0.00005", Some(1)),
            ("0.00004999999999999999999999999999999999999999999999", Some(0)),
            ("-0.00005", Some(-1)),
            ("0.12345", Some(1235)),
            ("1e-400", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("99999999999999.9999", Some(999_999_999_999_999_999)),
            ("99999999999999.99995", None),
            ("100000000000000", None),
            ("1e400", None),
            ("0.000000000000000000000000000000000000000001e42", Some(10_000)),
            ("100000000000000000000000000000000000000000000e-40", Some(100_000_000)),
            ("", None),
            (".", None),
            ("-", None),
            ("1,5", None),
            ("1.2.3", None),
            ("1e", None),
            ("e5", None),
            ("12 EUR", None),
            ("NaN", None),
            ("0x10", None),
        ];
        for (text, expected) in cases {
            assert_eq!(ten_thousandths(text), expected, "{text}");
        }
    }

    /// The view of the order in an event of that name with these properties, and what it expects.
    fn lifted(name: &str, properties: &str, check: impl FnOnce(Option<OrderView<'_>>)) {
        Parser::default()
            .parse(properties.as_bytes(), |nodes| {
                check(Lifted::from(name, members(nodes)).as_ref().map(Lifted::view));
            })
            .unwrap();
    }

    #[test]
    fn an_order_without_a_usable_total_is_still_an_order() {
        for properties in ["{}", r#"{"total":null}"#, r#"{"total":"free"}"#, r#"{"total":[1]}"#] {
            lifted(ORDER_COMPLETED, properties, |order| {
                assert_eq!(order, Some(OrderView::default()), "{properties}");
            });
        }
        lifted("Product Purchased", r#"{"total":1}"#, |order| assert_eq!(order, None));
    }

    #[test]
    fn every_field_of_the_purchase_contract_is_taken() {
        let properties = r#"{"orderId":1001,"total":"12.30","currency":" eur ","total_base":13.5,"base_currency":"USD"}"#;
        let expected = OrderView {
            order_id: "1001",
            revenue: Some(123_000),
            currency: "EUR",
            base_revenue: Some(135_000),
            base_currency: "USD",
        };
        lifted(ORDER_COMPLETED, properties, |order| assert_eq!(order, Some(expected)));
        let twice = r#"{"total":1,"nested":{"total":2},"total":49.90}"#;
        lifted(ORDER_COMPLETED, twice, |order| assert_eq!(order.unwrap().revenue, Some(499_000)));
    }

    proptest! {
        #[test]
        fn any_amount_of_four_places_is_exact(scaled in -999_999_999_999_999_999_i64..=999_999_999_999_999_999) {
            let size = scaled.unsigned_abs();
            let sign = if scaled < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:04}", size / 10_000, size % 10_000);
            prop_assert_eq!(ten_thousandths(&text), Some(scaled));
            let shifted = format!("{sign}{size}e-4");
            prop_assert_eq!(ten_thousandths(&shifted), Some(scaled));
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,30}", digits in "[-+0-9.eE]{0,60}") {
            ten_thousandths(&text);
            ten_thousandths(&digits);
        }
    }
}
