//! Countries, as far as their phone numbers go.

use std::{fmt, str::FromStr};

use phonenumber::{Metadata, Mode, ParseError, PhoneNumber, country::Id, metadata::DATABASE};
use serde::Deserialize;

/// A country whose phone numbers can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Country(Id);

/// The text names no country.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the code of a country (ISO 3166-1), such as DE")]
pub struct NotACountry;

impl Country {
    /// The code of two letters.
    pub fn as_str(&self) -> &str {
        self.0.as_ref()
    }

    /// A number dialled in this country, in the international form (E.164); none where it is no number
    /// of any country.
    pub(super) fn international(self, number: &str) -> Option<String> {
        // The library would take the national prefix of this country off a number of another country.
        if let Some(rest) = self.without_international_prefix(number) {
            return valid(phonenumber::parse(None, format!("+{rest}")));
        }
        // The library reads a national number that begins like the country's code without those digits.
        let code = DATABASE.by_id(self.as_str())?.country_code();
        valid(phonenumber::parse(Some(self.0), number))
            .or_else(|| valid(phonenumber::parse(None, format!("+{code}{number}"))))
    }

    /// The digits after `+`, or after what is dialled in this country before numbers of other countries, such as 00.
    fn without_international_prefix(self, number: &str) -> Option<&str> {
        if let Some(rest) = number.strip_prefix('+') {
            return Some(rest);
        }
        let prefix = DATABASE.by_id(self.as_str())?.international_prefix()?.find(number)?;
        let rest = number.get(prefix.end()..)?;
        (prefix.start() == 0 && !rest.starts_with('0')).then_some(rest)
    }

    /// The digits with which a number dialled in this country begins, in the international form.
    pub fn international_beginning(self, digits: &str) -> String {
        let rules = DATABASE.by_id(self.as_str());
        let prefix = rules.and_then(Metadata::national_prefix).unwrap_or_default();
        let rest = digits.strip_prefix(prefix).unwrap_or(digits);
        format!("+{}{rest}", rules.map_or(0, Metadata::country_code))
    }

    /// Whether digits begin with what is dialled in this country before national numbers.
    pub fn is_national_beginning(self, digits: &str) -> bool {
        let prefix = DATABASE.by_id(self.as_str()).and_then(Metadata::national_prefix);
        prefix.is_some_and(|prefix| digits.starts_with(prefix))
    }
}

/// A valid number in the international form.
fn valid(read: Result<PhoneNumber, ParseError>) -> Option<String> {
    let read = read.ok()?;
    phonenumber::is_valid(&read).then(|| read.format().mode(Mode::E164).to_string())
}

impl FromStr for Country {
    type Err = NotACountry;

    fn from_str(text: &str) -> Result<Self, NotACountry> {
        text.to_ascii_uppercase().parse().map(Self).map_err(|_| NotACountry)
    }
}

impl TryFrom<String> for Country {
    type Error = NotACountry;

    fn try_from(text: String) -> Result<Self, NotACountry> {
        text.parse()
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn country(code: &str) -> Country {
        code.parse().unwrap()
    }

    #[test]
    fn spellings_of_one_number_are_one() {
        for (code, spellings, number) in [
            (
                "DE",
                &["015123456789", "15123456789", "4915123456789", "+4915123456789"][..],
                "+4915123456789",
            ),
            ("DE", &["03012345678", "+493012345678"], "+493012345678"),
            ("AT", &["06641234567", "+436641234567"], "+436641234567"),
            ("CH", &["0781234567", "+41781234567"], "+41781234567"),
            ("FR", &["0612345678", "+33612345678"], "+33612345678"),
            ("GB", &["07400123456", "+447400123456"], "+447400123456"),
            ("IT", &["3123456789", "+393123456789"], "+393123456789"),
            ("IT", &["0612345678", "+390612345678"], "+390612345678"),
            ("ES", &["612345678", "+34612345678"], "+34612345678"),
            ("US", &["2015550123", "12015550123", "+12015550123"], "+12015550123"),
            ("US", &["0114915123456789", "+4915123456789"], "+4915123456789"),
            ("DE", &["0012015550123", "+12015550123"], "+12015550123"),
            ("GB", &["00390612345678", "+390612345678"], "+390612345678"),
            ("IN", &["09123456789", "9123456789", "+919123456789"], "+919123456789"),
            ("JP", &["09012345678", "+819012345678"], "+819012345678"),
            ("BR", &["011961234567", "11961234567", "+5511961234567"], "+5511961234567"),
            ("AU", &["0412345678", "+61412345678"], "+61412345678"),
            ("HU", &["06201234567", "+36201234567"], "+36201234567"),
            ("RU", &["89123456789", "+79123456789"], "+79123456789"),
        ] {
            for spelling in spellings {
                let read = country(code).international(spelling);
                assert_eq!(read.as_deref(), Some(number), "{code} {spelling}");
            }
        }
    }

    #[test]
    fn what_is_no_number_of_a_country_is_left_alone() {
        for (code, text) in
            [("DE", "110"), ("DE", "12345"), ("DE", "0151234"), ("US", "5550123"), ("FR", "0912")]
        {
            assert_eq!(country(code).international(text), None, "{code} {text}");
        }
    }

    #[test]
    fn countries_are_named_by_their_code() {
        assert_eq!(country("de").as_str(), "DE");
        for text in ["", "D", "DEU", "49", "ZZ"] {
            assert_eq!(text.parse::<Country>(), Err(NotACountry), "{text}");
        }
    }
}
