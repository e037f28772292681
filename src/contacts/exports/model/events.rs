//! The table that an export of events is: its columns, and the cursor by which it is resumed.

use std::sync::LazyLock;

use analytics::events::{ExportPosition, ExportedEvent};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use tables::{Column, ColumnType, Schema, Value};

/// Number of columns of an export.
pub const EXPORT_COLUMNS: usize = 18;
/// Digits of revenue after the point.
const REVENUE_SCALE: u8 = 4;
/// Bytes of a cursor before its texts: time, key day and the length of the name.
const CURSOR_HEAD_BYTES: usize = size_of::<i64>() + 2 * size_of::<u16>();

/// The columns of an export, in order.
pub fn export_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let text = |name| Column::required(name, ColumnType::Text);
        Schema::new([
            text("event_id"),
            text("event_name"),
            text("person_id"),
            text("user_id"),
            text("anonymous_id"),
            text("service_user_id"),
            text("alias_label"),
            text("alias_name"),
            text("session_id"),
            text("device_id"),
            Column::required("timestamp", ColumnType::Timestamp),
            Column::required("received_at", ColumnType::Timestamp),
            Column::required("properties", ColumnType::Json),
            Column::required("numbers", ColumnType::NumberMap),
            text("order_id"),
            Column::nullable("revenue", ColumnType::Decimal { scale: REVENUE_SCALE }),
            text("currency"),
            text("cursor"),
        ])
    });
    SCHEMA.clone()
}

/// The values of an event for these columns.
pub fn export_row<'a>(
    event: &'a ExportedEvent<'_>,
    cursor: &'a str,
) -> [Value<'a>; EXPORT_COLUMNS] {
    let has_revenue = event.has_revenue != 0;
    [
        Value::Text(event.event_id),
        Value::Text(event.name),
        Value::Text(event.person_id),
        Value::Text(event.user_id),
        Value::Text(event.anonymous_id),
        Value::Text(event.service_user_id),
        Value::Text(event.label),
        Value::Text(event.alias_name),
        Value::Text(event.session_id),
        Value::Text(event.device_id),
        Value::Timestamp(event.timestamp_ms),
        Value::Timestamp(event.received_at_ms),
        Value::Json(event.properties),
        Value::NumberMap(&event.numbers),
        Value::Text(event.order_id),
        if has_revenue { Value::Decimal(event.revenue_units) } else { Value::Null },
        Value::Text(event.order_currency),
        Value::Text(cursor),
    ]
}

/// Writes cursors into memory that is used again.
#[derive(Debug, Default)]
pub struct CursorWriter {
    bytes: Vec<u8>,
    text: String,
}

impl CursorWriter {
    /// The cursor of an event, after which an export goes on.
    pub fn of(&mut self, event: &ExportedEvent<'_>) -> &str {
        // Names have at most 255 characters.
        let name_bytes = u16::try_from(event.name.len()).unwrap_or(u16::MAX);
        self.bytes.clear();
        self.bytes.extend_from_slice(&event.timestamp_ms.to_be_bytes());
        self.bytes.extend_from_slice(&event.key_day.to_be_bytes());
        self.bytes.extend_from_slice(&name_bytes.to_be_bytes());
        self.bytes.extend_from_slice(event.name.as_bytes());
        self.bytes.extend_from_slice(event.event_id.as_bytes());
        self.text.clear();
        URL_SAFE_NO_PAD.encode_string(&self.bytes, &mut self.text);
        &self.text
    }
}

/// The position of a cursor; none for a text that is none.
pub fn read_cursor(text: &str) -> Option<ExportPosition> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (head, texts) = bytes.split_at_checked(CURSOR_HEAD_BYTES)?;
    let (timestamp, head) = head.split_first_chunk()?;
    let (key_day, head) = head.split_first_chunk()?;
    let name_bytes = u16::from_be_bytes(*head.first_chunk()?);
    let (name, id) = texts.split_at_checked(name_bytes.into())?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().filter(|it| !it.is_empty());
    Some(ExportPosition {
        timestamp_ms: i64::from_be_bytes(*timestamp),
        event_id: text(id)?,
        event_name: text(name)?,
        key_day: u16::from_be_bytes(*key_day),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event<'a>(name: &'a str, id: &'a str) -> ExportedEvent<'a> {
        ExportedEvent {
            event_id: id,
            name,
            person_id: "p",
            user_id: "u",
            anonymous_id: "",
            service_user_id: "",
            label: "",
            alias_name: "",
            session_id: "",
            device_id: "",
            timestamp_ms: 1_772_366_400_001,
            received_at_ms: 2,
            properties: "{}",
            numbers: vec![("total", 1.0)],
            order_id: "",
            has_revenue: 0,
            revenue_units: 0,
            order_currency: "",
            key_day: 20_513,
        }
    }

    #[test]
    fn a_cursor_is_read_back() {
        let (name, id) = ("é".repeat(255), "日本".repeat(100));
        for (name, id) in [("A", "1"), (name.as_str(), id.as_str()), ("a\0b", "\u{1}")] {
            let event = event(name, id);
            let mut writer = CursorWriter::default();
            writer.of(&self::event("another", "one"));
            let expected = ExportPosition {
                timestamp_ms: event.timestamp_ms,
                event_id: id.to_owned(),
                event_name: name.to_owned(),
                key_day: event.key_day,
            };
            assert_eq!(read_cursor(writer.of(&event)), Some(expected));
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let mut writer = CursorWriter::default();
        let cursor = writer.of(&event("A", "1")).to_owned();
        let no_id = writer.of(&event("A", "")).to_owned();
        for end in 0..cursor.len() - 1 {
            assert_eq!(read_cursor(cursor.get(..end).unwrap()), None, "cut after {end}");
        }
        for text in ["", "x", "!", "AAAA", "2026-03-01", no_id.as_str()] {
            assert_eq!(read_cursor(text), None, "{text}");
        }
    }

    #[test]
    fn every_column_has_its_value() {
        let mut event = event("Order Completed", "1");
        (event.has_revenue, event.revenue_units) = (1, 499_000);
        let mut writer = tables::TableWriter::new(tables::Format::Csv, export_schema()).unwrap();
        writer.push(&export_row(&event, "c")).unwrap();
        let text = String::from_utf8(writer.finish().unwrap().to_vec()).unwrap();
        let row = "1,Order Completed,p,u,,,,,,,2026-03-01T12:00:00.001Z,1970-01-01T00:00:00.002Z,{},\"{\"\"total\"\":1.0}\",,49.9,,c";
        assert_eq!(text.lines().last(), Some(row));
    }
}
