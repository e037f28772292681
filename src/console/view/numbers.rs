//! Numbers, with thousands apart and with units.

/// A count with commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with at most two decimals.
pub fn decimal(number: f64) -> String {
    let text = format!("{:.2}", number.abs());
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let rest = rest.trim_end_matches('0');
    let sign = if number < 0.0 && (whole != "0" || !rest.is_empty()) { "−" } else { "" };
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// A fraction as a percentage with one decimal.
pub fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// A size in the unit that keeps the number small.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
    let mut rest = size as f64;
    while rest >= 1_024.0 && unit + 1 < UNITS.len() {
        rest /= 1_024.0;
        unit += 1;
    }
    format!("{} {}", decimal(rest), UNITS[unit])
}

/// Seconds in the unit that keeps the number small.
pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if !seconds.is_finite() => "beyond the scale".to_owned(),
        0.0 => "0 s".to_owned(),
        ..0.001 => format!("{} µs", decimal(seconds * 1e6)),
        ..1.0 => format!("{} ms", decimal(seconds * 1e3)),
        ..59.995 => format!("{} s", decimal(seconds)),
        _ => long_duration(seconds),
    }
}

/// Two units that follow each other: `2 min 36 s`, `1 h 30 min`, `2 days 5 h`.
fn long_duration(seconds: f64) -> String {
    let (large_s, large, small_s, small) = match seconds.round() {
        ..3_600.0 => (60.0, "min", 1.0, "s"),
        ..86_400.0 => (3_600.0, "h", 60.0, "min"),
        _ => (86_400.0, "days", 3_600.0, "h"),
    };
    // Rounded to the smaller unit first, so that no 60 s is beside minutes.
    let all = (seconds / small_s).round();
    let in_large = large_s / small_s;
    let (whole, rest) = ((all / in_large).floor(), all % in_large);
    let large = if large == "days" && whole < 2.0 { "day" } else { large };
    let text = format!("{} {large}", decimal(whole));
    if rest > 0.0 { format!("{text} {} {small}", decimal(rest)) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(decimal(1_234.5), "1,234.5");
        assert_eq!(decimal(-0.001), "0");
        assert_eq!(decimal(-2.25), "−2.25");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(duration(0.0005), "500 µs");
        assert_eq!(duration(1.5), "1.5 s");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_023), "1,023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(8 << 30), "8 GiB");
        assert_eq!(bytes(5_000 << 40), "5,000 TiB");
    }

    #[test]
    fn long_durations_have_two_units() {
        for (seconds, text) in [
            (59.99, "59.99 s"),
            (59.999, "1 min"),
            (60.0, "1 min"),
            (90.0, "1 min 30 s"),
            (155.67, "2 min 36 s"),
            (3_599.4, "59 min 59 s"),
            (3_599.6, "1 h"),
            (5_400.0, "1 h 30 min"),
            (86_370.0, "24 h"),
            (86_400.0, "1 day"),
            (190_800.0, "2 days 5 h"),
            (9e7, "1,041 days 16 h"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }
}
