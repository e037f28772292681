//! What a statement is: an insert with rows behind it, or something that answers; found by its words, not by parsing it whole.
//!
//! ClickHouse's own parser has the last word on every statement. This module only finds the places where the HTTP
//! interface must cut: the `FORMAT` of an insert, behind which the rows begin, and the `FORMAT` of a question, before
//! which names the file the engine writes its answer to.

mod words;

use std::ops::Range;

use words::{Kind, Word, Words};
pub(crate) use words::{quoted_name, quoted_text};

/// A statement, cut where this interface has to cut it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statement {
    /// `INSERT INTO … FORMAT x` or `… VALUES`: rows follow.
    Insert {
        /// The statement without its `FORMAT x`.
        head: Range<usize>,
        /// The format of the rows; none when the statement names none.
        format: Option<String>,
        /// Where the rows begin, when the text itself holds them.
        rows_at: usize,
    },
    /// A statement of any other kind.
    Other(Other),
}

/// A statement that answers something, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    /// The format it asks for itself and where its `FORMAT x` stands.
    pub(crate) format: Option<(String, Range<usize>)>,
    /// Where it ends, without a closing semicolon and what follows it.
    pub(crate) end: usize,
    /// It wants its answer in a file of the engine's machine.
    pub(crate) into_outfile: bool,
}

impl Statement {
    /// Cuts `text`, which may be the beginning of an insert whose rows are not all there yet.
    pub(crate) fn of(text: &[u8]) -> Self {
        insert(text).unwrap_or_else(|| Self::Other(other(text)))
    }
}

impl Other {
    /// The statement with the place for its answer written in: `… INTO OUTFILE 'path' APPEND FORMAT x …`.
    pub(crate) fn writing_to(&self, text: &[u8], path: &str, default_format: &str) -> Vec<u8> {
        let (before, format, after) = match &self.format {
            Some((format, place)) => {
                (&text[..place.start], format.as_str(), &text[place.end..self.end])
            }
            None => (&text[..self.end], default_format, &text[..0]),
        };
        // The line feed ends a comment that may stand last.
        let clause = format!("\nINTO OUTFILE {} APPEND FORMAT {format} ", quoted_text(path));
        [before, clause.as_bytes(), after].concat()
    }
}

fn insert(text: &[u8]) -> Option<Statement> {
    let mut words = Words::new(text);
    let first = words.next()?;
    if !first.is(text, "INSERT") {
        return None;
    }
    let mut word = words.next()?;
    if word.is(text, "INTO") {
        word = words.next()?;
    }
    if word.is(text, "TABLE") {
        // `INSERT INTO TABLE FUNCTION f(…)` and `INSERT INTO TABLE t`; a table may also be called `table`.
        match words.peek() {
            Some(next) if next.kind == Kind::Name => word = words.next()?,
            _ => {}
        }
    }
    if word.is(text, "FUNCTION") && matches!(words.peek(), Some(next) if next.kind == Kind::Name) {
        words.next()?;
    } else {
        // The rest of `database.table`: neither part may be mistaken for a keyword.
        while matches!(words.peek(), Some(next) if next.is_byte(text, b'.')) {
            words.next()?;
            words.next()?;
        }
    }
    behind_table(text, &mut words)
}

/// Behind the table: columns, settings, and then what brings the rows.
fn behind_table(text: &[u8], words: &mut Words<'_>) -> Option<Statement> {
    let mut previous: Option<Word> = None;
    while let Some(word) = words.next() {
        let value = previous.is_some_and(|previous| previous.is_byte(text, b'='));
        previous = Some(word);
        if word.depth > 0 {
            // A question in brackets right behind the table is the source of the rows.
            if word.depth == 1 && (word.is(text, "SELECT") || word.is(text, "WITH")) {
                return None;
            }
            continue;
        }
        if value || word.kind != Kind::Name {
            if word.is_byte(text, b';') {
                break;
            }
            continue;
        }
        for source in ["SELECT", "WITH", "FROM", "WATCH", "EXECUTE"] {
            if word.is(text, source) {
                return None;
            }
        }
        if word.is(text, "VALUES") {
            let rows_at = word.place.end;
            return Some(Statement::Insert {
                head: 0..word.place.start,
                format: Some("Values".into()),
                rows_at,
            });
        }
        if word.is(text, "FORMAT") {
            let format = words.next()?;
            let rows_at = rows_behind(text, format.place.end);
            return Some(Statement::Insert {
                head: 0..word.place.start,
                format: Some(format.name(text)?),
                rows_at,
            });
        }
    }
    let end = previous
        .filter(|word| word.is_byte(text, b';'))
        .map_or(text.len(), |word| word.place.start);
    Some(Statement::Insert { head: 0..end, format: None, rows_at: text.len() })
}

/// Rows begin behind the blanks and one line feed that follow the format (or behind a semicolon and those).
fn rows_behind(text: &[u8], mut at: usize) -> usize {
    let blanks = |mut at: usize| {
        while matches!(text.get(at), Some(b' ' | b'\t' | 0x0c)) {
            at += 1;
        }
        at
    };
    if text.get(blanks(at)) == Some(&b';') {
        at = blanks(at) + 1;
    }
    at = blanks(at);
    if text.get(at) == Some(&b'\r') {
        at += 1;
    }
    if text.get(at) == Some(&b'\n') {
        at += 1;
    }
    at
}

fn other(text: &[u8]) -> Other {
    let all: Vec<Word> = Words::new(text).collect();
    let mut end = all.len();
    while end > 0 && all[end - 1].depth == 0 && all[end - 1].is_byte(text, b';') {
        end -= 1;
    }
    let kept = &all[..end];
    let mut found = Other {
        format: None,
        end: if end == all.len() { text.len() } else { all[end].place.start },
        into_outfile: false,
    };
    for (at, word) in kept.iter().enumerate() {
        if word.depth > 0 || word.kind != Kind::Name {
            continue;
        }
        let next = kept.get(at + 1);
        if word.is(text, "INTO") && next.is_some_and(|next| next.is(text, "OUTFILE")) {
            found.into_outfile = true;
        }
        // `FORMAT x` stands last, or before the settings.
        if at > 0
            && word.is(text, "FORMAT")
            && kept.get(at + 2).is_none_or(|behind| behind.is(text, "SETTINGS"))
            && let Some(next) = next
            && let Some(name) = next.name(text)
        {
            found.format = Some((name, word.place.start..next.place.end));
        }
    }
    found
}

#[cfg(test)]
mod tests;
