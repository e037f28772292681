//! Names that people type to confirm a change: what looks the same is the same.

use unicode_normalization::UnicodeNormalization as _;

/// Whether what was typed looks as the name does. Nothing is the same as a name that shows nothing.
pub fn is_same_name(typed: &str, name: &str) -> bool {
    let name = folded(name);
    !name.is_empty() && folded(typed) == name
}

/// What is typed to confirm a change: the name, or the id where the name shows nothing.
pub fn confirmable<'n>(name: &'n str, id: &'n str) -> &'n str {
    if folded(name).is_empty() { id } else { name }
}

/// A name as it looks: composed, with one space for each run of white space, without what is invisible. The function
/// `folded` of `console.js` has the same rule.
fn folded(text: &str) -> String {
    let visible: String = text.chars().filter(|letter| !is_invisible(*letter)).nfc().collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters that are no white space, marks of direction, joiners and variation selectors.
const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{0}'..='\u{8}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{84}'
            | '\u{86}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_confirms_a_name() {
        for (typed, name, is_same) in [
            ("Ann", "Ann", true),
            (" Ann ", "Ann", true),
            ("Ann B", "Ann  B", true),
            ("Ann B", "Ann\nB", true),
            ("Ann B", "\tAnn\r\n\u{a0}B\u{3000}\u{85}", true),
            ("Ann  B", "Ann B", true),
            ("Ann", "\u{202e}Ann\u{202c}", true),
            ("\u{200f}Ann", "A\u{200b}n\u{0}n", true),
            ("Jose\u{301}", "Jos\u{e9}", true),
            ("Jos\u{e9}", "Jose\u{200d}\u{301}", true),
            ("❤", "❤\u{fe0f}", true),
            ("ann", "Ann", false),
            ("AnnB", "Ann B", false),
            ("Jose", "Jos\u{e9}", false),
            ("", "Ann", false),
            ("", "", false),
            (" ", "\u{200b}", false),
        ] {
            assert_eq!(is_same_name(typed, name), is_same, "{typed:?} for {name:?}");
        }
    }

    #[test]
    fn a_name_that_shows_nothing_is_confirmed_by_the_id() {
        for (name, confirmed) in
            [("Ann", "Ann"), ("  Ann", "  Ann"), ("", "7"), (" \n", "7"), ("\u{200b}\u{202e}", "7")]
        {
            assert_eq!(confirmable(name, "7"), confirmed, "{name:?}");
        }
    }
}
