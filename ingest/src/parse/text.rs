//! JSON strings: escapes undone, and written again in one canonical form.

use std::borrow::Cow;

/// Hexadecimal digits of `\u` escapes, as they are written.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// A string of the body, between its quotes. Its escapes are known to be well-formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// As sent.
    pub raw: &'a str,
    /// Whether `raw` holds escapes.
    pub is_escaped: bool,
}

/// What makes a well-formed JSON string unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFault {
    /// It holds U+0000, which PostgreSQL cannot store.
    Nul,
    /// It holds half of a surrogate pair, which is no character.
    LoneSurrogate,
}

impl TextFault {
    /// What to tell the caller, after the name of the field.
    pub fn message(self) -> &'static str {
        match self {
            Self::Nul => "must not contain NUL characters",
            Self::LoneSurrogate => "must not contain unpaired surrogates",
        }
    }
}

impl<'a> Text<'a> {
    /// The characters meant. Copies only where there are escapes.
    #[inline]
    pub fn decode(self) -> Result<Cow<'a, str>, TextFault> {
        if self.is_escaped { self.unescape().map(Cow::Owned) } else { Ok(Cow::Borrowed(self.raw)) }
    }

    #[cold]
    fn unescape(self) -> Result<String, TextFault> {
        let mut decoded = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some((plain, escape)) = rest.split_once('\\') {
            decoded.push_str(plain);
            let (character, length) = unescape(escape)?;
            decoded.push(character);
            rest = escape.get(length..).unwrap_or_default();
        }
        decoded.push_str(rest);
        Ok(decoded)
    }
}

/// The character an escape stands for, and the bytes it takes after its backslash.
fn unescape(escape: &str) -> Result<(char, usize), TextFault> {
    let bytes = escape.as_bytes();
    let character = match bytes.first() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(bytes),
        Some(other) => char::from(*other), // quote, backslash, slash
        None => return Err(TextFault::LoneSurrogate),
    };
    Ok((character, 1))
}

/// `uXXXX`, or the pair `uXXXX\uXXXX` of a character beyond U+FFFF.
fn unescape_unicode(bytes: &[u8]) -> Result<(char, usize), TextFault> {
    let first = hex4(bytes.get(1..5)).ok_or(TextFault::LoneSurrogate)?;
    if first == 0 {
        return Err(TextFault::Nul);
    }
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 5));
    }
    let second = bytes
        .get(5..7)
        .filter(|mark| mark == b"\\u")
        .and_then(|_| hex4(bytes.get(7..11)))
        .filter(|second| (0xDC00..0xE000).contains(second))
        .filter(|_| first < 0xDC00)
        .ok_or(TextFault::LoneSurrogate)?;
    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    char::from_u32(code).map(|character| (character, 11)).ok_or(TextFault::LoneSurrogate)
}

fn hex4(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}

/// Appends `text` as a JSON string, quotes included, with no escape that JSON does not demand.
pub fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
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
    out.push('"');
}
