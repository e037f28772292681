//! Events as the batch writer would insert them, and short queries.

use std::sync::atomic::{AtomicU64, Ordering};

use analytics::{
    Analytics,
    events::{Aggregate, Bucket, Figure, Metric, PropertyFilter, Unit},
};
use chrono::{DateTime, Datelike as _, NaiveDate};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Arrival order over all tests of this process; the writer's `seq`.
static ARRIVALS: AtomicU64 = AtomicU64::new(1);

/// An event on its way into the table.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) workspace: Uuid,
    pub(super) name: String,
    pub(super) id: String,
    pub(super) at: String,
    pub(super) user_id: String,
    pub(super) service_user_id: String,
    pub(super) anonymous_id: String,
    pub(super) session_id: String,
    pub(super) properties: Value,
    /// The caller sent no timestamp: the key date is the first of the month.
    pub(super) is_server_stamped: bool,
}

/// An event of a workspace with a time in RFC 3339.
pub(super) fn event(workspace: Uuid, name: &str, id: &str, at: &str) -> Event {
    Event {
        workspace,
        name: name.to_owned(),
        id: id.to_owned(),
        at: at.to_owned(),
        user_id: String::new(),
        service_user_id: String::new(),
        anonymous_id: String::new(),
        session_id: String::new(),
        properties: json!({}),
        is_server_stamped: false,
    }
}

impl Event {
    pub(super) fn with(mut self, properties: Value) -> Self {
        self.properties = properties;
        self
    }

    pub(super) fn of(mut self, user_id: &str) -> Self {
        user_id.clone_into(&mut self.user_id);
        self
    }

    fn row(&self) -> Value {
        let at = ms(&self.at);
        let day = DateTime::from_timestamp_millis(at).unwrap().date_naive();
        let key_day: NaiveDate =
            if self.is_server_stamped { day.with_day(1).unwrap() } else { day };
        let is_order = self.name == "Order Completed";
        let total = is_order.then(|| self.properties["total"].as_f64()).flatten();
        let mut numbers = Map::new();
        numeric_leaves("", &self.properties, &mut numbers);
        json!({
            "workspace_id": self.workspace, "event_name": self.name, "day": key_day.to_string(),
            "timestamp": decimal_seconds(at), "received_at": decimal_seconds(at),
            "user_id": self.user_id, "service_user_id": self.service_user_id,
            "anonymous_id": self.anonymous_id, "alias_label": "", "alias_name": "",
            "event_id": self.id, "session_id": self.session_id, "device_id": "",
            "properties": self.properties.to_string(), "numbers": numbers,
            "order_id": if is_order { self.properties["orderId"].as_str().unwrap_or("") } else { "" },
            "revenue": total.unwrap_or(0.0), "has_revenue": u8::from(total.is_some()),
            "currency": "", "base_revenue": 0, "base_currency": "",
            "seq": ARRIVALS.fetch_add(1, Ordering::Relaxed),
        })
    }
}

fn numeric_leaves(prefix: &str, value: &Value, into: &mut Map<String, Value>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        match value {
            Value::Number(number) => {
                into.insert(format!("{prefix}{key}"), json!(number.as_f64().unwrap()));
            }
            nested => numeric_leaves(&format!("{prefix}{key}."), nested, into),
        }
    }
}

fn decimal_seconds(ms: i64) -> String {
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}

/// Milliseconds since 1970 of a time in RFC 3339.
pub(super) fn ms(at: &str) -> i64 {
    DateTime::parse_from_rfc3339(at).unwrap().timestamp_millis()
}

/// Inserts one part a month, in the order given: earlier ones arrived first.
pub(super) async fn insert(analytics: &Analytics, events: &[Event]) {
    send(analytics, &batch(events), &Uuid::now_v7().to_string()).await.unwrap();
}

/// Inserts rows into a table, one JSON object a line.
pub(super) async fn insert_into(analytics: &Analytics, table: &str, rows: &str) {
    send_into(analytics, table, (rows, &Uuid::now_v7().to_string())).await.unwrap();
}

/// The rows of a batch, one JSON object a line.
pub(super) fn batch(events: &[Event]) -> String {
    events.iter().fold(String::new(), |rows, event| rows + &event.row().to_string() + "\n")
}

/// Inserts a batch of events under a deduplication token, with the settings of the batch writer.
pub(super) async fn send(
    analytics: &Analytics,
    batch: &str,
    token: &str,
) -> Result<(), clickhouse::error::Error> {
    send_into(analytics, "events", (batch, token)).await
}

async fn send_into(
    analytics: &Analytics,
    table: &str,
    (batch, token): (&str, &str),
) -> Result<(), clickhouse::error::Error> {
    let mut insert = analytics
        .client()
        .insert_formatted_with(format!("INSERT INTO {table} FORMAT JSONEachRow"))
        .with_setting("async_insert", "0")
        .with_setting("optimize_on_insert", "0")
        .with_setting("deduplicate_blocks_in_dependent_materialized_views", "1")
        .with_setting("insert_deduplication_token", token)
        .buffered();
    insert.write_buffered(batch.as_bytes());
    insert.end().await
}

pub(super) async fn run(analytics: &Analytics, sql: &str) {
    analytics.client().query_raw(sql).execute().await.unwrap();
}

/// Keeps merges from happening, so that a read must be exact by itself.
pub(super) async fn stop_merges(analytics: &Analytics) {
    for table in ["events", "orders", "timeline", "message_events", "message_outcomes"] {
        run(analytics, &format!("SYSTEM STOP MERGES {table}")).await;
    }
}

/// A count per day over all time.
pub(super) fn counted(event_name: &str) -> Aggregate {
    Aggregate {
        event_name: event_name.to_owned(),
        start_ms: None,
        end_ms: None,
        group_by: Unit::Day,
        metrics: vec![Metric::Count],
        sum_field: None,
        avg_field: None,
        min_field: None,
        max_field: None,
        property_filters: Vec::new(),
        fill_gaps: false,
    }
}

/// Every metric of one property per day over all time.
pub(super) fn measured(event_name: &str, field: &str) -> Aggregate {
    Aggregate {
        metrics: vec![Metric::Sum, Metric::Avg, Metric::Min, Metric::Max],
        sum_field: Some(field.to_owned()),
        ..counted(event_name)
    }
}

/// A count of the events whose properties match.
pub(super) fn filtered(event_name: &str, properties: Value) -> Aggregate {
    let Value::Object(properties) = properties else { panic!("not an object") };
    Aggregate {
        property_filters: PropertyFilter::from_json(&properties).unwrap(),
        ..counted(event_name)
    }
}

pub(super) async fn asked(
    analytics: &Analytics,
    workspace: Uuid,
    question: &Aggregate,
) -> Vec<Bucket> {
    let answer = analytics::events::aggregate(analytics, workspace, question).await.unwrap();
    assert_eq!(answer.total, answer.rows.iter().map(|bucket| bucket.count).sum::<u64>());
    answer.rows
}

/// Asks for the number of matching events.
pub(super) async fn total(analytics: &Analytics, workspace: Uuid, question: &Aggregate) -> u64 {
    analytics::events::aggregate(analytics, workspace, question).await.unwrap().total
}

/// The digits of a figure, for comparing.
pub(super) fn text(figure: Option<&Figure>) -> Option<&str> {
    figure.map(Figure::as_str)
}
