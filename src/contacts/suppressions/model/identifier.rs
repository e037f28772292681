//! The key of a ledger: a normalised address or number.

use std::fmt;

use kernel::{Country, EmailAddress, PhoneNumber};

use super::Ledger;

/// A normalised email address or phone number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(String);

/// An address or number in the ledger of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerAddress {
    pub ledger: Ledger,
    pub identifier: Identifier,
}

/// A phone number in its former and its current form.
#[derive(Debug, Clone, Copy)]
pub struct Renumbered<'n> {
    pub from: &'n str,
    pub to: &'n str,
}

impl Identifier {
    /// Normalises what a caller sent for this ledger.
    ///
    /// # Errors
    /// The error text, without the field's name.
    pub fn read(ledger: Ledger, text: &str) -> Result<Self, String> {
        match ledger {
            Ledger::Email => text
                .parse::<EmailAddress>()
                .map(|address| Self(address.into_string()))
                .map_err(|wrong| wrong.to_string()),
            Ledger::Sms | Ledger::Whatsapp => text
                .parse::<PhoneNumber>()
                .map(|number| Self(number.into_string()))
                .map_err(|wrong| wrong.to_string()),
        }
    }

    /// A national phone number of this country in the international form; other identifiers unchanged.
    #[must_use]
    pub fn in_country(self, ledger: Ledger, country: Option<Country>) -> Self {
        match ledger {
            Ledger::Email => self,
            Ledger::Sms | Ledger::Whatsapp => match self.0.parse::<PhoneNumber>() {
                Ok(number) => Self(number.in_country(country).into_string()),
                Err(_) => self,
            },
        }
    }

    /// Takes a stored text, which was normalised when it was written.
    pub const fn of_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ledger_reads_its_own_kind() {
        let address = Identifier::read(Ledger::Email, " Ann@Example.test ");
        assert_eq!(address.unwrap().as_str(), "ann@example.test");
        for ledger in [Ledger::Sms, Ledger::Whatsapp] {
            let number = Identifier::read(ledger, "0049 (151) 234-5678").unwrap();
            assert_eq!(number.as_str(), "+491512345678");
            assert!(Identifier::read(ledger, "ann@example.test").unwrap_err().contains("phone"));
        }
        assert!(Identifier::read(Ledger::Email, "+491512345678").unwrap_err().contains("email"));
    }

    #[test]
    fn a_national_number_is_one_of_the_workspaces_country() {
        let germany = "DE".parse().ok();
        let number = || Identifier::read(Ledger::Sms, "0151 23456789").unwrap();
        assert_eq!(number().in_country(Ledger::Sms, germany).as_str(), "+4915123456789");
        assert_eq!(number().in_country(Ledger::Sms, None).as_str(), "015123456789");
        let address = Identifier::read(Ledger::Email, "ann@example.test").unwrap();
        assert_eq!(address.clone().in_country(Ledger::Email, germany), address);
    }
}
