//! A statement's answer, read until there is enough to show.

use axum::body::Body;
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::refusal;
use crate::{
    failure::{Failure, PageResult},
    visitor::Visitor,
};

/// Rows that are shown.
const ROWS_MAX: usize = 1_000;
/// Bytes of an answer that are read.
const BYTES_MAX: usize = 4 << 20;
/// A line each for the names, the types and every row.
const FORMAT: &str = "JSONCompactEachRowWithNamesAndTypes";
/// The header that names the format of an answer.
const X_FORMAT: &str = "x-clickhouse-format";

/// What a statement answers.
#[derive(Debug)]
pub(super) enum Answer {
    Rows(Rows),
    /// The statement names a format of its own.
    Text(String),
}

/// The rows of an answer, from its beginning.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) columns: Vec<ColumnType>,
    pub(super) values: Vec<Vec<Value>>,
    pub(super) has_more: bool,
}

/// A column by its name and its type in ClickHouse.
#[derive(Debug, Clone)]
pub(super) struct ColumnType {
    pub(super) name: String,
    of: String,
}

impl ColumnType {
    /// The type without what may be null and how it is stored.
    fn plain(&self) -> &str {
        let mut of = self.of.as_str();
        for outer in ["LowCardinality(", "Nullable("] {
            of = of.strip_prefix(outer).and_then(|rest| rest.strip_suffix(')')).unwrap_or(of);
        }
        of
    }

    pub(super) fn is_number(&self) -> bool {
        ["Int", "UInt", "Float", "Decimal"].iter().any(|name| self.plain().starts_with(name))
    }

    pub(super) fn is_time(&self) -> bool {
        self.plain().starts_with("Date")
    }

    pub(super) fn is_text(&self) -> bool {
        let plain = self.plain();
        ["String", "FixedString", "Enum"].iter().any(|name| plain.starts_with(name))
    }
}

/// The listener for SQL is not there.
pub(super) fn is_off() -> Failure {
    let text = "SQL is turned off on this server (MILLRACE_SQL_LISTEN=off)";
    Failure::new(StatusCode::NOT_FOUND, text)
}

/// Runs a statement and reads the beginning of its answer. What is not read is not made.
///
/// # Errors
/// What is refused of the statement, with ClickHouse's text.
pub(super) async fn ask(visitor: &Visitor, statement: &str) -> PageResult<Answer> {
    let call = visitor.sql(statement).ok_or_else(is_off)?;
    let answer = call.query("default_format", FORMAT).answer().await?;
    let (head, body) = answer.into_parts();
    if !head.status.is_success() {
        return Err(refusal(head.status, body).await);
    }
    let is_own = has_other_format(&head.headers);
    let (bytes, is_whole) = beginning(body, !is_own).await?;
    if is_own {
        return Ok(Answer::Text(String::from_utf8_lossy(&bytes).into_owned()));
    }
    rows(&bytes, is_whole).map(Answer::Rows)
}

fn has_other_format(headers: &HeaderMap) -> bool {
    headers.get(X_FORMAT).is_some_and(|format| format != FORMAT)
}

/// The first bytes of an answer, until there are rows or bytes enough, and whether they are all.
async fn beginning(body: Body, has_lines: bool) -> PageResult<(Vec<u8>, bool)> {
    let (mut bytes, mut lines) = (Vec::new(), 0);
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|fault| Failure::internal(&fault))?;
        lines += chunk.split(|byte| *byte == b'\n').count() - 1;
        bytes.extend_from_slice(&chunk);
        // Two lines are the names and the types.
        if bytes.len() > BYTES_MAX || has_lines && lines > ROWS_MAX + 2 {
            bytes.truncate(BYTES_MAX);
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// Rows of an answer, each a line. Where the answer was cut, its last line may be a part of one.
fn rows(bytes: &[u8], is_whole: bool) -> PageResult<Rows> {
    let text = String::from_utf8_lossy(bytes);
    let ended = match text.rsplit_once('\n') {
        Some((ended, _)) if !is_whole => ended,
        _ => &text,
    };
    let mut lines = ended.lines().filter(|line| !line.is_empty());
    // A statement that fails on its way ends with the text of its error.
    let fields = |line: &str| {
        serde_json::from_str::<Vec<Value>>(line).map_err(|_| {
            let text = ended.rsplit_once("Code: ").map_or(ended, |(_, text)| text);
            Failure::new(StatusCode::BAD_REQUEST, format!("Code: {}", text.trim()))
        })
    };
    let (Some(names), Some(types)) = (lines.next(), lines.next()) else {
        return Ok(Rows::default());
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = fields(names)?
        .iter()
        .zip(&fields(types)?)
        .map(|(name, of)| ColumnType { name: text(name), of: text(of) })
        .collect();
    let values = lines.by_ref().take(ROWS_MAX).map(fields).collect::<PageResult<_>>()?;
    let has_more = !is_whole || lines.next().is_some();
    Ok(Rows { columns, values, has_more })
}

/// A value as people read it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Rows of an answer in lines, for tests.
#[cfg(test)]
pub(super) fn of_text(text: &str) -> Rows {
    rows(text.as_bytes(), true).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[\"day\",\"n\"]\n[\"Date\",\"Nullable(UInt64)\"]\n";

    #[test]
    fn an_answer_is_read_line_by_line() {
        let read = rows(
            format!("{HEAD}[\"2026-03-01\",18446744073709551615]\n[\"2026-03-02\",null]\n")
                .as_bytes(),
            true,
        )
        .unwrap();
        assert!(read.columns[0].is_time() && read.columns[1].is_number() && !read.has_more);
        let texts: Vec<String> = read.values.iter().map(|row| text_of(&row[1])).collect();
        assert_eq!(texts, ["18446744073709551615", "–"]);
        let cut = rows(format!("{HEAD}[\"2026-03-01\",1]\n[\"2026-0").as_bytes(), false).unwrap();
        assert!(cut.has_more && cut.values.len() == 1);
        assert!(rows(b"", true).unwrap().values.is_empty());
    }

    #[test]
    fn rows_beyond_those_shown_are_noticed() {
        for (lines, has_more) in [(ROWS_MAX, false), (ROWS_MAX + 1, true)] {
            let read =
                rows(format!("{HEAD}{}", "[\"2026-03-01\",1]\n".repeat(lines)).as_bytes(), true)
                    .unwrap();
            assert_eq!((read.values.len(), read.has_more), (ROWS_MAX, has_more));
        }
    }

    #[test]
    fn an_error_in_the_middle_is_the_failure() {
        let failure = rows(
            format!("{HEAD}[\"2026-03-01\",1]\nCode: 241. DB::Exception: memory\n").as_bytes(),
            true,
        );
        assert_eq!(failure.unwrap_err().message, "Code: 241. DB::Exception: memory");
    }
}
