//! ClickHouse's words: names, texts, comments and brackets, as its lexer cuts them.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bare word or a quoted name.
    Name,
    /// A text in quotes, a number, an operator.
    Other,
}

/// Where a word stands and how many brackets are open around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSpan {
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) kind: Kind,
    pub(super) place: TextSpan,
    pub(super) depth: usize,
}

impl Word {
    fn bytes<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.place.start..self.place.end]
    }

    /// Whether this is the bare keyword.
    pub(super) fn is(&self, text: &[u8], keyword: &str) -> bool {
        self.kind == Kind::Name && self.bytes(text).eq_ignore_ascii_case(keyword.as_bytes())
    }

    pub(super) fn is_byte(&self, text: &[u8], byte: u8) -> bool {
        self.kind == Kind::Other && self.bytes(text) == [byte]
    }

    /// The name of a format: letters, digits and underscores.
    pub(super) fn name(&self, text: &[u8]) -> Option<String> {
        let bytes = self.bytes(text);
        let plain = !bytes.is_empty()
            && self.kind == Kind::Name
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        plain.then(|| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Cuts a text into words, without blanks and comments.
#[derive(Debug, Clone)]
pub(super) struct Words<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<Word> {
        self.clone().next()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            match rest {
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0x0b => self.at += 1,
                [b'-', b'-', ..] | [b'#', b' ' | b'!', ..] => {
                    self.at += find(rest, b"\n").unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => self.at += find(rest, b"*/").map_or(rest.len(), |end| end + 2),
                // A no-break space and a byte-order mark, which ClickHouse also skips.
                [0xc2, 0xa0, ..] => self.at += 2,
                [0xef, 0xbb, 0xbf, ..] => self.at += 3,
                _ => return,
            }
        }
    }

    /// The end of a quoted text that begins at `self.at`: backslashes escape, a doubled quote stands for itself.
    fn quoted_end(&self, quote: u8) -> usize {
        let mut at = self.at + 1;
        while at < self.text.len() {
            match self.text[at] {
                b'\\' => at += 2,
                byte if byte == quote && self.text.get(at + 1) == Some(&quote) => at += 2,
                byte if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    /// The end of `$tag$ … $tag$`, if one begins at `self.at`.
    fn heredoc_end(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let tag_end = 1 + rest[1..].iter().position(|byte| !is_name_byte(*byte))?;
        if rest[tag_end] != b'$' {
            return None;
        }
        let tag = &rest[..=tag_end];
        let body = self.at + tag.len();
        find(&self.text[body..], tag).map(|end| body + end + tag.len())
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.skip_blanks();
        let start = self.at;
        let first = *self.text.get(start)?;
        let depth = self.depth;
        let (kind, end) = match first {
            b'\'' => (Kind::Other, self.quoted_end(first)),
            b'"' | b'`' => (Kind::Name, self.quoted_end(first)),
            b'$' if self.heredoc_end().is_some() => (Kind::Other, self.heredoc_end()?),
            byte if is_name_byte(byte) => {
                let length =
                    self.text[start..].iter().take_while(|byte| is_name_byte(**byte)).count();
                let kind = if byte.is_ascii_digit() { Kind::Other } else { Kind::Name };
                (kind, start + length)
            }
            b'(' | b'[' | b'{' => {
                self.depth += 1;
                (Kind::Other, start + 1)
            }
            b')' | b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                (Kind::Other, start + 1)
            }
            _ => (Kind::Other, start + 1),
        };
        self.at = end.min(self.text.len());
        // A closing bracket belongs to what is around it, as the opening one does.
        let depth = depth.min(self.depth);
        Some(Word { kind, place: TextSpan { start, end: self.at }, depth })
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

impl From<TextSpan> for Range<usize> {
    fn from(place: TextSpan) -> Self {
        place.start..place.end
    }
}

/// A text literal: `'it\'s'`.
pub(crate) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A quoted name: `` `a\`b` ``.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
