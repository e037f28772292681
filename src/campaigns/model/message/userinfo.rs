//! Credentials in a URL: `https://user:password@host/` (RFC 3986 3.2.1).
//!
//! Messages have `auth` for them, so new ones are refused. Those stored by older releases keep working, and
//! are redacted in answers.

use std::ops::Range;

use super::secret::Secret;

/// The credentials in a URL, which may contain Liquid.
pub fn of(url: &str) -> Option<&str> {
    url.get(range(url)?)
}

/// The URL with other credentials instead of its own.
pub fn replaced(url: &str, by: &str) -> Option<String> {
    let Range { start, end } = range(url)?;
    Some([url.get(..start)?, by, url.get(end..)?].concat())
}

/// The URL with redacted credentials; none if it has none.
pub fn hidden(url: &str) -> Option<String> {
    replaced(url, Secret::HIDDEN)
}

/// From the end of the scheme to the last `@` before the path. Characters inside Liquid tags do not count.
fn range(url: &str) -> Option<Range<usize>> {
    let (_, rest) = url.split_once("://")?;
    // URL parsers also skip further slashes.
    let mut rest = rest.trim_start_matches(['/', '\\']);
    let start = url.len() - rest.len();
    let mut end = start;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = after_tag(rest) {
            rest = after;
            continue;
        }
        match next {
            '/' | '\\' | '?' | '#' => break,
            '@' => end = url.len() - rest.len(),
            _ => {}
        }
        rest = rest.strip_prefix(next)?;
    }
    (start < end).then_some(start..end)
}

/// The text after the Liquid tag that it begins with.
fn after_tag(text: &str) -> Option<&str> {
    let output = text.strip_prefix("{{").and_then(|tag| tag.split_once("}}"));
    let block = || text.strip_prefix("{%").and_then(|tag| tag.split_once("%}"));
    output.or_else(block).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stand_before_the_host() {
        for (url, credentials) in [
            ("https://ann:pw@a.test/x", "ann:pw"),
            ("https://token@a.test", "token"),
            ("https://:pw@a.test?x", ":pw"),
            ("HTTPS://ann:p@w@a.test", "ann:p@w"),
            ("https:///ann:pw@a.test/", "ann:pw"),
            ("https://\u{e4}:\u{20ac}@a.test/", "\u{e4}:\u{20ac}"),
            ("https://{{ user.key }}@a.test/", "{{ user.key }}"),
            ("https://{{ \"a/b\" | upcase }}:pw@{{ host }}/x", "{{ \"a/b\" | upcase }}:pw"),
        ] {
            assert_eq!(of(url), Some(credentials), "{url}");
            let hidden = hidden(url).unwrap();
            assert!(!hidden.contains(credentials) && hidden.contains("//********@"), "{hidden}");
            assert_eq!(replaced(&hidden, credentials).unwrap(), url);
        }
        for url in [
            "https://a.test/ann:pw@x",
            "https://a.test?to=ann@b.test",
            "https://a.test#@",
            "https://a.test\\@b.test/",
            "https://@a.test/",
            "https://{{ host }}/{{ user.email }}@x",
            "https://{{ \"ann@b.test\" | append: host }}/",
            "https://",
            "ann@a.test",
            "",
        ] {
            assert_eq!(of(url), None, "{url}");
            assert_eq!(hidden(url), None);
        }
    }

    #[test]
    fn credentials_are_found_like_by_url_parsers() {
        for url in [
            "https://a:b@c.test/",
            "http:////a@c.test",
            "https://\\a:b@c.test/@",
            "https://a@b@c.test",
        ] {
            let parsed = url::Url::parse(url).unwrap();
            assert!(!parsed.username().is_empty(), "{url}");
            assert!(of(url).is_some(), "{url}");
        }
    }
}
