//! Character references, as HTML defines them (13.2.5.72 to 13.2.5.80).

use std::borrow::Cow;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// Letters of the longest name there is: `CounterClockwiseContourIntegral;`.
const NAME_CHARS_MAX: usize = 32;

/// Text, or an attribute's value, with what its references stand for.
pub(super) fn decoded(text: &str, in_attribute: bool) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        made.push_str(before);
        let used = if after.starts_with('#') {
            numeric(after, &mut made)
        } else {
            named(after, in_attribute, &mut made)
        };
        if used == 0 {
            made.push('&');
        }
        rest = after.get(used..).unwrap_or_default();
    }
    made.push_str(rest);
    Cow::Owned(made)
}

/// Reads `#38;` and its like; gives how much of the text it was, 0 for none.
fn numeric(after: &str, made: &mut String) -> usize {
    let digits = after.get(1..).unwrap_or_default();
    let (start, radix) = if digits.starts_with(['x', 'X']) { (2, 16) } else { (1, 10) };
    let digits = after.get(start..).unwrap_or_default();
    let count = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if count == 0 {
        return 0;
    }
    let number = u32::from_str_radix(digits.get(..count).unwrap_or_default(), radix);
    made.push(char_of(number.unwrap_or(u32::MAX)));
    let end = start + count;
    end + usize::from(after.get(end..).is_some_and(|rest| rest.starts_with(';')))
}

fn char_of(number: u32) -> char {
    let c1 = number.checked_sub(0x80).and_then(|at| usize::try_from(at).ok());
    match c1.and_then(|at| C1_REPLACEMENTS.get(at)) {
        Some(Some(replacement)) => *replacement,
        _ if number == 0 => '\u{fffd}',
        _ => char::from_u32(number).unwrap_or('\u{fffd}'),
    }
}

/// Reads `amp;` and its like, the longest name that fits.
fn named(after: &str, in_attribute: bool, made: &mut String) -> usize {
    let letters = after.bytes().take(NAME_CHARS_MAX).take_while(u8::is_ascii_alphanumeric).count();
    let ends = after.as_bytes().get(letters) == Some(&b';');
    for length in (1..=letters + usize::from(ends)).rev() {
        let name = after.get(..length).unwrap_or_default();
        let Some(&(first, second)) = NAMED_ENTITIES.get(name) else { continue };
        // The table holds the beginnings of names, too, as nothing.
        if first == 0 {
            continue;
        }
        // In addresses `&copy=1` is a parameter.
        let next = after.as_bytes().get(length);
        let goes_on = next.is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'=');
        if in_attribute && !name.ends_with(';') && goes_on {
            return 0;
        }
        made.extend([first, second].into_iter().filter(|c| *c != 0).filter_map(char::from_u32));
        return length;
    }
    0
}

/// Text as it is written between tags or in a quoted attribute.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}
