//! Whose an event is.

use serde_json::json;

use super::fixture::{Sql, store, track};
use crate::kit::Workspace;

const PROFILES: &str = "INSERT INTO people (workspace_id, user_id, version, is_deleted, external_id)
    SELECT {workspace:UUID}, unhex(profile.1), 1, profile.2, profile.3
    FROM (SELECT arrayJoin([
        ('0000000000000000000000a1', 0, 'ann'), ('0000000000000000000000b2', 0, 'bob'), ('0000000000000000000000c3', 1, '')
    ]) AS profile)";
const IDENTITIES: &str = "INSERT INTO identities (workspace_id, type, id, user_id, version)
    SELECT {workspace:UUID}, link.1, link.2, link.3, link.4
    FROM (SELECT arrayJoin([
        ('anonymous', 'anon-1', '0000000000000000000000b2', 1), ('anonymous', 'anon-1', '0000000000000000000000a1', 2),
        ('anonymous', 'ann', '0000000000000000000000b2', 1), ('alias', 'annie', '0000000000000000000000a1', 1),
        ('external', 'bobby', '0000000000000000000000b2', 1),
        ('internal', '0000000000000000000000c3', '0000000000000000000000b2', 1)
    ]) AS link)";

#[tokio::test]
async fn an_event_is_of_the_profile_that_its_ids_lead_to_else_of_the_identifier() {
    let workspace = Workspace::new().await;
    let sql = Sql::of(&workspace).await;
    store(workspace.id, PROFILES).await;
    store(workspace.id, IDENTITIES).await;
    let (ann, bob) = ("0000000000000000000000a1", "0000000000000000000000b2");
    let cases = [
        (json!({"userId": "ann"}), ann),
        // The newest link of an anonymous id counts.
        (json!({"anonymousId": "anon-1"}), ann),
        (json!({"userId": "annie"}), ann),
        (json!({"userId": "bobby"}), bob),
        // A merged profile is the one that it was merged into.
        (json!({"serviceUserId": "0000000000000000000000c3"}), bob),
        (json!({"serviceUserId": ann}), ann),
        (json!({"serviceUserId": ann, "userId": "bob"}), ann),
        (json!({"serviceUserId": "0000000000000000000000ff", "userId": "bob"}), bob),
        // A linked anonymous id that was sent as a user's; an external id comes before one.
        (json!({"userId": "anon-1"}), ann),
        (json!({"userId": "ann", "anonymousId": "anon-9"}), ann),
        (json!({"userId": "zed", "anonymousId": "anon-1"}), "zed"),
        (json!({"anonymousId": "anon-9"}), "anon-9"),
        (json!({"anonymousId": "bob"}), "bob"),
        (json!({"userAlias": {"aliasLabel": "crm", "aliasName": "42"}}), "42"),
        (json!({"serviceUserId": "0000000000000000000000ff"}), "0000000000000000000000ff"),
    ];
    let events = cases.iter().enumerate().map(|(at, (ids, _))| {
        let mut event = ids.clone();
        event["eventName"] = json!("Order Completed");
        event["clientEventId"] = json!(format!("{at}"));
        event["properties"] = json!({"orderId": format!("o{at}"), "total": 1});
        event
    });
    track(&workspace, &sql, events.collect()).await;
    for view in ["events", "orders"] {
        let rows = sql
            .rows(&format!("SELECT event_id, person_id FROM {view} ORDER BY toUInt8(event_id)"))
            .await;
        assert_eq!(rows.len(), cases.len(), "{view}");
        for (row, (ids, expected)) in rows.iter().zip(&cases) {
            assert_eq!(row[1], *expected, "{view}: {ids}");
        }
    }
    let each = "SELECT uniqExact(person_id), count() FROM events WHERE person_id IN (SELECT person_id FROM people)";
    assert_eq!(sql.rows(each).await, [["2", "10"]]);
}
