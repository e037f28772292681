//! What is written is read back, and faulty rows do not spoil those after them.

use std::io::Write as _;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::{Column, ColumnType, Schema, TableWriter, Value};

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The rows as `name=value` texts; of a faulty one its reason.
fn rows(bytes: &[u8], format: Format) -> Vec<String> {
    let file = file(bytes);
    let mut reader = TableReader::open(file.path(), format).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        assert_eq!(row.number, rows.len() as u64 + 1);
        rows.push(match row.fields {
            Ok(fields) => fields
                .iter()
                .map(|field| format!("{}={}", field.name, field.value.get()))
                .collect::<Vec<_>>()
                .join(" "),
            Err(faulty) => format!("faulty: {}", faulty.reason),
        });
    }
    rows
}

fn schema() -> Schema {
    Schema::new([
        Column::required("text", ColumnType::Text),
        Column::required("json", ColumnType::Json),
        Column::nullable("flag", ColumnType::Boolean),
        Column::nullable("integer", ColumnType::Integer),
        Column::nullable("number", ColumnType::Number),
        Column::nullable("money", ColumnType::Decimal { scale: 4 }),
        Column::required("at", ColumnType::Timestamp),
        Column::required("numbers", ColumnType::NumberMap),
        Column::required("texts", ColumnType::TextMap),
        Column::required("list", ColumnType::TextList),
    ])
}

fn written(format: Format, texts: &[&str]) -> Vec<u8> {
    let mut writer = TableWriter::new(format, schema()).unwrap();
    for text in texts {
        writer
            .push(&[
                Value::Text(text),
                Value::Json("{\"total\":49.90}"),
                Value::Boolean(true),
                Value::Integer(-7),
                Value::Number(0.1),
                Value::Decimal(499_000),
                Value::Timestamp(1_772_366_400_001),
                Value::NumberMap(&[("total", 49.9), ("a.b", 1.0)]),
                Value::TextMap(&[("email", "optedIn")]),
                Value::TextList(&[text, ""]),
            ])
            .unwrap();
        writer
            .push(&[
                Value::Text(text),
                Value::Json("{}"),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Timestamp(0),
                Value::NumberMap(&[]),
                Value::TextMap(&[]),
                Value::TextList(&[]),
            ])
            .unwrap();
    }
    writer.finish().unwrap().to_vec()
}

#[test]
fn each_format_is_read_back_as_it_was_written() {
    let [ndjson, parquet, csv] = [Format::Ndjson, Format::Parquet, Format::Csv]
        .map(|format| rows(&written(format, &["a,\"é\n"]), format));
    assert_eq!(
        ndjson,
        [
            r#"text="a,\"é\n" json={"total":49.90} flag=true integer=-7 number=0.1 money=49.9 at="2026-03-01T12:00:00.001Z" numbers={"total":49.9,"a.b":1.0} texts={"email":"optedIn"} list=["a,\"é\n",""]"#,
            r#"text="a,\"é\n" json={} at="1970-01-01T00:00:00.000Z" numbers={} texts={} list=[]"#,
        ]
    );
    // Parquet has JSON as a text, and all digits of a decimal.
    let as_parquet = |row: &String| {
        row.replace(r#"json={"total":49.90}"#, r#"json="{\"total\":49.90}""#)
            .replace("json={}", r#"json="{}""#)
            .replace("money=49.9 ", "money=49.9000 ")
    };
    assert_eq!(parquet, ndjson.iter().map(as_parquet).collect::<Vec<_>>());
    assert_eq!(
        csv,
        [
            r#"text="a,\"é\n" json="{\"total\":49.90}" flag="true" integer="-7" number="0.1" money="49.9" at="2026-03-01T12:00:00.001Z" numbers="{\"total\":49.9,\"a.b\":1.0}" texts="{\"email\":\"optedIn\"}" list="[\"a,\\\"é\\n\",\"\"]""#,
            r#"text="a,\"é\n" json="{}" at="1970-01-01T00:00:00.000Z" numbers="{}" texts="{}" list="[]""#,
        ]
    );
}

#[test]
fn a_table_of_several_row_groups_is_read_whole() {
    let text = "x".repeat(10_000);
    let texts: Vec<String> =
        (0..3_000_u32).map(|at| format!("{at}{}", text.replace('x', &at.to_string()))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let read = rows(&written(Format::Parquet, &texts), Format::Parquet);
    assert_eq!(read.len(), 2 * texts.len());
    assert!(read.iter().step_by(2).zip(&texts).all(|(row, text)| row.contains(text)));
}

#[test]
fn a_faulty_line_of_ndjson_does_not_spoil_its_neighbours() {
    let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(ROW_BYTES_MAX));
    let text = format!("{{\"a\":1}}\n\n[1]\n{{\"a\":\n{long}  {{\"a\":null,\"b\":2}}");
    let read = rows(text.as_bytes(), Format::Ndjson);
    assert_eq!((read[0].as_str(), read[4].as_str()), ("a=1", "b=2"));
    for (at, reason) in [(1, "no object"), (2, "no object"), (3, "longer than")] {
        assert!(read[at].contains(reason), "{}", read[at]);
    }
    assert_eq!(read.len(), 5);
}

#[test]
fn a_faulty_line_of_csv_does_not_spoil_its_neighbours() {
    let text = b"\xef\xbb\xbfa,b\n1,2\n3\n4,5,6\n\xff,1\n,7\n";
    assert_eq!(
        rows(text, Format::Csv),
        [
            "a=\"1\" b=\"2\"",
            "faulty: has 1 cells, the first line 2",
            "faulty: has 3 cells, the first line 2",
            "faulty: is not UTF-8",
            "b=\"7\"",
        ]
    );
}

#[test]
fn a_row_that_is_too_long_does_not_spoil_its_neighbours() {
    // The name and the quotes count too.
    for (letters, is_long) in [(ROW_BYTES_MAX - 3, false), (ROW_BYTES_MAX - 2, true)] {
        let cell = "x".repeat(letters);
        let read = rows(format!("a\n{cell}\n7\n").as_bytes(), Format::Csv);
        assert_eq!(read[0].starts_with("faulty: is longer than 1048576 bytes"), is_long);
        assert_eq!(read[1], "a=\"7\"");
        let read = rows(&written(Format::Parquet, &[&cell, "b"]), Format::Parquet);
        assert!(read[0].starts_with("faulty: is longer than 1048576 bytes"));
        assert!(read[2].starts_with("text=\"b\""), "{}", read[2]);
    }
}

#[test]
fn what_is_kept_of_a_faulty_row_is_bounded() {
    let text = format!("a\n{0},{0}\n", "ü".repeat(ROW_BYTES_MAX));
    let file = file(text.as_bytes());
    let mut reader = TableReader::open(file.path(), Format::Csv).unwrap();
    let faulty = reader.next_row().unwrap().unwrap().fields.unwrap_err();
    assert_eq!(faulty.text.len(), ROW_BYTES_MAX);
}

#[test]
fn a_time_too_far_away_does_not_spoil_its_neighbours() {
    let schema = Schema::new([Column::required("at", ColumnType::Timestamp)]);
    let mut writer = TableWriter::new(Format::Parquet, schema).unwrap();
    for millis in [0, i64::MAX, 1] {
        writer.push(&[Value::Timestamp(millis)]).unwrap();
    }
    assert_eq!(
        rows(&writer.finish().unwrap(), Format::Parquet),
        [
            "at=\"1970-01-01T00:00:00.000Z\"",
            "faulty: at is out of range",
            "at=\"1970-01-01T00:00:00.001Z\""
        ]
    );
}

#[test]
fn what_is_no_table_is_refused() {
    let nonsense = file(b"nonsense");
    assert!(TableReader::open(nonsense.path(), Format::Parquet).is_err());
    assert!(TableReader::open(nonsense.path(), Format::Arrow).is_err());
    assert!(TableReader::open(Path::new("/no/such/file"), Format::Csv).is_err());
    // A Parquet file that was cut off has no end, by which it is read.
    let whole = written(Format::Parquet, &["a"]);
    let cut = file(&whole[..whole.len() / 2]);
    assert!(TableReader::open(cut.path(), Format::Parquet).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_read_back(texts in prop::collection::vec("\\PC{0,20}|[\r\n\",;\\\\]{0,6}", 1..5)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for format in [Format::Csv, Format::Ndjson, Format::Parquet] {
            let file = file(&written(format, &texts));
            let mut reader = TableReader::open(file.path(), format).unwrap();
            for text in &texts {
                let row = reader.next_row().unwrap().unwrap().fields.unwrap();
                let read = row.iter().find(|field| &*field.name == "text");
                let read: Option<String> = read.map(|field| serde_json::from_str(field.value.get()).unwrap());
                prop_assert_eq!(read.unwrap_or_default(), *text);
                reader.next_row().unwrap().unwrap();
            }
            prop_assert!(reader.next_row().unwrap().is_none());
        }
    }
}
