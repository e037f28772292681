//! Questions go without `FINAL` where each event is known to be stored once, and nowhere else.

use analytics::{Analytics, NotUnique};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{
    asked, batch, counted, event, insert, insert_into, measured, run, stop_merges, text, total,
};
use crate::kit;

const MONTH: u32 = 202_401;

/// How often an event is counted that has two rows. It is once with `FINAL`, twice without.
async fn count(analytics: &Analytics, workspace: Uuid) -> u64 {
    total(analytics, workspace, &counted("Seen")).await
}

async fn insert_twice(analytics: &Analytics, workspace: Uuid, id: &str) {
    for at in ["2024-01-05T10:00:00Z", "2024-01-05T11:00:00Z"] {
        insert(analytics, &[event(workspace, "Seen", id, at)]).await;
    }
}

/// Likewise, as a writer would that made sure of both.
async fn insert_twice_as_unique(analytics: &Analytics, workspace: Uuid, id: &str) {
    for at in ["2024-01-05T10:00:00Z", "2024-01-05T11:00:00Z"] {
        let row = batch(&[event(workspace, "Seen", id, at)]);
        insert_into(analytics, "events", &row.replace("\"day\"", "\"is_unique\":1,\"day\"")).await;
    }
}

fn months(found: &[NotUnique]) -> Vec<u32> {
    found.iter().map(|it| it.month).collect()
}

#[tokio::test]
async fn rows_of_older_writers_are_read_with_final_until_they_are_collapsed() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    insert_twice(&analytics, workspace, "e1").await;
    assert_eq!(count(&analytics, workspace).await, 1, "nothing is known yet");
    analytics.find_repeats_possible().await.unwrap();
    let found = analytics.refresh_uniqueness().await.unwrap();
    assert_eq!(months(&found), [MONTH]);
    assert_eq!(count(&analytics, workspace).await, 1);
    run(&analytics, "SYSTEM START MERGES events").await;
    analytics.collapse(found[0]).await.unwrap();
    assert_eq!(analytics.refresh_uniqueness().await.unwrap(), []);
    assert_eq!(count(&analytics, workspace).await, 1, "one row is left");
    // Known rows are not looked at again after a restart; newer ones of such a writer are.
    analytics.find_repeats_possible().await.unwrap();
    assert_eq!(analytics.refresh_uniqueness().await.unwrap(), []);
    insert_twice(&analytics, workspace, "e2").await;
    analytics.find_repeats_possible().await.unwrap();
    assert_eq!(months(&analytics.refresh_uniqueness().await.unwrap()), [MONTH]);
    assert_eq!(count(&analytics, workspace).await, 2);
}

#[tokio::test]
async fn without_doubt_questions_go_without_final_and_with_a_mark_they_do_not() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    insert_twice_as_unique(&analytics, workspace, "e1").await;
    analytics.find_repeats_possible().await.unwrap();
    assert_eq!(count(&analytics, workspace).await, 1, "nothing is known yet");
    assert_eq!(analytics.refresh_uniqueness().await.unwrap(), []);
    assert_eq!(count(&analytics, workspace).await, 2, "without FINAL both rows count");
    // A mark of another process, which waits until no question believes otherwise.
    let marking = {
        let analytics = analytics.clone();
        tokio::spawn(async move { analytics.mark_repeats_possible(&[MONTH]).await })
    };
    kit::eventually("the mark is seen", async || {
        let found = analytics.refresh_uniqueness().await.unwrap();
        (months(&found) == [0, MONTH]).then_some(())
    })
    .await;
    assert_eq!(count(&analytics, workspace).await, 1);
    marking.abort();
}

#[tokio::test]
async fn a_mark_made_during_a_collapse_stays() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    insert_twice(&analytics, workspace, "e1").await;
    analytics.find_repeats_possible().await.unwrap();
    let found = analytics.refresh_uniqueness().await.unwrap();
    run(
        &analytics,
        &format!("INSERT INTO uniqueness VALUES ({MONTH}, {}, 0, 0)", found[0].generation + 1),
    )
    .await;
    analytics.collapse(found[0]).await.unwrap();
    let left = analytics.refresh_uniqueness().await.unwrap();
    assert_eq!(left, [NotUnique { generation: found[0].generation + 1, ..found[0] }]);
    analytics.collapse(left[0]).await.unwrap();
    assert_eq!(analytics.refresh_uniqueness().await.unwrap(), []);
}

#[tokio::test]
async fn repeated_orders_are_collapsed_too() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let workspace = Uuid::now_v7();
    let order = |id: &str, total: u32| {
        event(workspace, "Order Completed", id, "2024-01-05T10:00:00Z")
            .with(json!({"orderId": "o1", "total": total}))
    };
    insert(&analytics, &[order("e1", 10)]).await;
    insert(&analytics, &[order("e2", 20)]).await;
    analytics.find_repeats_possible().await.unwrap();
    let found = analytics.refresh_uniqueness().await.unwrap();
    assert_eq!(months(&found), [0, MONTH]);
    for table in ["events", "orders"] {
        run(&analytics, &format!("SYSTEM START MERGES {table}")).await;
    }
    for month in found {
        analytics.collapse(month).await.unwrap();
    }
    assert_eq!(analytics.refresh_uniqueness().await.unwrap(), []);
    let sums = asked(&analytics, workspace, &measured("Order Completed", "total")).await;
    assert_eq!((sums[0].count, text(sums[0].sum.as_ref())), (1, Some("10")));
}
