//! Walks JSON text token by token.

use std::{fmt, ops::Range};

use super::{
    nesting::Nesting,
    number::{Digits, Number},
    plain::plain_bytes,
    text::Text,
};

/// Exponents beyond this overflow or vanish in any double, whatever the mantissa of a request.
const EXPONENT_MAX: i32 = 100_000_000;

/// What should have stood where a body stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Any value.
    Value,
    /// A key of an object.
    Key,
    /// The colon after a key.
    Colon,
    /// More of an object, or its end.
    CommaOrBrace,
    /// More of an array, or its end.
    CommaOrBracket,
    /// A digit of a number.
    Digit,
    /// The end of a string.
    Quote,
    /// A control character that is escaped.
    EscapedControl,
    /// One of JSON's escapes.
    Escape,
    /// The digits of a `\u` escape.
    FourHexDigits,
    /// Nothing more.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Value => "a value",
            Self::Key => "a key in quotes",
            Self::Colon => "a colon",
            Self::CommaOrBrace => "a comma or }",
            Self::CommaOrBracket => "a comma or ]",
            Self::Digit => "a digit",
            Self::Quote => "a closing quote",
            Self::EscapedControl => "no raw control character in a string",
            Self::Escape => "a known escape",
            Self::FourHexDigits => "four hexadecimal digits",
            Self::End => "the end of the body",
        })
    }
}

/// Where a body stops being JSON. Eight bytes, so that results travel in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at byte {at}")]
pub struct SyntaxError {
    /// Zero-based byte of the body.
    pub at: u32,
    /// What should have stood there.
    pub expected: Expected,
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
    pub fn error(&self, expected: Expected) -> SyntaxError {
        SyntaxError { at: u32::try_from(self.at).unwrap_or(u32::MAX), expected }
    }

    /// The text of a range of the body, which must begin and end between characters.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// The byte the scanner is at.
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space; the scanner stops at it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        match self.byte() {
            Some(byte) if byte > b' ' => Some(byte),
            _ => self.peek_after_space(),
        }
    }

    fn peek_after_space(&mut self) -> Option<u8> {
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
                _ => return Err(self.error(Expected::CommaOrBrace)),
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
            _ => Err(self.error(Expected::Value)),
        }
    }

    /// Reads an object's key and the colon after it.
    #[inline]
    pub fn key(&mut self) -> Result<Text<'a>, SyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.error(Expected::Key));
        }
        let key = self.string()?;
        if !self.step_over(b':') {
            return Err(self.error(Expected::Colon));
        }
        Ok(key)
    }

    /// Reads the string whose opening quote the scanner is at.
    #[inline]
    pub fn string(&mut self) -> Result<Text<'a>, SyntaxError> {
        let start = self.at + 1;
        let is_escaped = self.skip_string()?;
        Ok(Text { raw: self.slice(start..self.at - 1), is_escaped })
    }

    /// Steps over the string whose opening quote the scanner is at; gives whether it has escapes.
    #[inline]
    pub fn skip_string(&mut self) -> Result<bool, SyntaxError> {
        self.at += 1;
        self.at += plain_bytes(self.text.as_bytes().get(self.at..).unwrap_or_default());
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.skip_escaped_string().map(|()| true)
    }

    /// Steps over what is left of a string from its first escape on.
    #[cold]
    fn skip_escaped_string(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.error(Expected::EscapedControl)),
                None => return Err(self.error(Expected::Quote)),
            }
            self.at += plain_bytes(self.text.as_bytes().get(self.at..).unwrap_or_default());
        }
    }

    /// Steps over an escape, checking its form.
    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.error(Expected::FourHexDigits));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.error(Expected::Escape)),
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
            digits.count = 1;
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
        let mut mantissa = digits.mantissa;
        while let Some(byte @ b'0'..=b'9') = self.byte() {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error(Expected::Digit));
        }
        digits.mantissa = mantissa;
        digits.count += self.at - start;
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
            return Err(self.error(Expected::Digit));
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
        Err(self.error(Expected::Value))
    }

    /// Steps over one value of any kind and any depth, checking its grammar.
    pub fn skip(&mut self, nesting: &mut Nesting) -> Result<(), SyntaxError> {
        nesting.clear();
        loop {
            let opened = match self.kind()? {
                Kind::Object => self.open(nesting, b'}')?,
                Kind::Array => self.open(nesting, b']')?,
                Kind::Text => self.skip_string().map(|_| false)?,
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
                (_, true) => return Err(self.error(Expected::CommaOrBrace)),
                (_, false) => return Err(self.error(Expected::CommaOrBracket)),
            }
        }
        Ok(false)
    }

    /// Checks that nothing but white space is left.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(Expected::End)),
        }
    }
}
