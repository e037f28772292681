//! The server's own settings for sending email.

/// The server's own settings for sending email.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SenderSetup {
    /// Domains that every workspace may send from: that of the channel's `from`, and `from_domains`.
    pub domains: Vec<String>,
    /// The DKIM key, if the channel signs mail.
    pub dkim: Option<DkimKey>,
    /// The domain whose SPF record lists the sending servers, if bounces return to the sender.
    pub spf_include: Option<String>,
}

/// The public part of the DKIM key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DkimKey {
    /// The domain that the settings sign for.
    pub domain: String,
    /// The selector that the key is published under.
    pub selector: String,
    /// The text of the DNS record.
    pub record: String,
}

impl SenderSetup {
    pub fn has(&self, domain: &str) -> bool {
        self.domains.iter().any(|own| is_within(domain, own))
    }
}

/// Whether `domain` is `other` or a subdomain of it.
pub(super) fn is_within(domain: &str, other: &str) -> bool {
    domain.strip_suffix(other).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_match_and_lookalikes_do_not() {
        let setup =
            SenderSetup { domains: vec!["example.test".to_owned()], ..SenderSetup::default() };
        for domain in ["example.test", "news.example.test", "a.b.example.test"] {
            assert!(setup.has(domain), "{domain}");
        }
        for domain in ["badexample.test", "example.test.evil.test", "test", "", "xample.test"] {
            assert!(!setup.has(domain), "{domain}");
        }
    }
}
