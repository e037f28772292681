//! Checks of links by their text and address.

use std::net::IpAddr;

use url::{Host, Url};

use crate::markup::Link;

/// URL shorteners, which hide the target.
const SHORTENERS: &[&str] = &[
    "bit.ly",
    "bitly.com",
    "buff.ly",
    "cutt.ly",
    "goo.gl",
    "is.gd",
    "lnkd.in",
    "ow.ly",
    "rb.gy",
    "rebrand.ly",
    "s.id",
    "short.io",
    "shorturl.at",
    "t.co",
    "t.ly",
    "tiny.cc",
    "tinyurl.com",
    "v.gd",
];
/// Top-level domains with a disproportionate share of abuse.
const ABUSED_DOMAINS: &[&str] = &[
    "accountants",
    "bid",
    "buzz",
    "cf",
    "click",
    "country",
    "cricket",
    "date",
    "download",
    "faith",
    "ga",
    "gdn",
    "gq",
    "kim",
    "link",
    "loan",
    "men",
    "ml",
    "mom",
    "party",
    "quest",
    "racing",
    "rest",
    "review",
    "science",
    "stream",
    "tk",
    "top",
    "trade",
    "win",
    "work",
    "xin",
    "xyz",
    "zip",
];
/// Free mail providers: bulk mail is not sent from their addresses.
const FREE_MAIL: &[&str] = &[
    "aol.com",
    "gmail.com",
    "gmx.de",
    "gmx.net",
    "googlemail.com",
    "hotmail.com",
    "icloud.com",
    "live.com",
    "mail.ru",
    "outlook.com",
    "proton.me",
    "web.de",
    "yahoo.com",
    "yandex.ru",
];

/// A link's address, if it is a web address.
pub(super) fn web(link: &Link) -> Option<Url> {
    Url::parse(link.href.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    host.strip_prefix("www.").map_or_else(|| host.clone(), str::to_owned)
}

pub(super) fn is_shortener(url: &Url) -> bool {
    SHORTENERS.contains(&host(url).as_str())
}

pub(super) fn is_raw_address(url: &Url) -> bool {
    matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)))
}

pub(super) fn is_wary_domain(url: &Url) -> bool {
    let host = host(url);
    host.rsplit_once('.').is_some_and(|(_, top)| ABUSED_DOMAINS.contains(&top))
}

pub(super) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

pub(super) fn is_free_mail(address: &str) -> bool {
    let domain = address.trim_end_matches('>').rsplit_once('@').map(|(_, domain)| domain);
    domain.is_some_and(|domain| FREE_MAIL.contains(&domain.trim().to_ascii_lowercase().as_str()))
}

/// Whether a link's text shows another address than its target.
pub(super) fn is_mismatched(link: &Link) -> bool {
    let Some(url) = web(link) else { return false };
    let Some(displayed) = displayed_host(&link.text) else { return false };
    let (displayed, actual) = (registrable(&displayed), registrable(&host(&url)));
    displayed != actual
}

/// The host in a link's text, if the text is nothing but an address.
fn displayed_host(text: &str) -> Option<String> {
    let text = text.trim();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let bare = rest.unwrap_or(text);
    let name = bare.split(['/', '?', '#', ':']).next()?.trim_end_matches('.').to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    let is_label =
        |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let top = labels.last()?;
    let is_host = labels.len() >= 2
        && labels.iter().all(is_label)
        && (top.len() >= 2 && top.chars().all(char::is_alphabetic)
            || name.parse::<IpAddr>().is_ok());
    // `index.html` and the like are file names; without a scheme only a plain name counts as a host.
    let is_file = matches!(*top, "html" | "htm" | "pdf" | "php" | "js" | "png" | "jpg");
    (is_host && !text.contains(char::is_whitespace) && (rest.is_some() || !is_file))
        .then(|| name.strip_prefix("www.").map_or_else(|| name.clone(), str::to_owned))
}

/// The registrable part of a host: its last two labels, three below `co.uk` and the like.
fn registrable(host: &str) -> String {
    let labels: Vec<&str> = host.rsplit('.').collect();
    let second = labels.get(1).copied().unwrap_or_default();
    let is_public = matches!(second, "co" | "com" | "org" | "net" | "gov" | "ac" | "edu")
        && labels.first().is_some_and(|top| top.len() == 2);
    let count = if is_public { 3 } else { 2 };
    let mut kept: Vec<&str> = labels.into_iter().take(count).collect();
    kept.reverse();
    kept.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_hosts_than_displayed_are_found() {
        for (href, text, mismatched) in [
            ("https://shop.test/a", "shop.test", false),
            ("https://www.shop.test/a", "https://shop.test/sale", false),
            ("https://click.shop.test/a", "www.shop.test", false),
            ("https://evil.test/", "https://paypal.com/login", true),
            ("https://evil.test/", "paypal.com", true),
            ("https://paypal.com.evil.test/", "paypal.com", true),
            ("https://a.shop.co.uk/", "shop.co.uk", false),
            ("https://evil.co.uk/", "shop.co.uk", true),
            ("https://evil.test/", "Go to paypal.com now", false),
            ("https://shop.test/", "Shop now", false),
            ("https://shop.test/", "e.g.", false),
            ("https://shop.test/", "catalogue.pdf", false),
            ("https://shop.test/", "3.5", false),
            ("mailto:a@shop.test", "paypal.com", false),
            ("not an address", "paypal.com", false),
        ] {
            let link = Link { href: href.to_owned(), text: text.to_owned() };
            assert_eq!(is_mismatched(&link), mismatched, "{href} {text}");
        }
    }
}
