//! Recognises automated opens and clicks, which are counted separately. Mail programs fetch pictures before a
//! person opens the message, and security gateways follow links to check them.
//!
//! They are recognised by their request headers, never by speed, so that no person is counted as a machine.
//! Gmail's proxy fetches pictures when the message is opened, so it counts as the person. Apple's privacy
//! protection fetches them at any time, so it does not. A scanner that imitates a browser counts as a person:
//! opens and clicks are estimates.

use http::HeaderMap;

/// Names of machines in lower case, anywhere in `User-Agent`.
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
/// Names of devices that end in one of those.
const NOT_MACHINES: &[&str] = &["cubot"];
/// The whole `User-Agent` of Apple's privacy protection.
const APPLE_MAIL_PRIVACY: &str = "mozilla/5.0";
/// Headers in which a browser announces a prefetch.
const PURPOSES: &[&str] = &["purpose", "sec-purpose", "x-purpose", "x-moz"];

/// Whether a machine sent the request on its own.
pub(super) fn is_machine(headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let agent = header("user-agent").unwrap_or_default().trim().to_ascii_lowercase();
    let ahead = PURPOSES.iter().filter_map(|name| header(name)).any(|purpose| {
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
    fn machines_are_recognised_by_their_user_agent() {
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
            assert_eq!(
                super::is_machine(&headers(&[("user-agent", agent)])),
                is_machine,
                "{agent}"
            );
        }
        assert!(!is_machine(&HeaderMap::new()));
    }

    #[test]
    fn a_prefetching_browser_is_a_machine() {
        let agent = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0");
        for purpose in
            [("purpose", "prefetch"), ("sec-purpose", "prefetch;prerender"), ("x-moz", "Prefetch")]
        {
            assert!(is_machine(&headers(&[agent, purpose])), "{purpose:?}");
        }
        assert!(!is_machine(&headers(&[agent, ("sec-purpose", "navigate")])));
    }
}
