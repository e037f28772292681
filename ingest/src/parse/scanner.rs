//! Walks JSON text token by token.

use super::{
    nesting::Nesting,
    number::{Digits, Number},
    plain::plain_bytes,
    text::Text,
};

/// Exponents beyond this overflow or vanish in any double, whatever the mantissa of a request.
const EXPONENT_MAX: i32 = 100_000_000;

/// Where a body stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at byte {at}")]
pub struct SyntaxError {
    /// Zero-based byte of the body.
    pub at: usize,
    /// What should have stood there.
    pub expected: &'static str,
}

/// What a value is, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    Text,
    /// A digit or a minus sign.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

/// A position in JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte the scanner is at.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from `start` up to the scanner.
    #[inline]
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The error of not having found `expected` here.
    #[cold]
    pub fn error(&self, expected: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, expected }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space; the scanner stops at it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Steps over the byte the scanner is at.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
    }

    /// Reads the object the scanner is at: `member` is called at each value, which it must read.
    #[inline]
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Text<'a>) -> Result<(), SyntaxError>,
    ) -> Result<(), SyntaxError> {
        self.at += 1;
        if self.step_over(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error("a comma or }")),
            }
        }
    }

    /// Steps over `byte` when it comes next.
    #[inline]
    pub fn step_over(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The kind of the value that starts next; the scanner stops at its first byte.
    #[inline]
    pub fn kind(&mut self) -> Result<Kind, SyntaxError> {
        match self.peek() {
            Some(b'"') => Ok(Kind::Text),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.error("a value")),
        }
    }

    /// Reads an object's key and the colon after it.
    #[inline]
    pub fn key(&mut self) -> Result<Text<'a>, SyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in quotes"));
        }
        let key = self.string()?;
        if !self.step_over(b':') {
            return Err(self.error("a colon"));
        }
        Ok(key)
    }

    /// Reads the string whose opening quote the scanner is at.
    #[inline]
    pub fn string(&mut self) -> Result<Text<'a>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            self.at += plain_bytes(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.byte() {
                Some(b'"') => {
                    let raw = self.since(start);
                    self.at += 1;
                    return Ok(Text { raw, is_escaped });
                }
                Some(b'\\') => {
                    is_escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.error("no raw control character in a string")),
                None => return Err(self.error("a closing quote")),
            }
        }
    }

    /// Steps over an escape, checking its form.
    #[cold]
    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.error("four hexadecimal digits"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.error("a known escape")),
        }
        Ok(())
    }

    /// Reads the number whose first byte the scanner is at.
    #[inline]
    pub fn number(&mut self) -> Result<Number<'a>, SyntaxError> {
        let start = self.at;
        let mut digits = Digits { is_negative: self.byte() == Some(b'-'), ..Digits::default() };
        self.at += usize::from(digits.is_negative);
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(&mut digits)?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            digits.places = self.digits(&mut digits)?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            digits.exponent = Some(self.exponent()?);
        }
        Ok(digits.number(self.since(start)))
    }

    /// Reads one or more digits; gives how many.
    #[inline]
    fn digits(&mut self, digits: &mut Digits) -> Result<usize, SyntaxError> {
        let start = self.at;
        while let Some(byte @ b'0'..=b'9') = self.byte() {
            digits.push(byte - b'0');
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("a digit"));
        }
        Ok(self.at - start)
    }

    fn exponent(&mut self) -> Result<i32, SyntaxError> {
        let is_negative = self.byte() == Some(b'-');
        self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
        let start = self.at;
        let mut size = 0_i32;
        while let Some(byte @ b'0'..=b'9') = self.byte() {
            size = (size * 10 + i32::from(byte - b'0')).min(EXPONENT_MAX);
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("a digit"));
        }
        Ok(if is_negative { -size } else { size })
    }

    /// Reads `true`, `false` or `null`.
    pub fn literal(&mut self) -> Result<(), SyntaxError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        for word in [b"true".as_slice(), b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.error("a value"))
    }

    /// Steps over one value of any kind and any depth, checking its grammar.
    pub fn skip(&mut self, nesting: &mut Nesting) -> Result<(), SyntaxError> {
        nesting.clear();
        loop {
            let opened = match self.kind()? {
                Kind::Object => self.open(nesting, b'}')?,
                Kind::Array => self.open(nesting, b']')?,
                Kind::Text => self.string().map(|_| false)?,
                Kind::Number => self.number().map(|_| false)?,
                Kind::Bool | Kind::Null => self.literal().map(|()| false)?,
            };
            if !opened && !self.go_on(nesting)? {
                return Ok(());
            }
        }
    }

    /// Opens a container; false when it is closed again at once.
    fn open(&mut self, nesting: &mut Nesting, closing: u8) -> Result<bool, SyntaxError> {
        self.at += 1;
        if self.step_over(closing) {
            return Ok(false);
        }
        let is_object = closing == b'}';
        nesting.push(is_object);
        if is_object {
            self.key()?;
        }
        Ok(true)
    }

    /// After a value: goes to the next one, out of all containers that end here. False when the
    /// outermost has ended.
    fn go_on(&mut self, nesting: &mut Nesting) -> Result<bool, SyntaxError> {
        while let Some(is_object) = nesting.innermost_is_object() {
            match (self.peek(), is_object) {
                (Some(b','), true) => {
                    self.at += 1;
                    self.key()?;
                    return Ok(true);
                }
                (Some(b','), false) => {
                    self.at += 1;
                    return Ok(true);
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    nesting.pop();
                }
                (_, true) => return Err(self.error("a comma or }")),
                (_, false) => return Err(self.error("a comma or ]")),
            }
        }
        Ok(false)
    }

    /// Checks that nothing but white space is left.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("the end of the body")),
        }
    }
}
