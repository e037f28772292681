//! Validation of domain names.

/// DNS allows 253 characters, and the ownership record is one label below.
pub const DOMAIN_CHARS_MAX: usize = 253 - "_millrace.".len();

const NOT_A_DOMAIN: &str = "must be a domain name such as example.com";

/// Parses a domain: in ASCII and lower case, without the root's dot.
///
/// # Errors
/// The reason: not a domain, too long, a single label, an IP address, or a public suffix.
pub fn domain_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let text = text.strip_suffix('.').unwrap_or(text);
    let name = idna::domain_to_ascii_strict(text).map_err(|_| NOT_A_DOMAIN.to_owned())?;
    if name.chars().count() > DOMAIN_CHARS_MAX {
        return Err(format!("must be at most {DOMAIN_CHARS_MAX} characters"));
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if !name.contains('.') || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NOT_A_DOMAIN.to_owned());
    }
    if psl::domain_str(&name).is_none() {
        return Err(format!("must not be a public suffix: names under {name} belong to others"));
    }
    Ok(name)
}

/// The registrable domain: `example.co.uk` of `news.example.co.uk`.
pub(super) fn registered(domain: &str) -> Option<&str> {
    psl::domain_str(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_domain_are_one() {
        for (text, name) in [
            ("Example.COM", "example.com"),
            (" news.example.co.uk. ", "news.example.co.uk"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("acme.test", "acme.test"),
        ] {
            assert_eq!(domain_name(text).as_deref(), Ok(name), "{text}");
        }
        assert_eq!(registered("news.example.co.uk"), Some("example.co.uk"));
    }

    #[test]
    fn domains_without_an_owner_are_refused() {
        for text in [
            "",
            ".",
            "localhost",
            "a..test",
            "-a.test",
            "a_b.test",
            "a b.test",
            "ann@example.com",
            "https://example.com",
            "example.com/x",
            "192.0.2.1",
            "[2001:db8::1]",
            "a\0.test",
        ] {
            assert_eq!(domain_name(text).unwrap_err(), NOT_A_DOMAIN, "{text:?}");
        }
        for suffix in ["co.uk", "github.io"] {
            assert!(
                domain_name(suffix).unwrap_err().starts_with("must not be a public"),
                "{suffix}"
            );
        }
        let longest = format!(
            "{}.{}.{}.{}.test",
            "a".repeat(63),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(46)
        );
        assert_eq!(longest.len(), DOMAIN_CHARS_MAX);
        assert!(domain_name(&longest).is_ok());
        assert_eq!(domain_name(&format!("e{longest}")).unwrap_err(), NOT_A_DOMAIN, "a label of 64");
        let longer = longest.replace(".test", "d.test");
        assert_eq!(domain_name(&longer).unwrap_err(), "must be at most 243 characters");
    }
}
