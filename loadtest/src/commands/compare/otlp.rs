//! Events as log records of the OpenTelemetry protocol: an `ExportLogsServiceRequest` in protobuf, by
//! `opentelemetry/proto/collector/logs/v1/logs_service.proto` and `opentelemetry/proto/logs/v1/logs.proto`.

use anyhow::Result;
use bytes::Bytes;
use chrono::DateTime;
use serde_json::Value;

use super::rows::events;
use crate::clock;

/// Wire types of protobuf.
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;

/// A body of events as one request; each event a record, its name the body, its other fields attributes.
///
/// # Errors
/// A body that is no JSON.
pub(super) fn export_request(body: &Bytes) -> Result<Bytes> {
    let mut records = Vec::new();
    for event in events(body)? {
        put_bytes(&mut records, 2, &record(&event));
    }
    let mut resource_logs = Vec::new();
    put_bytes(&mut resource_logs, 2, &records);
    let mut request = Vec::new();
    put_bytes(&mut request, 1, &resource_logs);
    Ok(request.into())
}

fn record(event: &Value) -> Vec<u8> {
    let mut record = Vec::new();
    let time_ms = event["timestamp"]
        .as_str()
        .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
        .map_or_else(clock::now_ms, |time| time.timestamp_millis());
    put_key(&mut record, 1, FIXED64);
    let time_ns = u64::try_from(time_ms).unwrap_or_default() * 1_000_000;
    record.extend_from_slice(&time_ns.to_le_bytes());
    put_bytes(&mut record, 5, &text_value(event["eventName"].as_str().unwrap_or_default()));
    for field in ["clientEventId", "userId", "anonymousId", "sessionId", "deviceId"] {
        if let Some(text) = event[field].as_str() {
            put_bytes(&mut record, 6, &attribute(field, text));
        }
    }
    put_bytes(&mut record, 6, &attribute("properties", &event["properties"].to_string()));
    record
}

fn attribute(name: &str, text: &str) -> Vec<u8> {
    let mut attribute = Vec::new();
    put_bytes(&mut attribute, 1, name.as_bytes());
    put_bytes(&mut attribute, 2, &text_value(text));
    attribute
}

/// An `AnyValue` that holds a string.
fn text_value(text: &str) -> Vec<u8> {
    let mut value = Vec::new();
    put_bytes(&mut value, 1, text.as_bytes());
    value
}

fn put_bytes(into: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(into, field, LENGTH_DELIMITED);
    put_varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

fn put_key(into: &mut Vec<u8>, field: u64, wire_type: u64) {
    put_varint(into, field << 3 | wire_type);
}

fn put_varint(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    into.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_protobuf_of_the_protocol() {
        let body = Bytes::from_static(
            br#"{"eventName":"N","timestamp":"1970-01-01T00:00:01Z","userId":"u","properties":{}}"#,
        );
        let expected = [
            b"\x0a\x35\x12\x33\x12\x31".as_slice(), // resource_logs, scope_logs, log_records
            b"\x09\x00\xca\x9a\x3b\x00\x00\x00\x00", // time_unix_nano
            b"\x2a\x03\x0a\x01N",                   // body
            b"\x32\x0d\x0a\x06userId\x12\x03\x0a\x01u", // attributes
            b"\x32\x12\x0a\x0aproperties\x12\x04\x0a\x02{}",
        ];
        assert_eq!(export_request(&body).unwrap(), expected.concat());
    }

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for (number, expected) in
            [(0_u64, &[0_u8][..]), (127, &[127]), (128, &[0x80, 1]), (300, &[0xac, 2])]
        {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            assert_eq!(bytes, expected);
        }
    }
}
