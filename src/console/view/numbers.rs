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
        ..60.0 => format!("{} s", decimal(seconds)),
        ..3_600.0 => format!("{} min", decimal(seconds / 60.0)),
        ..86_400.0 => format!("{} h", decimal(seconds / 3_600.0)),
        _ => format!("{} days", decimal(seconds / 86_400.0)),
    }
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
        assert_eq!(duration(90.0), "1.5 min");
        assert_eq!(duration(5_400.0), "1.5 h");
        assert_eq!(duration(172_800.0), "2 days");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_023), "1,023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(8 << 30), "8 GiB");
        assert_eq!(bytes(5_000 << 40), "5,000 TiB");
    }
}
