//! Migrations of the schema, and hostile values in queries.

use analytics::Analytics;
use serde_json::json;
use uuid::Uuid;

use super::fixture::{asked, event, filtered, insert, measured, ms, text, total};
use crate::kit;

#[tokio::test]
async fn migrations_can_run_again_and_at_once() {
    // Two processes that start together must not fail each other.
    let analytics = kit::clickhouse_database().await;
    let (one, other) = tokio::join!(analytics.migrate(), analytics.migrate());
    one.unwrap();
    other.unwrap();
    assert!(analytics.schema_is_current().await.unwrap());
}

#[tokio::test]
async fn a_missing_database_is_not_current_and_is_created() {
    let mut address = kit::clickhouse_database().await.address().clone();
    address.database.push_str("_fresh");
    let analytics = Analytics::connect(&address).unwrap();
    analytics.ping().await.unwrap();
    assert!(!analytics.schema_is_current().await.unwrap());
    let (one, other) = tokio::join!(analytics.migrate(), analytics.migrate());
    one.unwrap();
    other.unwrap();
    assert!(analytics.schema_is_current().await.unwrap());
    let drop = format!("DROP DATABASE `{}`", address.database);
    analytics.client().query_raw(&drop).execute().await.unwrap();
}

#[tokio::test]
async fn a_migration_that_changed_after_it_was_applied_is_an_error() {
    let analytics = kit::clickhouse_database().await;
    let forge =
        "INSERT INTO schema_migrations (version, name, checksum) SELECT 1, 'events', 'other'";
    analytics.client().query_raw(forge).execute().await.unwrap();
    assert!(analytics.migrate().await.is_err());
    assert!(analytics.schema_is_current().await.is_err());
}

#[tokio::test]
async fn a_database_newer_than_the_program_is_an_error() {
    let analytics = kit::clickhouse_database().await;
    let forge =
        "INSERT INTO schema_migrations (version, name, checksum) SELECT 9999, 'future', 'x'";
    analytics.client().query_raw(forge).execute().await.unwrap();
    assert!(analytics.migrate().await.unwrap_err().to_string().contains("newer program"));
}

#[tokio::test]
async fn hostile_texts_are_only_values() {
    // A parameter that broke out of its place would be an injection.
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let nasty = [
        "it's",
        "a\"b",
        "back\\slash",
        "new\nline",
        "tab\t",
        "'); DROP TABLE events; --",
        "{x:String}",
        "日本語",
        "\\N",
        "$period$",
        "?",
        "a`b",
        "[1,2]",
        "%",
        "🙂",
        " ",
    ];
    for (number, text) in nasty.iter().enumerate() {
        let mut one = event(workspace, text, &format!("id-{number}"), "2024-01-01T00:00:00Z");
        one.user_id = (*text).to_owned();
        one.properties = json!({ *text: text, "n": { *text: 1.5 } });
        insert(&analytics, &[one]).await;
    }
    for nasty in nasty {
        let by_name = analytics::events::EventFilter {
            user_ids: Some(vec![nasty.to_owned()]),
            event_name: Some(nasty.to_owned()),
            limit: 10,
            ..Default::default()
        };
        let (rows, count) =
            analytics::events::of_user(&analytics, workspace, &by_name).await.unwrap();
        assert_eq!((rows.len(), count), (1, 1), "{nasty:?}");
        assert_eq!(rows[0].event_name, nasty);
        assert_eq!(rows[0].timestamp_ms, ms("2024-01-01T00:00:00Z"));
        assert_eq!(
            total(&analytics, workspace, &filtered(nasty, json!({ nasty: nasty }))).await,
            1,
            "{nasty:?}"
        );
        assert_eq!(
            total(&analytics, workspace, &filtered(nasty, json!({ nasty: "other" }))).await,
            0
        );
        let sums = asked(&analytics, workspace, &measured(nasty, &format!("n.{nasty}"))).await;
        assert_eq!(text(sums[0].sum.as_ref()), Some("1.5"), "{nasty:?}");
    }
}
