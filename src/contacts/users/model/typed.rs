//! The text of a search for profiles, and the identifiers and names it may stand for.

use kernel::{PhoneNumber, UserId};

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
    /// A whole phone number, without `+` and with it where the text has neither `+` nor `00`.
    pub phones: Vec<String>,
    /// The beginning of a phone number, as `like` patterns.
    pub phone_beginnings: Vec<String>,
}

impl Typed {
    /// The forms of this text.
    pub fn new(text: &str) -> Self {
        let escaped = escaped(text);
        let is_short = text.chars().count() < PART_CHARS_MIN;
        let part = format!("%{escaped}%");
        let phones = phones(text);
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

/// The phone numbers, or beginnings of some, that a text may stand for; none when it has other characters.
fn phones(text: &str) -> Vec<String> {
    // The rule for whole numbers, padded so that it accepts a beginning too.
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let filling = "0".repeat(PHONE_DIGITS_ENOUGH.saturating_sub(digits));
    let Ok(number) = format!("{text}{filling}").parse::<PhoneNumber>() else { return Vec::new() };
    let number = number.as_str();
    let typed = number.len().saturating_sub(filling.len());
    let number = number.get(..typed).unwrap_or_default();
    match number.strip_prefix('+').unwrap_or(number) {
        "" => Vec::new(),
        bare if bare == number => vec![number.to_owned(), format!("+{number}")],
        _ => vec![number.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_text_literally() {
        assert_eq!(escaped(r"50%_off\"), r"50\%\_off\\");
        assert_eq!(Typed::new("an").in_name, "an%");
        assert_eq!(Typed::new("ann").in_name, "%ann%");
    }

    #[test]
    fn digits_may_begin_a_phone_number() {
        assert_eq!(phones("0049 (151) 2"), ["+491512"]);
        assert_eq!(phones("+49"), ["+49"]);
        assert_eq!(phones("0049"), ["+49"]);
        assert_eq!(phones("49"), ["49", "+49"]);
        assert_eq!(phones("491512345678"), ["491512345678", "+491512345678"]);
        for text in ["", "+", "ann", "49a", "(", "1234567890123456"] {
            assert_eq!(phones(text), [""; 0], "{text:?}");
        }
    }
}
