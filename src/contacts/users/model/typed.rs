//! What a person types to find somebody, and what it can mean.

use kernel::{PhoneNumber, UserId};

/// Characters from which on a part of a name can be looked up; fewer are found at the beginning of
/// a name, and anywhere in the names of the profiles changed last.
const PART_CHARS_MIN: usize = 3;
/// Digits that make a phone number of any beginning: the least one has, and the two of a `00` before.
const PHONE_DIGITS_ENOUGH: usize = 7;

/// What was typed, in the forms in which it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// As an internal id.
    pub id: Option<UserId>,
    pub text: String,
    /// As the beginning of an identifier: a pattern.
    pub beginning: String,
    /// As a part of a name: a pattern.
    pub part: String,
    /// As a part of a name that an index knows, or what a name begins with: a pattern.
    pub in_name: String,
    /// As a whole phone number, without and with `+` where neither was typed.
    pub phones: Vec<String>,
    /// As the beginning of a phone number: patterns.
    pub phone_beginnings: Vec<String>,
}

impl Typed {
    /// What a text can mean.
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

/// A text as a pattern that means itself.
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

/// The phone numbers, or beginnings of some, that a text can mean; none when it has other characters.
fn phones(text: &str) -> Vec<String> {
    // The rule for whole numbers, filled up so that it takes a beginning too.
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
    fn what_is_typed_means_itself() {
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
