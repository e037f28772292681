//! The same events as rows for `JSONEachRow`, made before anything is timed.

use anyhow::{Context, Result};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{clock, source::Batch};

/// How much of a row the straight insert carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The event's own fields only: the least ClickHouse can be given.
    Own,
    /// Every column Millrace fills as well: numeric properties, order fields, arrival.
    All,
}

/// Turns batches into insert bodies of about `rows_per_insert` rows.
pub(super) fn insert_bodies(
    batches: &[Batch],
    workspace: Uuid,
    content: Content,
    rows_per_insert: usize,
) -> Result<Vec<Bytes>> {
    let workspace = workspace.to_string();
    let received = clickhouse_time(clock::rfc3339(clock::now_ms()).as_str())?;
    let (mut bodies, mut body, mut rows) = (Vec::new(), Vec::new(), 0);
    let mut seq = u64::try_from(clock::now_ms()).unwrap_or(0).wrapping_mul(1_000) << 12;
    for batch in batches {
        for event in events(&batch.body)? {
            seq += 1;
            let mut row = own_fields(&workspace, &event, &received)?;
            if content == Content::All {
                add_derived(&mut row, &event, &received, seq);
            }
            serde_json::to_writer(&mut body, &Value::Object(row))?;
            body.push(b'\n');
            rows += 1;
            if rows == rows_per_insert {
                bodies.push(Bytes::from(std::mem::take(&mut body)));
                rows = 0;
            }
        }
    }
    if rows > 0 {
        bodies.push(Bytes::from(body));
    }
    Ok(bodies)
}

pub(super) fn events(body: &[u8]) -> Result<Vec<Value>> {
    Ok(match serde_json::from_slice(body)? {
        Value::Array(events) => events,
        event => vec![event],
    })
}

fn own_fields(workspace: &str, event: &Value, received: &str) -> Result<Map<String, Value>> {
    let timestamp = match &event["timestamp"] {
        Value::String(text) => clickhouse_time(text)?,
        Value::Number(ms) => clickhouse_time(&clock::rfc3339(ms.as_i64().unwrap_or(0)))?,
        _ => received.to_owned(),
    };
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    let day = timestamp.get(..10).unwrap_or_default();
    let row = json!({
        "workspace_id": workspace,
        "event_name": text("eventName"),
        "day": day,
        "timestamp": timestamp,
        "user_id": text("userId"),
        "anonymous_id": text("anonymousId"),
        "event_id": text("clientEventId"),
        "session_id": text("sessionId"),
        "device_id": text("deviceId"),
        "properties": event.get("properties").cloned().unwrap_or_else(|| json!({})),
    });
    match row {
        Value::Object(row) => Ok(row),
        _ => anyhow::bail!("a row is an object"),
    }
}

fn add_derived(row: &mut Map<String, Value>, event: &Value, received: &str, seq: u64) {
    let mut numbers = Map::new();
    collect_numbers(&mut numbers, "", &event["properties"]);
    row.insert("numbers".to_owned(), Value::Object(numbers));
    row.insert("received_at".to_owned(), received.into());
    row.insert("seq".to_owned(), seq.into());
    if event["eventName"] != "Order Completed" {
        return;
    }
    let properties = &event["properties"];
    for (column, field) in
        [("order_id", "orderId"), ("currency", "currency"), ("base_currency", "base_currency")]
    {
        row.insert(column.to_owned(), properties[field].as_str().unwrap_or_default().into());
    }
    for (column, field) in [("revenue", "total"), ("base_revenue", "total_base")] {
        row.insert(column.to_owned(), json!(properties[field].as_f64().unwrap_or(0.0)));
    }
    row.insert("has_revenue".to_owned(), u8::from(properties["total"].is_number()).into());
}

/// Numeric leaves by dotted path; arrays are not walked.
fn collect_numbers(numbers: &mut Map<String, Value>, prefix: &str, value: &Value) {
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if value.is_number() {
            numbers.insert(path, value.clone());
        } else {
            collect_numbers(numbers, &path, value);
        }
    }
}

/// `YYYY-MM-DD HH:MM:SS.mmm` in UTC: the form ClickHouse reads fastest.
fn clickhouse_time(text: &str) -> Result<String> {
    let time =
        DateTime::parse_from_rfc3339(text).with_context(|| format!("{text} is not a time"))?;
    Ok(time.with_timezone(&Utc).format("%Y-%m-%d %H:%M:%S%.3f").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{EventSource, Replay};

    const EVENT: &str = concat!(
        r#"{"userId":"u","eventName":"Order Completed","timestamp":"2011-02-01T01:00:00+02:00","#,
        r#""clientEventId":"e","properties":{"orderId":"o","total":2.5,"box":{"depth":3},"list":[1]}}"#,
    );

    #[test]
    fn a_row_holds_what_millrace_would_store() {
        let replay = Replay::read(format!("{EVENT}\n").as_bytes(), 500, 1).unwrap();
        let batches = [replay.batch(0).unwrap()];
        let row = |content| -> Value {
            let bodies = insert_bodies(&batches, Uuid::nil(), content, 10).unwrap();
            assert_eq!(bodies.len(), 1);
            serde_json::from_slice(&bodies[0]).unwrap()
        };
        let own = row(Content::Own);
        assert_eq!(
            (&own["day"], &own["timestamp"]),
            (&json!("2011-01-31"), &json!("2011-01-31 23:00:00.000"))
        );
        assert!(own.get("numbers").is_none());
        let all = row(Content::All);
        assert_eq!(all["numbers"], json!({"total": 2.5, "box.depth": 3}));
        assert_eq!(
            (&all["order_id"], &all["revenue"], &all["has_revenue"]),
            (&json!("o"), &json!(2.5), &json!(1))
        );
    }

    #[test]
    fn bodies_are_cut_at_the_wanted_number_of_rows() {
        let lines: Vec<_> =
            (0..5).map(|n| format!("{{\"clientEventId\":\"e{n}\",\"timestamp\":0}}\n")).collect();
        let replay = Replay::read(lines.concat().as_bytes(), 2, 1).unwrap();
        let batches: Vec<_> = (0..3).map(|number| replay.batch(number).unwrap()).collect();
        let bodies = insert_bodies(&batches, Uuid::nil(), Content::Own, 2).unwrap();
        let rows: Vec<_> =
            bodies.iter().map(|body| body.split(|byte| *byte == b'\n').count() - 1).collect();
        assert_eq!(rows, [2, 2, 1]);
    }
}
