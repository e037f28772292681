//! Cuts a statement into words, stricter than ClickHouse does: whatever two readers could cut differently is refused.
//!
//! What the engine gets is written anew from these words: comments are gone, quoted names have one form, and blanks stand
//! where blanks stood. So the engine cannot see a word that was not seen here.

use crate::fault::Fault;

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or keyword without quotes.
    Bare,
    /// A name in back quotes or double quotes.
    Quoted,
    /// A text in single quotes.
    Text,
    Number,
    /// A single character of any other kind.
    Mark,
}

/// A word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) kind: Kind,
    /// A name without its quotes; anything else as it was written.
    pub(super) text: String,
    /// Brackets of any kind around it; a bracket is outside of itself.
    pub(super) depth: usize,
    /// Whether a blank or a comment stands before it.
    pub(super) spaced: bool,
}

impl Word {
    pub(super) fn quoted(text: impl Into<String>) -> Self {
        Self { kind: Kind::Quoted, text: text.into(), depth: 0, spaced: true }
    }

    /// A word of several that stay as they are.
    pub(super) fn verbatim(text: impl Into<String>) -> Self {
        Self { kind: Kind::Mark, text: text.into(), depth: 0, spaced: true }
    }

    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        self.kind == Kind::Bare && self.text.eq_ignore_ascii_case(keyword)
    }

    pub(super) fn is_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark && self.text.chars().eq([mark])
    }

    /// The name, in quotes or without.
    pub(super) fn name(&self) -> Option<&str> {
        matches!(self.kind, Kind::Bare | Kind::Quoted).then_some(self.text.as_str())
    }
}

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 1_000;
/// Deepest nesting of brackets.
const DEPTH_MAX: usize = 200;

/// Cuts a statement into words.
pub(super) fn cut(text: &str) -> Result<Vec<Word>, Fault> {
    let mut cutter = Cutter { text, at: 0, depth: 0, words: Vec::new() };
    loop {
        let spaced = cutter.skip_blanks()?;
        let Some(first) = cutter.peek() else { break };
        cutter.word(first, spaced)?;
    }
    if cutter.depth != 0 {
        return Err(Fault::syntax("Unmatched parentheses"));
    }
    Ok(cutter.words)
}

/// Writes a statement for the engine.
pub(super) fn written(words: &[Word]) -> String {
    let mut text = String::new();
    let mut last = None;
    for word in words {
        // Two names in quotes side by side would become one.
        let is_beside = word.kind == Kind::Quoted && last == Some(Kind::Quoted);
        last = Some(word.kind);
        if (word.spaced || is_beside) && !text.is_empty() {
            text.push(' ');
        }
        match word.kind {
            Kind::Quoted => {
                text.push('`');
                text.push_str(&word.text.replace('`', "``"));
                text.push('`');
            }
            _ => text.push_str(&word.text),
        }
    }
    text
}

/// Refuses a text that is cut into other words than those that it was written from.
pub(super) fn confirm(words: &[Word], text: &str) -> Result<(), Fault> {
    let mut expected = Vec::with_capacity(words.len());
    for word in words {
        match word.kind {
            Kind::Mark if word.text.len() > 1 => expected.extend(cut(&word.text)?),
            _ => expected.push(word.clone()),
        }
    }
    let is_same = |(one, other): (&Word, &Word)| one.kind == other.kind && one.text == other.text;
    let found = cut(text)?;
    if found.len() == expected.len() && found.iter().zip(&expected).all(is_same) {
        Ok(())
    } else {
        Err(Fault::syntax("Words stand side by side that would become one"))
    }
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    words: Vec<Word>,
}

impl Cutter<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips blanks and comments; true when there were some.
    fn skip_blanks(&mut self) -> Result<bool, Fault> {
        let began = self.at;
        loop {
            let rest = self.rest();
            let length = match rest.as_bytes() {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, ..] => 1,
                [b'-', b'-', ..] | [b'#', b' ' | b'!', ..] => {
                    rest.find('\n').map_or(rest.len(), |end| end + 1)
                }
                [b'/', b'*', ..] => {
                    let end = rest.get(2..).and_then(|inner| inner.find("*/"));
                    end.ok_or_else(|| Fault::syntax("Multiline comment is not closed"))? + 4
                }
                _ => return Ok(self.at > began),
            };
            self.at += length;
        }
    }

    fn word(&mut self, first: char, spaced: bool) -> Result<(), Fault> {
        let (kind, text) = match first {
            '\'' => (Kind::Text, self.in_quotes(first)?),
            '"' | '`' => (Kind::Quoted, self.quoted_name(first)?),
            'a'..='z' | 'A'..='Z' | '_' => (Kind::Bare, self.run_of_letters()?),
            '0'..='9' => (Kind::Number, self.number()?),
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | '.' | ';' | ':' | '?' | '=' | '<' | '>'
            | '!' | '+' | '-' | '*' | '/' | '%' | '|' | '^' => (Kind::Mark, first.to_string()),
            _ => {
                return Err(Fault::syntax(format!(
                    "Unexpected character {first:?} outside of quotes"
                )));
            }
        };
        if kind == Kind::Mark {
            self.at += 1;
        }
        let mut depth = self.depth;
        if kind == Kind::Mark && matches!(first, '(' | '[' | '{') {
            self.depth += 1;
        }
        if kind == Kind::Mark && matches!(first, ')' | ']' | '}') {
            self.depth =
                self.depth.checked_sub(1).ok_or_else(|| Fault::syntax("Unmatched parentheses"))?;
            depth = self.depth;
        }
        if self.depth > DEPTH_MAX {
            return Err(Fault::syntax(format!("Parentheses are nested deeper than {DEPTH_MAX}")));
        }
        self.words.push(Word { kind, text, depth, spaced });
        Ok(())
    }

    /// A text with its quotes, as it was written.
    fn in_quotes(&mut self, quote: char) -> Result<String, Fault> {
        let rest = self.rest();
        let mut characters = rest.char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    characters.next();
                }
                '\0' => return Err(Fault::syntax("A text holds a NUL")),
                _ if character == quote
                    && characters.next_if(|(_, next)| *next == quote).is_none() =>
                {
                    let end = at + quote.len_utf8();
                    let text = rest.get(..end).unwrap_or_default().to_owned();
                    self.at += end;
                    return Ok(text);
                }
                _ => {}
            }
        }
        Err(Fault::syntax("A quote is not closed"))
    }

    /// A name without its quotes. Escapes in names are not taken: no client needs them.
    fn quoted_name(&mut self, quote: char) -> Result<String, Fault> {
        let text = self.in_quotes(quote)?;
        let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        let name =
            inner.unwrap_or_default().replace(&format!("{quote}{quote}"), &quote.to_string());
        if name.contains('\\') || name.chars().any(char::is_control) {
            return Err(Fault::syntax("A quoted name holds a backslash or a control character"));
        }
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Fault::syntax(format!(
                "A quoted name must have 1 to {NAME_BYTES_MAX} bytes"
            )));
        }
        Ok(name)
    }

    fn run_of_letters(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let end = rest
            .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
            .unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default().to_owned();
        if text.len() > NAME_BYTES_MAX {
            return Err(Fault::syntax(format!("A name has more than {NAME_BYTES_MAX} bytes")));
        }
        self.at += end;
        Ok(text)
    }

    /// Digits, hexadecimal or binary digits, and an exponent. What stands around a point is a number each.
    fn number(&mut self) -> Result<String, Fault> {
        let text = self.run_of_letters()?;
        let lower = text.to_ascii_lowercase();
        let all = |digits: &str, of: fn(&u8) -> bool| {
            !digits.is_empty() && digits.bytes().all(|byte| byte == b'_' || of(&byte))
        };
        let is_number = if let Some(digits) = lower.strip_prefix("0x") {
            all(digits, u8::is_ascii_hexdigit)
        } else if let Some(digits) = lower.strip_prefix("0b") {
            all(digits, |byte| matches!(byte, b'0' | b'1'))
        } else {
            let (digits, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
            let is_whole = exponent.is_empty() || all(exponent, u8::is_ascii_digit);
            all(digits, u8::is_ascii_digit) && is_whole
        };
        if is_number {
            Ok(text)
        } else {
            Err(Fault::syntax(format!("{text} is neither a number nor a name: put it in quotes")))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(statement: &str) -> Vec<String> {
        cut(statement).unwrap().into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn comments_and_quotes_are_cut_as_clickhouse_cuts_them() {
        assert_eq!(
            texts("SELECT/*x*/`a``b`,\"c\" -- d\n, 'e''f\\'g' # h\n, 1.5e3 #!i"),
            ["SELECT", "a`b", ",", "c", ",", "'e''f\\'g'", ",", "1", ".", "5e3"]
        );
        assert_eq!(written(&cut("SELECT/**/\"a`b\"  , x.1 --").unwrap()), "SELECT `a``b` , x.1");
        assert_eq!(written(&cut("`a`\"b\"").unwrap()), "`a` `b`");
    }

    #[test]
    fn what_two_readers_could_cut_differently_is_refused() {
        for statement in [
            "SELECT “file”(1)",
            "SELECT $x$ 1 $x$",
            "SELECT a$b",
            "SELECT `fi\\x6ce`(1)",
            "SELECT 'a",
            "SELECT /* 1",
            "SELECT (1",
            "SELECT 1)",
            "SELECT 1file('x')",
            "SELECT 0x1file",
            "SELECT é",
            "SELECT\u{a0}1",
            "SELECT @@version",
            "SELECT 1 \0",
            "SELECT `a\nb`",
            "SELECT ``",
        ] {
            assert!(cut(statement).is_err(), "{statement}");
        }
    }

    #[test]
    fn a_bracket_is_outside_of_itself() {
        let depths: Vec<usize> = cut("a(b[c])d").unwrap().iter().map(|word| word.depth).collect();
        assert_eq!(depths, [0, 0, 1, 1, 2, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_was_written_is_cut_into_the_same_words(statement in "[a-z`\"'(),. 0-9*/\\-]{0,60}") {
            if let Ok(words) = cut(&statement) {
                let again = cut(&written(&words)).unwrap();
                let pairs = |words: &[Word]| words.iter().map(|word| (word.kind, word.text.clone())).collect::<Vec<_>>();
                prop_assert_eq!(pairs(&words), pairs(&again));
            }
        }
    }
}
