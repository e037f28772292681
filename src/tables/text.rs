//! Values as text: in JSON, and as the cells of CSV.

use std::io::Write as _;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::{Column, ColumnType, TableError, Value};

/// Writes the value of a column in JSON, in one line.
pub(crate) fn write_json(
    out: &mut Vec<u8>,
    column: &Column,
    value: Value<'_>,
) -> Result<(), TableError> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Text(text) => serde_json::to_writer(out, text)?,
        Value::Json(text) => write_in_one_line(out, text),
        Value::Boolean(is_true) => serde_json::to_writer(out, &is_true)?,
        Value::Integer(integer) => serde_json::to_writer(out, &integer)?,
        // Not finite: null.
        Value::Number(number) => serde_json::to_writer(out, &number)?,
        Value::Decimal(units) => write_decimal(out, units, scale(column)),
        Value::Timestamp(at_ms) => {
            out.push(b'"');
            write_timestamp(out, column, at_ms)?;
            out.push(b'"');
        }
        Value::NumberMap(entries) => {
            write_object(out, entries.iter().map(|(name, number)| (*name, number)))?;
        }
        Value::TextMap(entries) => {
            write_object(out, entries.iter().map(|(name, text)| (*name, text)))?;
        }
        Value::TextList(texts) => serde_json::to_writer(out, texts)?,
    }
    Ok(())
}

/// Writes the value of a column as the cell of a text table: empty for null, plain where it is no structure.
pub(crate) fn write_cell(
    out: &mut Vec<u8>,
    column: &Column,
    value: Value<'_>,
) -> Result<(), TableError> {
    match value {
        Value::Null => {}
        Value::Text(text) | Value::Json(text) => out.extend_from_slice(text.as_bytes()),
        Value::Number(number) if !number.is_finite() => {}
        Value::Timestamp(at_ms) => write_timestamp(out, column, at_ms)?,
        other => write_json(out, column, other)?,
    }
    Ok(())
}

fn write_object<'a, V: serde::Serialize + 'a>(
    out: &mut Vec<u8>,
    entries: impl Iterator<Item = (&'a str, V)>,
) -> Result<(), TableError> {
    out.push(b'{');
    for (at, (name, value)) in entries.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        serde_json::to_writer(&mut *out, &value)?;
    }
    out.push(b'}');
    Ok(())
}

/// Line ends stand between tokens of JSON only, never inside of its texts.
fn write_in_one_line(out: &mut Vec<u8>, json: &str) {
    let from = out.len();
    out.extend_from_slice(json.as_bytes());
    for byte in &mut out[from..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

pub(crate) fn scale(column: &Column) -> u8 {
    match column.kind {
        ColumnType::Decimal { scale } => scale,
        _ => 0,
    }
}

/// Writes `units` of the last of `scale` digits, without zeros at the end.
fn write_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
    let one = 10_u64.pow(u32::from(scale.min(18)));
    let size = units.unsigned_abs();
    if units < 0 {
        out.push(b'-');
    }
    // A vector takes all that is written to it.
    let _ = write!(out, "{}", size / one);
    let fraction = size % one;
    if fraction > 0 {
        let digits = format!("{fraction:0width$}", width = usize::from(scale));
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

fn write_timestamp(out: &mut Vec<u8>, column: &Column, at_ms: i64) -> Result<(), TableError> {
    let at: DateTime<Utc> = DateTime::from_timestamp_millis(at_ms).ok_or_else(|| {
        TableError::WrongType { column: column.name.to_string(), value: at_ms.to_string() }
    })?;
    out.extend_from_slice(at.to_rfc3339_opts(SecondsFormat::Millis, true).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(kind: ColumnType, value: Value<'_>) -> (String, String) {
        let column = Column::nullable("c", kind);
        let (mut json, mut cell) = (Vec::new(), Vec::new());
        write_json(&mut json, &column, value).unwrap();
        write_cell(&mut cell, &column, value).unwrap();
        (String::from_utf8(json).unwrap(), String::from_utf8(cell).unwrap())
    }

    #[test]
    fn every_type_has_a_text() {
        let decimal = ColumnType::Decimal { scale: 4 };
        let map = [("a", 1.0), ("b\"", 0.1)];
        let table = [
            (ColumnType::Text, Value::Null, "null", ""),
            (ColumnType::Text, Value::Text("a\"\n"), r#""a\"\n""#, "a\"\n"),
            (ColumnType::Json, Value::Json("{\n\"a\":\r1.0}"), "{ \"a\": 1.0}", "{\n\"a\":\r1.0}"),
            (ColumnType::Boolean, Value::Boolean(true), "true", "true"),
            (
                ColumnType::Integer,
                Value::Integer(i64::MIN),
                "-9223372036854775808",
                "-9223372036854775808",
            ),
            (ColumnType::Number, Value::Number(0.1), "0.1", "0.1"),
            (ColumnType::Number, Value::Number(f64::NAN), "null", ""),
            (decimal, Value::Decimal(499_000), "49.9", "49.9"),
            (decimal, Value::Decimal(-5), "-0.0005", "-0.0005"),
            (decimal, Value::Decimal(20_000), "2", "2"),
            (decimal, Value::Decimal(0), "0", "0"),
            (
                ColumnType::Timestamp,
                Value::Timestamp(1),
                r#""1970-01-01T00:00:00.001Z""#,
                "1970-01-01T00:00:00.001Z",
            ),
            (
                ColumnType::NumberMap,
                Value::NumberMap(&map),
                r#"{"a":1.0,"b\"":0.1}"#,
                r#"{"a":1.0,"b\"":0.1}"#,
            ),
            (ColumnType::TextMap, Value::TextMap(&[("a", "b")]), r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (ColumnType::TextList, Value::TextList(&["a", "b"]), r#"["a","b"]"#, r#"["a","b"]"#),
        ];
        for (kind, value, json, cell) in table {
            assert_eq!(both(kind, value), (json.to_owned(), cell.to_owned()), "{value:?}");
        }
    }
}
