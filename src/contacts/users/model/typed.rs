//! The text of a search for profiles, and the identifiers and names it may stand for.

use kernel::{Country, PhoneNumber, UserId};

/// Least number of characters for which the index finds a part of a name. Shorter texts find the beginning of a
/// name, and any part only in the names of the profiles changed last.
const PART_CHARS_MIN: usize = 3;
/// Enough digits to be the beginning of any phone number: its least number of digits, and two for the prefix
/// `00`.
const PHONE_DIGITS_ENOUGH: usize = 7;

/// The text of a search, in the forms in which it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// As an internal id.
    pub id: Option<UserId>,
    pub text: String,
    /// The beginning of an identifier, as a `like` pattern.
    pub beginning: String,
    /// A part of a name, as a `like` pattern.
    pub part: String,
    /// A part of a name if it is long enough for the index, otherwise the beginning of a name, as a `like` pattern.
    pub in_name: String,
    /// A whole phone number. A text without `+` and `00` is also looked up with `+`, and as a national number.
    pub phones: Vec<String>,
    /// The beginning of a phone number, as `like` patterns.
    pub phone_beginnings: Vec<String>,
}

impl Typed {
    /// The forms of this text; `country` is that of national phone numbers.
    pub fn new(text: &str, country: Option<Country>) -> Self {
        let escaped = escaped(text);
        let is_short = text.chars().count() < PART_CHARS_MIN;
        let part = format!("%{escaped}%");
        let phones = phones(text, country);
        Self {
            id: text.parse().ok(),
            text: text.to_owned(),
            beginning: format!("{escaped}%"),
            in_name: if is_short { format!("{escaped}%") } else { part.clone() },
            part,
            phone_beginnings: phones.iter().map(|phone| format!("{phone}%")).collect(),
            phones,
        }
    }
}

/// Escapes a text so that a `like` pattern matches it literally.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The phone numbers, or beginnings of some, that a text may stand for, at most three; none when it has other
/// characters.
fn phones(text: &str, country: Option<Country>) -> Vec<String> {
    // The rule for whole numbers, padded so that it accepts a beginning too.
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let filling = "0".repeat(PHONE_DIGITS_ENOUGH.saturating_sub(digits));
    let Ok(number) = format!("{text}{filling}").parse::<PhoneNumber>() else { return Vec::new() };
    let number = number.as_str();
    let typed = number.len().saturating_sub(filling.len());
    let number = number.get(..typed).unwrap_or_default();
    match number.strip_prefix('+').unwrap_or(number) {
        "" => Vec::new(),
        bare if bare == number => {
            let national = country.map(|country| country.international_beginning(number));
            [number.to_owned(), format!("+{number}")].into_iter().chain(national).collect()
        }
        _ => vec![number.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_text_literally() {
        assert_eq!(escaped(r"50%_off\"), r"50\%\_off\\");
        assert_eq!(Typed::new("an", None).in_name, "an%");
        assert_eq!(Typed::new("ann", None).in_name, "%ann%");
    }

    #[test]
    fn digits_may_begin_a_phone_number() {
        assert_eq!(phones("0049 (151) 2", None), ["+491512"]);
        assert_eq!(phones("+49", None), ["+49"]);
        assert_eq!(phones("0049", None), ["+49"]);
        assert_eq!(phones("49", None), ["49", "+49"]);
        assert_eq!(phones("491512345678", None), ["491512345678", "+491512345678"]);
        for text in ["", "+", "ann", "49a", "(", "1234567890123456"] {
            assert_eq!(phones(text, None), [""; 0], "{text:?}");
        }
    }
    #[test]
    fn national_digits_begin_an_international_number() {
        let germany = "DE".parse().ok();
        assert_eq!(phones("0151 2", germany), ["01512", "+01512", "+491512"]);
        assert_eq!(phones("+49151", germany), ["+49151"]);
        assert_eq!(phones("201", "US".parse().ok()), ["201", "+201", "+1201"]);
    }
}
