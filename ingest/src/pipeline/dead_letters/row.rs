//! A refused row as `JSONEachRow` takes it: the same columns the `Native` block has, in words.

use std::io;

use chrono::{DateTime, NaiveDate, TimeDelta};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::record::{BatchHeader, EventView, MessageEvent, OrderView};

/// The row of a message event, by column name.
pub(super) fn of_message(
    header: &BatchHeader,
    event: &MessageEvent<'_>,
) -> serde_json::Result<Box<RawValue>> {
    serde_json::value::to_raw_value(&json!({
        "workspace_id": header.workspace_id,
        "campaign_id": event.campaign_id,
        "type": event.kind.as_str(),
        "user_id": event.user_id,
        "message_id": event.message_id,
        "event_id": event.event_id,
        "timestamp": instant(event.timestamp_ms),
        "occurrence": event.occurrence,
        "variant_id": event.variant_id,
        "channel": event.channel,
        "is_bot": event.is_bot,
        "is_test": event.is_test,
        "url": event.url,
        "label": event.label,
        "code": event.code,
        "reason": event.reason,
        "platform": event.platform,
        "app_id": event.app_id,
        "button_id": event.button_id,
        "seq": event.seq,
    }))
}

/// The row of an event, by column name.
pub(super) fn of_event(
    header: &BatchHeader,
    event: &EventView<'_>,
) -> serde_json::Result<Box<RawValue>> {
    let numbers: Map<String, Value> =
        event.numbers().map(|(path, value)| (path.to_owned(), json!(value))).collect();
    let order = event.order.unwrap_or_default();
    let is_order = event.order.is_some();
    serde_json::value::to_raw_value(&json!({
        "workspace_id": header.workspace_id,
        "event_name": event.event_name,
        "day": day(event.day),
        "timestamp": instant(event.timestamp_ms),
        "user_id": event.user_id,
        "anonymous_id": event.anonymous_id,
        "service_user_id": event.service_user_id,
        "alias_label": event.alias_label,
        "alias_name": event.alias_name,
        "event_id": event.event_id,
        "session_id": event.session_id,
        "device_id": event.device_id,
        "received_at": instant(header.received_at_ms),
        "properties": event.properties,
        "numbers": numbers,
        "order_id": order.order_id,
        "revenue": decimal(order.revenue),
        "currency": order.currency,
        "base_revenue": decimal(order.base_revenue),
        "base_currency": order.base_currency,
        "has_revenue": u8::from(is_order && has_revenue(&order)),
        "seq": event.seq,
    }))
}

/// The key day of an event's row: days since the epoch.
pub(super) fn day_of(row: &RawValue) -> io::Result<u16> {
    #[derive(Deserialize)]
    struct Keyed {
        day: NaiveDate,
    }
    let Keyed { day } = serde_json::from_str(row.get())?;
    let days = (day - NaiveDate::default()).num_days();
    u16::try_from(days).map_err(io::Error::other)
}

fn has_revenue(order: &OrderView<'_>) -> bool {
    order.revenue.is_some()
}

fn day(days: u16) -> String {
    (NaiveDate::default() + TimeDelta::days(i64::from(days))).to_string()
}

/// Both sides of an instant beyond chrono's years are clamped; admission keeps them far inside.
fn instant(ms: i64) -> String {
    let instant = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    instant.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// Ten-thousandths as decimal text.
fn decimal(value: Option<i64>) -> String {
    let value = value.unwrap_or(0);
    let sign = if value < 0 { "-" } else { "" };
    let magnitude = value.unsigned_abs();
    format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_days_and_instants_are_written_as_clickhouse_reads_them() {
        for (value, text) in [
            (None, "0.0000"),
            (Some(0), "0.0000"),
            (Some(1), "0.0001"),
            (Some(-5), "-0.0005"),
            (Some(-123_456), "-12.3456"),
            (Some(i64::MAX), "922337203685477.5807"),
            (Some(i64::MIN), "-922337203685477.5808"),
        ] {
            assert_eq!(decimal(value), text);
        }
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(19_675), "2023-11-14");
        assert_eq!(instant(1_700_000_000_123), "2023-11-14 22:13:20.123");
        assert_eq!(instant(-1), "1969-12-31 23:59:59.999");
    }
}
