//! Keys in what is kept of refused events.

use std::borrow::Cow;

/// What keys begin with: those of the API, and those of SDKs.
const PREFIXES: [&str; 2] = ["mr_", "mrs_"];
/// Letters and digits of a key's id.
const ID_CHARS: usize = 12;
/// What stands for a secret.
const REDACTED: &str = "[redacted]";

/// The text without the secrets of keys (`mr_<id>_<secret>`), also of one that is cut off at its end. SDKs that send their
/// key in the body have it in each call.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, secret)) = next_secret(rest) {
        kept.push_str(before);
        kept.push_str(REDACTED);
        rest = secret.trim_start_matches(is_of_secret);
    }
    if kept.is_empty() {
        return Cow::Borrowed(text);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The text before the first secret, and from it on.
fn next_secret(text: &str) -> Option<(&str, &str)> {
    let begins = text.match_indices("mr").map(|(at, _)| at);
    let ends = begins.filter_map(|at| Some(at + length_before_secret(text.get(at..)?)?));
    ends.filter_map(|end| text.split_at_checked(end))
        .find(|(_, secret)| secret.starts_with(is_of_secret))
}

/// Bytes of the prefix and the id of a key that begins there, with the line behind them.
fn length_before_secret(text: &str) -> Option<usize> {
    let prefix = PREFIXES.into_iter().find(|prefix| text.starts_with(prefix))?;
    let id = text.get(prefix.len()..prefix.len() + ID_CHARS)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let length = prefix.len() + ID_CHARS + 1;
    (is_id && text.get(..length)?.ends_with('_')).then_some(length)
}

fn is_of_secret(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_keys_are_left_out() {
        for (text, expected) in [
            ("", None),
            ("mr_", None),
            ("mr_ANuBAn4k6ytA", None),
            ("mr_ANuBAn4k6ytA_", None),
            ("mr_ANuBAn4k6yt_8Zc", None),
            ("mr_ANuBAn4k6ytAA_8Zc", None),
            ("mrr_ANuBAn4k6ytA_8Zc", None),
            ("mr_ANuBAn4k6ytü_8Zc", None),
            ("mr_ANuBAn4k6ytA_8", Some("mr_ANuBAn4k6ytA_[redacted]")),
            (
                r#"{"writeKey":"mr_ANuBAn4k6ytA_8Zc-_9","event":"mr_"}"#,
                Some(r#"{"writeKey":"mr_ANuBAn4k6ytA_[redacted]","event":"mr_"}"#),
            ),
            (
                "hmr_mrs_ANuBAn4k6ytA_8Zc, mr_ANuBAn4k6ytB_8Zc",
                Some("hmr_mrs_ANuBAn4k6ytA_[redacted], mr_ANuBAn4k6ytB_[redacted]"),
            ),
        ] {
            assert_eq!(without_secrets(text), expected.unwrap_or(text), "{text}");
        }
    }
}
