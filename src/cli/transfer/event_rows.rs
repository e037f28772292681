//! A row of an exported table as an event for `POST /events/track`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tables::Field;

use super::json_row::JsonRow;

/// Columns that the server computes anew. They are left out.
const COMPUTED: [&str; 7] =
    ["person_id", "received_at", "numbers", "order_id", "revenue", "currency", "cursor"];
const DAY_MS: i64 = 86_400_000;
/// The name of orders.
const ORDER: &str = "Order Completed";
/// Properties that make an event an order.
const OF_ORDERS: [&str; 3] = ["orderId", "total", "total_base"];

/// An event, with its fields as they stand in the file.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrackedEvent<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client_event_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_name: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymous_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_user_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_alias: Option<UserAlias<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct UserAlias<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_label: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_name: Option<&'r RawValue>,
}

/// Whether a column may stand in a file of events.
pub(super) fn is_column(name: &str) -> bool {
    const OWN: [&str; 11] = [
        "event_id",
        "event_name",
        "user_id",
        "anonymous_id",
        "service_user_id",
        "alias_label",
        "alias_name",
        "session_id",
        "device_id",
        "timestamp",
        "properties",
    ];
    OWN.contains(&name) || COMPUTED.contains(&name)
}

/// The event of a row, or why it can be none.
pub(super) fn event_of(fields: &[Field]) -> Result<JsonRow, String> {
    let mut event = TrackedEvent::default();
    let mut alias = UserAlias::default();
    let (mut is_exported, mut has_order, mut is_stamped) = (false, false, false);
    for field in fields {
        let value = &*field.value;
        // Exports write an empty text for what was not sent.
        let is_blank = value.get() == "\"\"";
        match &*field.name {
            "received_at" => is_exported = true,
            "order_id" | "revenue" => has_order |= !is_blank,
            "cursor" => is_stamped = of_stamped(value),
            name if COMPUTED.contains(&name) => {}
            name if is_blank && is_column(name) => {}
            "event_id" => event.client_event_id = Some(value),
            "event_name" => event.event_name = Some(value),
            "user_id" => event.user_id = Some(value),
            "anonymous_id" => event.anonymous_id = Some(value),
            "service_user_id" => event.service_user_id = Some(value),
            "alias_label" => alias.alias_label = Some(value),
            "alias_name" => alias.alias_name = Some(value),
            "session_id" => event.session_id = Some(value),
            "device_id" => event.device_id = Some(value),
            "timestamp" => event.timestamp = Some(value),
            "properties" => event.properties = Some(properties(value)?),
            name => return Err(format!("{name} is no column of events")),
        }
    }
    if event.client_event_id.is_none() {
        return Err(
            "event_id is required: by it an event that is imported again counts once".into()
        );
    }
    if is_exported && !has_order && would_become_an_order(&event) {
        return Err("an app sent this order with a public key, so that it counted as none; \
                    imported, it would count"
            .into());
    }
    if alias.alias_label.is_some() || alias.alias_name.is_some() {
        event.user_alias = Some(alias);
    }
    let is_order = is_text(event.event_name, |name| name == ORDER);
    let json = serde_json::to_string(&event).map_err(|error| error.to_string())?;
    Ok(JsonRow { json, is_stamped, is_order })
}

/// Whether a cursor is of an event whose id counts under another day than that of its time.
fn of_stamped(cursor: &RawValue) -> bool {
    let position = serde_json::from_str::<String>(cursor.get()).ok();
    let position = position.and_then(|text| exports::model::events::read_cursor(&text));
    position.is_some_and(|it| i64::from(it.key_day) != it.timestamp_ms.div_euclid(DAY_MS))
}

/// Whether a field is a text that passes a test.
fn is_text(field: Option<&RawValue>, test: fn(&str) -> bool) -> bool {
    let text = field.and_then(|it| serde_json::from_str::<String>(it.get()).ok());
    text.is_some_and(|text| test(&text))
}

/// Properties are an object, or an object as text in JSON, as CSV and Parquet have it.
fn properties(value: &RawValue) -> Result<Box<RawValue>, String> {
    if !value.get().starts_with('"') {
        return Ok(value.to_owned());
    }
    serde_json::from_str::<String>(value.get())
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|error| format!("properties must be an object in JSON: {error}"))
}

/// Whether the stored event says nothing about money although its properties do: a public key sent it.
fn would_become_an_order(event: &TrackedEvent<'_>) -> bool {
    let of_app = is_text(event.client_event_id, |id| id.starts_with("sdk:"));
    let is_order = is_text(event.event_name, |name| name == ORDER);
    let properties = event.properties.as_ref().map_or("{}", |it| it.get());
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(properties).unwrap_or_default();
    of_app && is_order && OF_ORDERS.iter().any(|name| members.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::{Value, json};

    use super::*;

    fn event(row: &Value) -> Result<Value, String> {
        let fields: Vec<Field> = row
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| Field {
                name: name.as_str().into(),
                value: RawValue::from_string(value.to_string()).unwrap(),
            })
            .collect();
        event_of(&fields).map(|row| serde_json::from_str(&row.json).unwrap())
    }

    #[test]
    fn every_field_of_an_event_comes_from_its_column() {
        let row = json!({
            "event_id": "e", "event_name": "A", "person_id": "p", "user_id": "u", "anonymous_id": "a",
            "service_user_id": "s", "alias_label": "l", "alias_name": "n", "session_id": "t", "device_id": "d",
            "timestamp": "2026-03-01T12:00:00.000Z", "received_at": "2026-03-01T12:00:01.000Z",
            "properties": "{\"total\":49.90}", "numbers": "{}", "order_id": "", "revenue": 1, "currency": "EUR",
            "cursor": "c",
        });
        let expected = json!({
            "clientEventId": "e", "eventName": "A", "userId": "u", "anonymousId": "a", "serviceUserId": "s",
            "userAlias": {"aliasLabel": "l", "aliasName": "n"}, "sessionId": "t", "deviceId": "d",
            "timestamp": "2026-03-01T12:00:00.000Z", "properties": {"total": 49.90},
        });
        assert_eq!(event(&row), Ok(expected));
        assert!(row.as_object().unwrap().keys().all(|name| is_column(name)));
    }

    #[test]
    fn empty_texts_are_left_out_and_digits_stay() {
        let fields = |properties: &str| {
            [("event_id", "\"e\""), ("user_id", "\"\""), ("properties", properties)].map(
                |(name, value)| Field {
                    name: name.into(),
                    value: RawValue::from_string(value.to_owned()).unwrap(),
                },
            )
        };
        for properties in [r#"{"n":1.10}"#, r#""{\"n\":1.10}""#] {
            let json = r#"{"clientEventId":"e","properties":{"n":1.10}}"#.to_owned();
            let expected = JsonRow { json, is_stamped: false, is_order: false };
            assert_eq!(event_of(&fields(properties)), Ok(expected));
        }
    }

    #[test]
    fn the_cursor_says_which_events_a_server_stamped() {
        // 2026-03-17T00:00:00.005Z of the event "A" with the id "e".
        let cursor = |key_day: u16| {
            let mut bytes = 1_773_705_600_005_i64.to_be_bytes().to_vec();
            bytes.extend(key_day.to_be_bytes());
            bytes.extend(1_u16.to_be_bytes());
            bytes.extend(b"Ae");
            URL_SAFE_NO_PAD.encode(bytes)
        };
        let table = [
            (cursor(20_529), false),
            // The first of the month.
            (cursor(20_513), true),
            (String::new(), false),
            ("no cursor".to_owned(), false),
        ];
        for (cursor, is_stamped) in table {
            let fields =
                [("event_id", json!("e")), ("cursor", json!(cursor))].map(|(name, value)| {
                    let value = RawValue::from_string(value.to_string()).unwrap();
                    Field { name: name.into(), value }
                });
            assert_eq!(event_of(&fields).unwrap().is_stamped, is_stamped, "{cursor}");
        }
    }

    #[test]
    fn rows_that_are_no_events_are_refused() {
        let order = |id: &str, revenue: Value, properties: Value| {
            json!({"event_id": id, "event_name": "Order Completed", "received_at": "x", "order_id": "",
                "revenue": revenue, "properties": properties})
        };
        let blank = json!("");
        let table = [
            (json!({"event_name": "A"}), "event_id is required"),
            (json!({"event_id": "", "event_name": "A"}), "event_id is required"),
            (json!({"event_id": "e", "colour": 1}), "colour is no column"),
            (json!({"event_id": "e", "properties": "{"}), "properties must be"),
            (order("sdk:1", blank.clone(), json!({"total": 1})), "public key"),
        ];
        for (row, reason) in table {
            let refused = event(&row).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
        for row in [
            order("1", blank.clone(), json!({"total": 1})),
            order("sdk:1", json!(1), json!({"total": 1})),
            order("sdk:1", blank, json!({"colour": 1})),
        ] {
            assert!(event(&row).is_ok(), "{row}");
        }
    }
}
