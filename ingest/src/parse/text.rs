//! Strings written as JSON.

use super::plain;

/// Hexadecimal digits of `\u` escapes, as they are written.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `text` as a JSON string, quotes included, with no escape that JSON does not demand; gives
/// whether it needed none.
#[inline]
pub(crate) fn write_json_string(out: &mut String, text: &str) -> bool {
    let is_plain = plain::is_plain(text.as_bytes());
    out.push('"');
    if is_plain {
        out.push_str(text);
    } else {
        write_escaped(out, text);
    }
    out.push('"');
    is_plain
}

#[cold]
fn write_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                let code = character as usize;
                out.push_str("\\u00");
                out.push(char::from(HEX[code >> 4]));
                out.push(char::from(HEX[code & 15]));
            }
            other => out.push(other),
        }
    }
}
