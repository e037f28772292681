//! Phone numbers, in the one form in which ledgers keep them.

use std::{fmt, str::FromStr};

use super::Country;

/// Digits a number has at least.
const DIGITS_MIN: usize = 5;
/// Digits a number has at most (E.164).
const DIGITS_MAX: usize = 15;

/// A number, normalised: without spaces, dashes, dots and brackets, a leading `00` read as `+`. No
/// country is guessed: `+49151…` and `0151…` are one number only after [`Self::in_country`].
///
/// The function `phone_plain` of the database follows the same rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhoneNumber(String);

/// The text is no phone number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a phone number of {DIGITS_MIN} to {DIGITS_MAX} digits, with or without a leading +"
)]
pub struct NotAPhoneNumber;

impl PhoneNumber {
    /// A number dialled in this country, in the international form (E.164). Without a country, and if it is not a
    /// valid number, such as a short code, it stays as it is.
    #[must_use]
    pub fn in_country(self, country: Option<Country>) -> Self {
        country.and_then(|country| country.international(&self.0)).map_or(self, Self)
    }

    /// The number in normal form, as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The normalised text, for stores.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for PhoneNumber {
    type Err = NotAPhoneNumber;

    fn from_str(text: &str) -> Result<Self, NotAPhoneNumber> {
        let bare: String =
            text.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.')).collect();
        let number = bare.strip_prefix("00").map_or(bare.clone(), |rest| format!("+{rest}"));
        let digits = number.strip_prefix('+').unwrap_or(&number);
        let sound = (DIGITS_MIN..=DIGITS_MAX).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        if sound { Ok(Self(number)) } else { Err(NotAPhoneNumber) }
    }
}

impl fmt::Display for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_the_international_prefix_normalise_alike() {
        for (sent, stored) in [
            ("+49 (151) 234-5678", "+491512345678"),
            ("0049 151 2345678", "+491512345678"),
            ("0151.234.5678", "01512345678"),
            ("12345", "12345"),
            ("+123456789012345", "+123456789012345"),
        ] {
            assert_eq!(sent.parse::<PhoneNumber>().unwrap().as_str(), stored);
        }
    }

    #[test]
    fn an_invalid_number_is_refused() {
        for sent in
            ["", "1234", "+1234567890123456", "+49 151 CALL", "++4915123", "49+15123", "١٢٣٤٥٦"]
        {
            assert_eq!(sent.parse::<PhoneNumber>(), Err(NotAPhoneNumber), "{sent}");
        }
    }
}
