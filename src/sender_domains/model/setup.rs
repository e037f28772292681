//! What the server's own settings say of sending email.

/// What the server's own settings say of sending email.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SenderSetup {
    /// Domains that every workspace may send from: that of the channel's `from`, and `from_domains`.
    pub domains: Vec<String>,
    /// The key that mail is signed with, where the channel signs.
    pub dkim: Option<DkimKey>,
    /// The domain whose SPF record names the sending servers, where bounces return to the sender.
    pub spf_include: Option<String>,
}

/// The public side of the key that mail is signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DkimKey {
    /// The domain that the settings sign for.
    pub domain: String,
    /// The name that keys are published under.
    pub selector: String,
    /// The text of the DNS record.
    pub record: String,
}

impl SenderSetup {
    /// Whether every workspace may send from a domain.
    pub fn has(&self, domain: &str) -> bool {
        self.domains.iter().any(|own| is_within(domain, own))
    }
}

/// Whether a domain is another, or below it.
pub(super) fn is_within(domain: &str, other: &str) -> bool {
    domain.strip_suffix(other).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_count_and_lookalikes_do_not() {
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
