//! Of how many parts a text message is made: carriers bill each.
//!
//! 3GPP TS 23.038 (the characters) and 23.040 9.2.3.24.1 (parts, whose header takes six bytes).

use serde::Serialize;
use utoipa::ToSchema;

/// Septets of a message of one part.
const GSM_SINGLE: usize = 160;
/// Septets of each of several parts.
const GSM_PART: usize = 153;
/// UTF-16 units of a message of one part.
const UCS2_SINGLE: usize = 70;
/// UTF-16 units of each of several parts.
const UCS2_PART: usize = 67;

/// The default alphabet, letters and digits left out.
const GSM: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà";
/// Its extension: each takes two septets.
const GSM_EXTENSION: &str = "\u{c}^{}\\[~]|€";

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    /// GSM 7-bit: every character is of the default alphabet or its extension.
    Gsm7,
    Ucs2,
}

/// What a text takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Segments {
    /// How it is written.
    pub alphabet: Alphabet,
    /// Septets or UTF-16 units.
    pub units: usize,
    /// Parts; none of an empty text.
    pub parts: usize,
}

/// What a text takes as a text message.
pub fn segments(text: &str) -> Segments {
    let (alphabet, single, part) = if text.chars().all(|c| septets(c).is_some()) {
        (Alphabet::Gsm7, GSM_SINGLE, GSM_PART)
    } else {
        (Alphabet::Ucs2, UCS2_SINGLE, UCS2_PART)
    };
    let size = |c: char| match alphabet {
        Alphabet::Gsm7 => septets(c).unwrap_or_default(),
        Alphabet::Ucs2 => c.len_utf16(),
    };
    let units: usize = text.chars().map(size).sum();
    let parts =
        if units <= single { usize::from(units > 0) } else { filled(text.chars().map(size), part) };
    Segments { alphabet, units, parts }
}

/// Parts that characters of these sizes fill, none of them cut in two.
fn filled(sizes: impl Iterator<Item = usize>, part: usize) -> usize {
    let (mut parts, mut used) = (1, 0);
    for size in sizes {
        if used + size > part {
            parts += 1;
            used = 0;
        }
        used += size;
    }
    parts
}

/// Septets of a character; none where the alphabet has it not.
fn septets(c: char) -> Option<usize> {
    if c.is_ascii_alphanumeric() || GSM.contains(c) {
        Some(1)
    } else {
        GSM_EXTENSION.contains(c).then_some(2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_counted_as_billed() {
        use Alphabet::{Gsm7, Ucs2};
        for (text, alphabet, units, parts) in [
            (String::new(), Gsm7, 0, 0),
            ("x".repeat(160), Gsm7, 160, 1),
            ("x".repeat(161), Gsm7, 161, 2),
            ("x".repeat(306), Gsm7, 306, 2),
            ("x".repeat(307), Gsm7, 307, 3),
            ("€".repeat(80), Gsm7, 160, 1),
            // 153 is odd: a part takes 76 of them, and a septet stays empty.
            ("€".repeat(81), Gsm7, 162, 2),
            ("€".repeat(152), Gsm7, 304, 2),
            ("€".repeat(153), Gsm7, 306, 3),
            ("Grüße: 5 € @ {x}".to_owned(), Gsm7, 19, 1),
            ("ж".repeat(70), Ucs2, 70, 1),
            ("ж".repeat(71), Ucs2, 71, 2),
            ("ж".repeat(134), Ucs2, 134, 2),
            ("ж".repeat(135), Ucs2, 135, 3),
            // Surrogate pairs are not cut in two: 33 in a part.
            ("😀".repeat(35), Ucs2, 70, 1),
            ("😀".repeat(66), Ucs2, 132, 2),
            ("😀".repeat(67), Ucs2, 134, 3),
            // Lower-case c with cedilla is of the alphabet's upper case only; the backtick is not at all.
            ("ç".to_owned(), Ucs2, 1, 1),
            ("`".to_owned(), Ucs2, 1, 1),
            (format!("{}’", "x".repeat(70)), Ucs2, 71, 2),
        ] {
            let expected = Segments { alphabet, units, parts };
            assert_eq!(segments(&text), expected, "{text}");
        }
        assert_eq!(GSM.chars().count() + 62, 127, "128 but the escape");
    }

    proptest! {
        #[test]
        fn parts_hold_what_is_in_them(text in "\\PC{0,400}") {
            let Segments { alphabet, units, parts } = segments(&text);
            let (single, part) = match alphabet {
                Alphabet::Gsm7 => (160, 153),
                Alphabet::Ucs2 => (70, 67),
            };
            prop_assert_eq!(parts <= 1, units <= single);
            // Each part but the last is full to a unit.
            prop_assert!(units <= parts.max(1) * single && (parts < 2 || units > (parts - 1) * (part - 1)));
        }
    }
}
