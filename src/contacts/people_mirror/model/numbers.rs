//! Numbers as ClickHouse can read them.

/// Every number of fewer characters fits into 64 bits.
const SHORTEST: usize = 20;

/// The JSON object, with the nearest double for each integer beyond 64 bits and each number beyond a double. With one of
/// these ClickHouse reads nothing of the object (`JSONExtract` of release 26.7).
pub(crate) fn readable(object: String) -> String {
    let mut readable = String::new();
    let mut kept = 0;
    let mut rest = object.as_str();
    while let Some(begin) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(begin);
        let token = if from.starts_with('"') { text(from) } else { number(from) };
        let at = object.len() - rest.len() + before.len();
        if let Some(double) = nearest_double(token) {
            readable.push_str(object.get(kept..at).unwrap_or_default());
            readable.push_str(&double);
            kept = at + token.len();
        }
        rest = from.get(token.len()..).unwrap_or_default();
    }
    if kept == 0 {
        return object;
    }
    readable.push_str(object.get(kept..).unwrap_or_default());
    readable
}

/// The text in quotes that begins there, with its quotes.
fn text(from: &str) -> &str {
    let mut is_escaped = false;
    let end = from.char_indices().skip(1).find_map(|(at, char)| {
        let ends = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends.then_some(at + 1)
    });
    end.and_then(|end| from.get(..end)).unwrap_or(from)
}

/// The number that begins there.
fn number(from: &str) -> &str {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    from.find(|c| !is_of_number(c)).and_then(|end| from.get(..end)).unwrap_or(from)
}

/// What stands for a number that cannot be read.
fn nearest_double(token: &str) -> Option<String> {
    if token.len() < SHORTEST || token.starts_with('"') {
        return None;
    }
    let double: f64 = token.parse().ok()?;
    let is_integer = token.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    let fits = token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
    (is_integer && !fits || double.is_infinite())
        .then(|| format!("{:e}", double.clamp(f64::MIN, f64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_reader_takes_become_doubles() {
        let many = "9".repeat(400);
        for (object, expected) in [
            (r#"{"n": 18446744073709551615}"#.to_owned(), None),
            (r#"{"n": -9223372036854775808}"#.to_owned(), None),
            (r#"{"n": 123456789012345678901.5, "m": 1}"#.to_owned(), None),
            (r#"{"n": "18446744073709551616", "m\"": "\\"}"#.to_owned(), None),
            (r#"{"18446744073709551616": "ü99999999999999999999"}"#.to_owned(), None),
            (
                r#"{"n": 18446744073709551616, "plan": "pro"}"#.to_owned(),
                Some(r#"{"n": 1.8446744073709552e19, "plan": "pro"}"#),
            ),
            (
                r#"{"\"": [100000000000000000000000, -9223372036854775809]}"#.to_owned(),
                Some(r#"{"\"": [1e23, -9.223372036854776e18]}"#),
            ),
            (
                format!("{{\"n\": -{many}, \"m\": {many}.5}}"),
                Some(r#"{"n": -1.7976931348623157e308, "m": 1.7976931348623157e308}"#),
            ),
            (String::new(), None),
            ("{\"".to_owned(), None),
        ] {
            assert_eq!(readable(object.clone()), expected.unwrap_or(&object), "{object}");
        }
    }
}
