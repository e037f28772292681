//! What the views show.

use serde_json::json;

use super::fixture::{Sql, store, track};
use crate::kit::Workspace;

/// The columns that are promised.
const COLUMNS: [(&str, &str); 6] = [
    ("campaigns", "campaign_id name channel send_type status created_at"),
    (
        "events",
        "event_id event_name person_id user_id anonymous_id service_user_id alias_label alias_name session_id device_id \
         timestamp received_at properties numbers order_id revenue currency",
    ),
    ("message_events", "message_id campaign_id person_id type timestamp url code reason is_bot"),
    (
        "messages",
        "message_id campaign_id person_id channel variant_id occurrence status queued_at sent_at delivered_at opened_at \
         clicked_at bounced_at failed_at",
    ),
    ("orders", "order_id event_id person_id timestamp revenue currency base_revenue base_currency"),
    (
        "people",
        "person_id external_id email phone anonymous_ids attributes numbers texts created_at updated_at is_deleted consent \
         lists",
    ),
];

#[tokio::test]
async fn every_view_has_its_columns_with_comments() {
    let sql = Sql::of(&Workspace::new().await).await;
    for (view, columns) in COLUMNS {
        let expected: Vec<&str> = columns.split_whitespace().collect();
        let rows = sql.rows(&format!("DESCRIBE TABLE millrace.{view}")).await;
        let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, expected, "{view}");
        assert!(rows.iter().all(|row| !row[4].is_empty()), "{view}: {rows:?}");
        let header = sql.ask(&format!("SELECT * FROM {view} FORMAT TSVWithNamesAndTypes")).await;
        let types = rows.iter().map(|row| row[1].as_str()).collect();
        let header: Vec<Vec<&str>> =
            header.text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(header, [expected, types], "{view}");
    }
}

#[tokio::test]
async fn an_event_is_one_row_and_an_order_its_first_event() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    let order = |id: &str, order: &str, total: f64| {
        json!({
            "userId": "ann", "eventName": "Order Completed", "clientEventId": id, "timestamp": "2026-03-01T10:00:00.123Z",
            "properties": {"orderId": order, "total": total, "currency": "EUR", "items": {"count": 3}},
        })
    };
    track(&workspace, &sql, vec![order("1", "a", 49.9), order("2", "b", 1.5)]).await;
    // A repeat of an event, and a later event of an order.
    let again = json!([order("1", "a", 49.9), order("3", "a", 7.0)]);
    workspace.api.post("/events/track", &again, 200).await;
    crate::kit::eventually("the later event is seen", async || {
        (sql.value("SELECT count() FROM events WHERE event_id = '3'").await == "1").then_some(())
    })
    .await;
    let events = "SELECT event_id, user_id, person_id, timestamp, order_id, revenue, currency, numbers['items.count'], \
                  JSONExtractString(properties, 'currency') FROM events ORDER BY event_id";
    let row = |id: &str, order: &str, revenue: &str| {
        [id, "ann", "ann", "2026-03-01 10:00:00.123", order, revenue, "EUR", "3", "EUR"]
            .map(str::to_owned)
    };
    assert_eq!(
        sql.rows(events).await,
        [row("1", "a", "49.9"), row("2", "b", "1.5"), row("3", "a", "7")]
    );
    let orders = "SELECT order_id, event_id, person_id, timestamp, revenue, currency FROM orders ORDER BY order_id";
    let at = "2026-03-01 10:00:00.123";
    assert_eq!(
        sql.rows(orders).await,
        [["a", "1", "ann", at, "49.9", "EUR"], ["b", "2", "ann", at, "1.5", "EUR"]]
    );
    assert_eq!(sql.value("SELECT sum(revenue) FROM orders").await, "51.4");
}

const MESSAGES: &str = "INSERT INTO message_events
    (workspace_id, campaign_id, type, user_id, message_id, event_id, timestamp, occurrence, variant_id, channel, is_bot, is_test, url, code, reason, seq)
    SELECT {workspace:UUID}, campaign, happened.2, '0000000000000000000000a1', toUUID(concat('0000000', happened.1, substring(toString(campaign), 9))),
        '', addSeconds(toDateTime64('2026-03-01 10:00:00', 3, 'UTC'), happened.3), 1, if(campaign = toUUID('00000000-0000-0000-0000-000000000000'), '', 'v1'),
        'email', happened.4, happened.5, '', happened.6, '', happened.3
    FROM (
        SELECT
            arrayJoin([toUUID('11111111-0000-0000-0000-000000000001'), toUUID('00000000-0000-0000-0000-000000000000')]) AS campaign,
            arrayJoin([
                ('1', 'queued', 0, 0, 0, ''), ('1', 'sent', 1, 0, 0, ''), ('1', 'clicked', 9, 0, 0, ''),
                ('2', 'queued', 0, 0, 0, ''), ('2', 'sent', 1, 0, 0, ''), ('2', 'delivered', 2, 0, 0, ''), ('2', 'bounced', 3, 0, 0, 'hard'),
                ('3', 'queued', 0, 0, 0, ''), ('3', 'failed', 4, 0, 0, 'unknown'),
                ('4', 'queued', 0, 0, 0, ''), ('4', 'skipped', 1, 0, 0, 'no_address'),
                ('5', 'control', 0, 0, 0, ''),
                ('6', 'queued', 0, 0, 0, ''), ('6', 'sent', 1, 0, 0, ''), ('6', 'opened', 5, 1, 0, ''),
                ('7', 'queued', 0, 0, 1, ''), ('7', 'sent', 1, 0, 1, ''),
                ('8', 'queued', 0, 0, 0, '')
            ]) AS happened
    )";

#[tokio::test]
async fn a_message_is_one_row_with_what_became_of_it_and_when() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    store(workspace.id, MESSAGES).await;
    let time = |second: &str| match second {
        "-" => "\\N".to_owned(),
        second => format!("2026-03-01 10:00:0{second}.000"),
    };
    // Number and status; seconds of queued, sent, delivered, opened, clicked, bounced, failed.
    let expected = [
        ("1", "clicked", "0 1 9 9 9 - -"),
        ("2", "bounced", "0 1 - - - 3 -"),
        ("3", "failed", "0 - - - - - 4"),
        ("4", "skipped", "0 - - - - - -"),
        ("5", "control", "- - - - - - -"),
        ("6", "sent", "0 1 - - - - -"),
        ("8", "queued", "0 - - - - - -"),
    ];
    let expected = expected.map(|(number, status, seconds)| {
        let mut row = vec![number.to_owned(), status.to_owned()];
        row.extend(seconds.split(' ').map(time));
        row
    });
    for (condition, variant) in [("campaign_id IS NULL", ""), ("campaign_id IS NOT NULL", "v1")] {
        let rows = sql
            .rows(&format!(
                "SELECT substring(toString(message_id), 8, 1), status, queued_at, sent_at, delivered_at, opened_at, clicked_at, \
                 bounced_at, failed_at FROM messages WHERE {condition} ORDER BY 1"
            ))
            .await;
        assert_eq!(rows, expected, "{condition}");
        let of_all = format!(
            "SELECT DISTINCT person_id, channel, variant_id, occurrence FROM messages WHERE {condition}"
        );
        assert_eq!(sql.rows(&of_all).await, [["0000000000000000000000a1", "email", variant, "1"]]);
    }
    let bounces = "SELECT count(), any(code) FROM message_events WHERE type = 'bounced'";
    assert_eq!(sql.rows(bounces).await, [["2", "hard"]]);
    let tests =
        "SELECT count() FROM message_events WHERE substring(toString(message_id), 8, 1) = '7'";
    assert_eq!(sql.value(tests).await, "0");
}

/// Settings of callers that hold within the views, too.
const WITHIN_VIEWS: [&str; 5] = [
    "aggregate_functions_null_for_empty",
    "cast_keep_nullable",
    "join_use_nulls",
    "prefer_column_name_to_alias",
    "transform_null_in",
];

#[tokio::test]
async fn settings_of_a_caller_change_no_row_of_a_view() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    store(workspace.id, MESSAGES).await;
    let order = |id: &str, whose: &str| {
        json!({
            whose: "ann", "eventName": "Order Completed", "clientEventId": id,
            "properties": {"orderId": id, "total": 7, "currency": "EUR"},
        })
    };
    track(&workspace, &sql, vec![order("1", "userId"), order("2", "anonymousId")]).await;
    for (view, _) in COLUMNS {
        let statement = format!("SELECT * FROM {view} ORDER BY 1, 2, 3, 4");
        let expected = sql.rows(&statement).await;
        for setting in WITHIN_VIEWS {
            let answer = sql.ask_with(&statement, &[(setting, "1")]).await;
            assert_eq!(answer.status, 200, "{view}, {setting}: {}", answer.text);
            let rows: Vec<Vec<&str>> =
                answer.text.lines().map(|line| line.split('\t').collect()).collect();
            assert_eq!(rows, expected, "{view}, {setting}");
        }
    }
    // A caller's own joins have them.
    let joined = "SELECT o.order_id, x.y FROM orders AS o LEFT JOIN (SELECT '1' AS id, 'a' AS y) AS x ON x.id = o.order_id \
                  ORDER BY 1 SETTINGS join_use_nulls = 1";
    assert_eq!(sql.rows(joined).await, [["1", "a"], ["2", "\\N"]]);
}
