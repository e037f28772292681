//! Email addresses, in the one form in which they are stored and compared.

use std::{fmt, str::FromStr};

/// Characters of an address: RFC 5321 4.5.3.1.3 allows a path 256, its two brackets included.
const ADDRESS_CHARS_MAX: usize = 254;
/// Characters before the `@`: RFC 5321 4.5.3.1.1.
const LOCAL_CHARS_MAX: usize = 64;

/// An address, normalised: no space around it, lower case, the domain in ASCII (IDNA, UTS 46). Dots and
/// `+tags` stay: whose they are is the provider's business.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailAddress(String);

/// The text is no email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an email address")]
pub struct NotAnEmailAddress;

impl EmailAddress {
    /// The address in normal form, as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows the `@`: in ASCII and lower case.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    /// The normalised text, for stores.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for EmailAddress {
    type Err = NotAnEmailAddress;

    fn from_str(text: &str) -> Result<Self, NotAnEmailAddress> {
        let (local, domain) = text.trim().rsplit_once('@').ok_or(NotAnEmailAddress)?;
        let local_is_sound = !local.is_empty()
            && local.chars().count() <= LOCAL_CHARS_MAX
            && !local.chars().any(|c| {
                c.is_control()
                    || c.is_whitespace()
                    || matches!(c, '@' | '<' | '>' | ',' | ';' | '"')
            });
        let domain = idna::domain_to_ascii_strict(domain).map_err(|_| NotAnEmailAddress)?;
        if !local_is_sound || domain.is_empty() {
            return Err(NotAnEmailAddress);
        }
        let address = format!("{}@{domain}", local.to_lowercase());
        if address.chars().count() > ADDRESS_CHARS_MAX {
            return Err(NotAnEmailAddress);
        }
        Ok(Self(address))
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn notations_of_one_address_normalise_alike() {
        for (sent, stored) in [
            (" Ann@Example.TEST ", "ann@example.test"),
            ("a.n.n+news@example.test", "a.n.n+news@example.test"),
            ("ann@Bücher.example", "ann@xn--bcher-kva.example"),
            ("ÄNN@example.test", "änn@example.test"),
            ("root@localhost", "root@localhost"),
        ] {
            let address = sent.parse::<EmailAddress>().unwrap();
            assert_eq!(address.as_str(), stored);
            assert!(stored.ends_with(&format!("@{}", address.domain())));
        }
    }

    #[test]
    fn an_invalid_address_is_refused() {
        let long_local = format!("{}@example.test", "a".repeat(65));
        let long = format!("{}@{}.test", "a".repeat(64), "b.".repeat(95));
        for sent in [
            "",
            "ann",
            "@example.test",
            "ann@",
            "a b@example.test",
            "a@b@example.test",
            "ann@exa mple.test",
            "ann@example..test",
            "ann@-example.test",
            "<ann@example.test>",
            "a\0b@example.test",
            &long_local,
            &long,
        ] {
            assert_eq!(sent.parse::<EmailAddress>(), Err(NotAnEmailAddress), "{sent}");
        }
        assert!(format!("{}@example.test", "a".repeat(64)).parse::<EmailAddress>().is_ok());
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC{0,12}@[a-zA-Z0-9äÖß.-]{1,20}") {
            if let Ok(once) = text.parse::<EmailAddress>() {
                prop_assert_eq!(once.as_str().parse::<EmailAddress>(), Ok(once.clone()));
            }
        }
    }
}
