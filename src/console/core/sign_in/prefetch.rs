//! Recognises requests for a link that no person made: of programs that show a preview of it, and of browsers that
//! load ahead. They must not use up the link.

use http::HeaderMap;

/// Names of programs that preview links, in lower case, anywhere in `User-Agent`.
const PREVIEWERS: &[&str] = &[
    "bot",
    "crawl",
    "spider",
    "facebookexternalhit",
    "skypeuripreview",
    "whatsapp",
    "slack",
    "safelinks",
    "preview",
];
/// Headers in which a browser announces that it loads ahead.
const PURPOSES: &[&str] = &["purpose", "sec-purpose", "x-purpose", "x-moz"];

/// Whether the link was opened by no person.
pub(super) fn is_prefetch(headers: &HeaderMap) -> bool {
    let header = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_ascii_lowercase()
    };
    let agent = header("user-agent");
    let mode = header("sec-fetch-mode");
    let is_ahead = PURPOSES.iter().any(|name| {
        let purpose = header(name);
        purpose.contains("prefetch") || purpose.contains("preview")
    });
    let is_part_of_page = !mode.is_empty() && mode != "navigate";
    is_ahead || is_part_of_page || PREVIEWERS.iter().any(|name| agent.contains(name))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn people_open_links_and_previews_do_not() {
        let table: [(&[(&str, &str)], bool); 8] = [
            (
                &[("user-agent", "Mozilla/5.0 (X11) Chrome/140"), ("sec-fetch-mode", "navigate")],
                false,
            ),
            (&[("user-agent", "Mozilla/5.0 HeadlessChrome/140")], false),
            (&[], false),
            (&[("user-agent", "curl/8.0")], false),
            (&[("sec-purpose", "prefetch;prerender")], true),
            (&[("sec-fetch-mode", "no-cors")], true),
            (&[("user-agent", "Slackbot-LinkExpanding 1.0")], true),
            (&[("user-agent", "WhatsApp/2.23")], true),
        ];
        for (lines, expected) in table {
            let headers: HeaderMap = lines
                .iter()
                .map(|(name, value)| {
                    (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
                })
                .collect();
            assert_eq!(is_prefetch(&headers), expected, "{lines:?}");
        }
    }
}
