//! The lines of a file to import: an address or number in the first column, and perhaps a reason in the second.

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Value, json};

/// What may stand between two columns; the first in a file is that file's.
const SEPARATORS: [char; 3] = [',', ';', '\t'];
/// What the first column of a heading may be called.
const HEADINGS: [&str; 9] = [
    "identifier",
    "email",
    "e-mail",
    "email address",
    "mail",
    "phone",
    "phone number",
    "mobile",
    "number",
];

/// A row of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The line in which it begins, counted from 1.
    pub(super) number: usize,
    pub(super) identifier: String,
    pub(super) reason: String,
}

impl Line {
    /// The row as the API takes it.
    pub(super) fn entry(&self) -> Value {
        if self.reason.is_empty() {
            json!({"identifier": self.identifier})
        } else {
            json!({"identifier": self.identifier, "reason": self.reason})
        }
    }
}

/// Reads the rows of a file, those without any text left out.
pub(super) fn read(text: &str) -> Vec<Line> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator(text))
        .from_reader(text.as_bytes());
    let mut numbers = LineNumbers { bytes: text.as_bytes(), counted: 0, number: 1 };
    let mut record = StringRecord::new();
    let mut lines = Vec::new();
    loop {
        let begin = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let is_read = reader.read_record(&mut record);
        if !is_read.expect("the text is UTF-8, and records may have any length") {
            return lines;
        }
        let number = numbers.of_record(begin);
        let cell = |index: usize| record.get(index).map(unquoted).unwrap_or_default().to_owned();
        let line = Line { number, identifier: cell(0), reason: cell(1) };
        let is_heading = begin == 0 && is_heading(&line.identifier);
        if !is_heading && record.iter().any(|cell| !cell.trim().is_empty()) {
            lines.push(line);
        }
    }
}

/// Whether a cell is the heading of addresses or numbers; words may have `_` between them.
fn is_heading(cell: &str) -> bool {
    let words = cell.replace('_', " ");
    HEADINGS.iter().any(|heading| heading.eq_ignore_ascii_case(&words))
}

/// What stands between the columns of a text: the first separator outside of quotes.
fn separator(text: &str) -> u8 {
    let mut is_quoted = false;
    let found = text.chars().find(|c| {
        is_quoted ^= *c == '"';
        !is_quoted && SEPARATORS.contains(c)
    });
    found.and_then(|c| u8::try_from(c).ok()).unwrap_or(b',')
}

/// A cell without the blanks around it, and without quotes that had blanks around them.
fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or(cell, str::trim)
}

/// Counts lines up to the beginnings of records.
struct LineNumbers<'t> {
    bytes: &'t [u8],
    /// Bytes whose line ends are counted.
    counted: usize,
    number: usize,
}

impl LineNumbers<'_> {
    /// The line of a record that is read from this byte on; what is left of the line before it, and empty lines, come first.
    fn of_record(&mut self, begin: usize) -> usize {
        let ends = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count() - 1;
        self.number += ends(self.bytes.get(self.counted..begin).unwrap_or_default());
        self.counted = begin;
        let rest = self.bytes.get(begin..).unwrap_or_default();
        let empty = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.number + ends(rest.get(..empty).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(usize, String, String)> {
        let lines = read(text).into_iter();
        lines.map(|line| (line.number, line.identifier, line.reason)).collect()
    }

    fn row(number: usize, identifier: &str, reason: &str) -> (usize, String, String) {
        (number, identifier.to_owned(), reason.to_owned())
    }

    #[test]
    fn lines_are_read_with_their_reasons_and_numbers() {
        let text = "\u{feff}Identifier,reason\r\na@x.test,unsubscribe\r\n\r\n \"b@x.test\" , manual\nc@x.test\n , \n,manual";
        let expected = [
            row(2, "a@x.test", "unsubscribe"),
            row(4, "b@x.test", "manual"),
            row(5, "c@x.test", ""),
            row(7, "", "manual"),
        ];
        assert_eq!(rows(text), expected);
        assert!(rows(" \n").is_empty() && rows("").is_empty() && rows("identifier").is_empty());
        assert!(rows("\n\nidentifier\n").is_empty(), "empty lines come before a heading");
        for heading in ["email,reason", "E-Mail", "Email address;why", "phone_number", "\"Phone\""]
        {
            let text = format!("{heading}\na@x.test\n");
            assert_eq!(rows(&text), [row(2, "a@x.test", "")], "{heading}");
        }
        assert_eq!(rows("nonsense\na@x.test\n").len(), 2, "no heading that is known");
        assert_eq!(rows("a@x.test\nidentifier\n").len(), 2);
    }

    #[test]
    fn each_separator_and_quoted_cells_are_read() {
        for separator in [",", ";", "\t"] {
            let text = [
                "\"a@x.test\",\"unsubscribe\",\"a, b; c\td\ne \"\"f\"\"\"",
                "\"+49 151, \"\"x\"\"\",manual",
                "b@x.test",
            ]
            .join("\n")
            .replace("\",", &format!("\"{separator}"));
            let expected = [
                row(1, "a@x.test", "unsubscribe"),
                row(3, "+49 151, \"x\"", "manual"),
                row(4, "b@x.test", ""),
            ];
            assert_eq!(rows(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_quote_that_is_not_closed_is_one_row() {
        assert_eq!(rows("a@x.test\n\"b@x.test\nc@x.test\n").len(), 2);
        assert_eq!(rows("o\"b@x.test,manual"), [row(1, "o\"b@x.test", "manual")]);
    }
}
