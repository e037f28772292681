//! Whether a person did it. Mail programs fetch pictures before anybody looks, and gateways follow links to
//! judge them; such are counted apart.
//!
//! Known by what they say of themselves, so that nobody is taken for a machine by how fast they are.
//! Gmail's proxy fetches pictures when the message is opened: it counts as the person. Apple's privacy
//! protection fetches them whenever it likes: it does not. A scanner that passes for a browser counts as
//! one; opens and clicks are what mail programs tell, not more.

use http::HeaderMap;

/// What machines call themselves, in lower case, wherever it stands in `User-Agent`.
const NAMES: &[&str] = &[
    "bot",
    "crawl",
    "spider",
    "slurp",
    "preview",
    "prefetch",
    "scanner",
    "headless",
    "facebookexternalhit",
    "skypeuripreview",
    "barracuda",
    "mimecast",
    "proofpoint",
    "messagelabs",
    "fireeye",
    "trendmicro",
    "trend micro",
    "ironport",
    "safelinks",
    "symantec",
    "sophos",
    "forcepoint",
    "mailscanner",
    "mailshell",
    "cloudmark",
    "virustotal",
    "urlscan",
    "phishtank",
    "microsoft office existence discovery",
    "ms-office; msoffice",
];
/// Real names that end in one of those.
const NOT_MACHINES: &[&str] = &["cubot"];
/// All that Apple's privacy protection says of itself.
const APPLE_MAIL_PRIVACY: &str = "mozilla/5.0";
/// Headers in which a browser says that nobody asked yet.
const PURPOSES: &[&str] = &["purpose", "sec-purpose", "x-purpose", "x-moz"];

/// Whether a machine asks, of its own accord.
pub(super) fn asks(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let agent = said("user-agent").unwrap_or_default().trim().to_ascii_lowercase();
    let ahead = PURPOSES.iter().filter_map(|name| said(name)).any(|purpose| {
        let purpose = purpose.to_ascii_lowercase();
        purpose.contains("prefetch") || purpose.contains("preview")
    });
    let agent = NOT_MACHINES.iter().fold(agent, |agent, real| agent.replace(real, ""));
    ahead || agent == APPLE_MAIL_PRIVACY || NAMES.iter().any(|name| agent.contains(name))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn machines_are_known_by_what_they_say_of_themselves() {
        for (agent, is_machine) in [
            ("Mozilla/5.0", true),
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true),
            ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", true),
            ("Mozilla/5.0 (Windows NT 10.0) BarracudaSentinel/1.0", true),
            ("facebookexternalhit/1.1", true),
            ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/120.0", true),
            (
                "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
                false,
            ),
            ("YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html", false),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)",
                false,
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36 Chrome/120 Mobile",
                false,
            ),
            ("Microsoft Outlook 16.0", false),
            ("curl/8.5.0", false),
            ("", false),
        ] {
            assert_eq!(asks(&headers(&[("user-agent", agent)])), is_machine, "{agent}");
        }
        assert!(!asks(&HeaderMap::new()));
    }

    #[test]
    fn a_browser_that_looks_ahead_is_a_machine() {
        let agent = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0");
        for purpose in
            [("purpose", "prefetch"), ("sec-purpose", "prefetch;prerender"), ("x-moz", "Prefetch")]
        {
            assert!(asks(&headers(&[agent, purpose])), "{purpose:?}");
        }
        assert!(!asks(&headers(&[agent, ("sec-purpose", "navigate")])));
    }
}
