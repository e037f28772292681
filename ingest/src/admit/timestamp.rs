//! When an event happened: ISO 8601 text or epoch milliseconds.

use crate::model::{
    calendar::{DAY_MS, days_from_civil},
    limits::{TIMESTAMP_AHEAD_MS_MAX, TIMESTAMP_MS_MIN},
};

use super::{
    element::Field,
    identifiers::{HAS_NUL, HAS_UNPAIRED_SURROGATES},
};

const NOT_ISO: &str = "must be an ISO 8601 date or time, or epoch milliseconds as a number";
const NOT_WHOLE: &str = "must be whole epoch milliseconds";
const OUT_OF_RANGE: &str = "must be between 2000-01-01T00:00:00Z and one year from now";
/// Integers a double holds exactly.
const EXACT_MS_MAX: f64 = 9_007_199_254_740_992.0;

/// The time sent, in milliseconds since the epoch, whatever it is; none when none was, or when it is no time.
pub(super) fn instant(field: &Field<'_>) -> Option<i64> {
    match field {
        Field::Text(text) => parse_iso(text.as_bytes()),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and below 2^53")]
        Field::Number(number) => {
            let is_exact = number.abs() <= EXACT_MS_MAX && number.fract() == 0.0;
            is_exact.then_some(*number as i64)
        }
        Field::Absent | Field::Other | Field::Unpaired => None,
    }
}

/// The time sent, in milliseconds since the epoch, none when none was; or what is wrong with it.
pub(super) fn read(field: &Field<'_>, now_ms: i64) -> Result<Option<i64>, String> {
    match field {
        Field::Absent => Ok(None),
        Field::Text(text) => {
            if text.contains('\0') {
                return Err(HAS_NUL.to_owned());
            }
            let timestamp_ms = parse_iso(text.as_bytes()).ok_or(NOT_ISO)?;
            if is_allowed(timestamp_ms, now_ms) {
                Ok(Some(timestamp_ms))
            } else {
                Err(OUT_OF_RANGE.to_owned())
            }
        }
        Field::Number(number) => from_number(*number, now_ms).map(Some),
        Field::Other => Err(NOT_ISO.to_owned()),
        Field::Unpaired => Err(HAS_UNPAIRED_SURROGATES.to_owned()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and below 2^53")]
fn from_number(value: f64, now_ms: i64) -> Result<i64, String> {
    if !(-EXACT_MS_MAX..=EXACT_MS_MAX).contains(&value) {
        return Err(OUT_OF_RANGE.to_owned());
    }
    let whole = value.trunc() as i64;
    if is_allowed(whole, now_ms) {
        return if value.fract() == 0.0 { Ok(whole) } else { Err(NOT_WHOLE.to_owned()) };
    }
    if is_allowed(whole.saturating_mul(1000), now_ms) {
        return Err(format!("{OUT_OF_RANGE}, received {whole}: epoch seconds? send milliseconds"));
    }
    Err(format!("{OUT_OF_RANGE}, received {whole}"))
}

/// Whether an event may have happened then.
pub(super) fn is_allowed(timestamp_ms: i64, now_ms: i64) -> bool {
    (TIMESTAMP_MS_MIN..=now_ms.saturating_add(TIMESTAMP_AHEAD_MS_MAX)).contains(&timestamp_ms)
}

/// ISO 8601, extended format, as RFC 3339 narrows it, and with what it leaves out and callers send:
/// a date alone (midnight UTC), no zone (UTC), no seconds, offsets `+02` and `+0200`, a comma
/// before the fraction. Fractions beyond milliseconds are cut.
fn parse_iso(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let year = digits(&[y1, y2, y3, y4])?;
    let days = days_from_civil(year, digits(&[m1, m2])?, digits(&[d1, d2])?)?;
    let of_day_ms = match rest.split_first() {
        None => 0,
        Some((b'T' | b't' | b' ', time)) => time_of_day_ms(time)?,
        Some(_) => return None,
    };
    Some(days * DAY_MS + of_day_ms)
}

/// `HH:MM[:SS[.fraction]][zone]` as milliseconds after the midnight, UTC, of the date.
fn time_of_day_ms(text: &[u8]) -> Option<i64> {
    let (minutes, mut rest) = text.split_first_chunk::<5>()?;
    let [h1, h2, b':', m1, m2] = *minutes else { return None };
    let (hour, minute) = (digits(&[h1, h2])?, digits(&[m1, m2])?);
    let (mut second, mut fraction_ms) = (0, 0);
    if let [b':', s1, s2, after @ ..] = rest {
        second = digits(&[*s1, *s2])?;
        rest = after;
        if let [b'.' | b',', after @ ..] = rest {
            (fraction_ms, rest) = fraction(after)?;
        }
    }
    // 60 is a leap second: it is counted into the next minute, as POSIX time does.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_day_ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction_ms;
    Some(of_day_ms - zone_ms(rest)?)
}

/// The digits of a fraction of a second as milliseconds, and what follows them.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = text.split_at(length);
    let digit = |index: usize| i64::from(fraction.get(index).map_or(0, |byte| byte - b'0'));
    (length > 0).then(|| (digit(0) * 100 + digit(1) * 10 + digit(2), rest))
}

/// Milliseconds the zone is ahead of UTC.
fn zone_ms(text: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match *text {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2] => (sign, [h1, h2], [b'0', b'0']),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => (sign, [h1, h2], [m1, m2]),
        _ => return None,
    };
    let (hours, minutes) = (digits(&hours)?, digits(&minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ahead_ms = (hours * 60 + minutes) * 60_000;
    match sign {
        b'+' => Some(ahead_ms),
        b'-' => Some(-ahead_ms),
        _ => None,
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn ms(rfc3339: &str) -> i64 {
        DateTime::parse_from_rfc3339(rfc3339).unwrap().timestamp_millis()
    }

    #[test]
    fn every_accepted_form_means_its_instant() {
        let cases = [
            ("2024-02-29T12:30:45.678Z", "2024-02-29T12:30:45.678Z"),
            ("2024-02-29T12:30:45.6789Z", "2024-02-29T12:30:45.678Z"),
            ("2024-02-29T12:30:45,6Z", "2024-02-29T12:30:45.600Z"),
            ("2024-02-29t12:30:45z", "2024-02-29T12:30:45Z"),
            ("2024-02-29 12:30:45", "2024-02-29T12:30:45Z"),
            ("2024-02-29T12:30", "2024-02-29T12:30:00Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("2024-02-29T00:30:00+02:00", "2024-02-28T22:30:00Z"),
            ("2024-02-29T23:30:00-0130", "2024-03-01T01:00:00Z"),
            ("2024-02-29T12:00+05", "2024-02-29T07:00:00Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_iso(text.as_bytes()), Some(ms(expected)), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "yesterday",
            "2024",
            "2024-02",
            "2024-02-30",
            "2024-13-01",
            "2024-02-29T",
            "2024-02-29T24:00:00Z",
            "2024-02-29T12",
            "2024-02-29T12:60Z",
            "2024-02-29T12:00:61Z",
            "2024-02-29T12:00:00.Z",
            "2024-02-29T12:00:00+24:00",
            "2024-02-29T12:00:00+2",
            "2024-02-29T12:00:00 Z",
            "2024-02-29T12:00:00ZZ",
            "20240229T120000Z",
            "1709210000000",
            "2024-02-29T12:00:0",
            "+2024-02-29",
            "２０２４-02-29",
            "2024-2-9",
        ] {
            assert_eq!(parse_iso(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_milliseconds_and_seconds_are_pointed_out() {
        let now = ms("2026-11-21T00:00:00Z");
        assert_eq!(from_number(1_700_000_000_000.0, now), Ok(1_700_000_000_000));
        let seconds = from_number(1_700_000_000.0, now).unwrap_err();
        assert!(
            seconds.ends_with("received 1700000000: epoch seconds? send milliseconds"),
            "{seconds}"
        );
        assert_eq!(from_number(1_700_000_000_000.5, now).unwrap_err(), NOT_WHOLE);
        for out in [f64::INFINITY, -1.0, 1e300, 0.0, -1e300] {
            assert!(from_number(out, now).unwrap_err().starts_with(OUT_OF_RANGE), "{out}");
        }
    }

    #[test]
    fn the_range_begins_with_the_year_2000_and_ends_one_year_ahead() {
        let now = ms("2026-11-21T00:00:00Z");
        let first = ms("2000-01-01T00:00:00Z");
        let last = ms("2027-11-21T00:00:00Z");
        for (timestamp_ms, allowed) in
            [(first, true), (first - 1, false), (last, true), (last + 1, false)]
        {
            assert_eq!(is_allowed(timestamp_ms, now), allowed, "{timestamp_ms}");
        }
    }

    proptest! {
        #[test]
        fn what_chrono_writes_is_read_back(timestamp_ms in 0_i64..4_102_444_800_000, offset in -23_i32..24) {
            let zone = chrono::FixedOffset::east_opt(offset * 3600).unwrap();
            let text = DateTime::from_timestamp_millis(timestamp_ms).unwrap().with_timezone(&zone).to_rfc3339();
            prop_assert_eq!(parse_iso(text.as_bytes()), Some(timestamp_ms), "{}", text);
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}", digits in "[0-9TZ:+. -]{0,30}") {
            parse_iso(text.as_bytes());
            parse_iso(digits.as_bytes());
        }
    }
}
