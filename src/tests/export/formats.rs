//! Every format has the same rows.

use std::{collections::BTreeMap, io::Write as _};

use serde_json::Value;
use tables::{Format, TableReader};
use tempfile::NamedTempFile;

use super::fixture::{bytes, has_type, shop, track};
use crate::kit::Workspace;

/// The rows of a file, with values that are written alike in every format.
pub(super) fn read(bytes: &[u8], format: Format) -> Vec<BTreeMap<String, Value>> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut reader = TableReader::open(file.path(), format).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        let fields = row.fields.unwrap().into_iter().map(|field| {
            let value: Value = serde_json::from_str(field.value.get()).unwrap();
            (field.name.to_string(), value)
        });
        rows.push(fields.map(|(name, value)| normal(name, value)).collect());
    }
    rows
}

/// JSON in texts is taken out of them, numbers are doubles, and an empty text is left to be absent.
fn normal(name: String, value: Value) -> (String, Value) {
    let value = match (name.as_str(), value) {
        (
            "properties" | "numbers" | "attributes" | "anonymous_ids" | "consent" | "lists",
            Value::String(text),
        ) => serde_json::from_str(&text).unwrap(),
        ("revenue", Value::String(text)) => text.parse::<f64>().unwrap().into(),
        ("revenue", Value::Number(number)) => number.as_f64().unwrap().into(),
        (_, value) => value,
    };
    (name, value)
}

pub(super) fn without_empty(rows: Vec<BTreeMap<String, Value>>) -> Vec<BTreeMap<String, Value>> {
    let is_filled = |value: &Value| *value != Value::String(String::new());
    let kept = |row: BTreeMap<String, Value>| row.into_iter().filter(|(_, it)| is_filled(it));
    rows.into_iter().map(|row| kept(row).collect()).collect()
}

#[tokio::test]
async fn csv_and_parquet_have_the_rows_of_ndjson() {
    let workspace = Workspace::new().await;
    track(&workspace, &shop(), 8).await;
    let of = async |query: &str, format| read(&bytes(&workspace.api, query).await, format);
    let ndjson = of("?format=ndjson", Format::Ndjson).await;
    assert_eq!(ndjson.len(), 8);
    assert_eq!(of("?format=parquet", Format::Parquet).await, ndjson);
    assert_eq!(of("?format=csv", Format::Csv).await, without_empty(ndjson));
}

#[tokio::test]
async fn the_format_is_that_of_the_query_else_of_the_header() {
    let workspace = Workspace::new().await;
    let cases = [
        ("", "*/*", "application/x-ndjson"),
        ("", "text/html", "application/x-ndjson"),
        ("", "text/csv", "text/csv"),
        ("", "application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("?format=csv", "application/vnd.apache.parquet", "text/csv"),
        ("?format=parquet", "*/*", "application/vnd.apache.parquet"),
        ("?format=ndjson", "text/csv", "application/x-ndjson"),
    ];
    for (query, accept, expected) in cases {
        has_type(&workspace.api, &format!("/events/export{query}"), [accept, expected]).await;
    }
    // Without events each is a whole table of its format.
    let csv = String::from_utf8(bytes(&workspace.api, "?format=csv").await).unwrap();
    assert!(csv.starts_with("event_id,event_name,person_id,") && csv.lines().count() == 1, "{csv}");
    assert!(read(&bytes(&workspace.api, "?format=parquet").await, Format::Parquet).is_empty());
    assert!(bytes(&workspace.api, "").await.is_empty());
}
