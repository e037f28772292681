//! Conversions of people with several identifiers.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};

use super::fixture::{
    campaign, hour, in_euros, iso, message_event, person, publish, report, track,
};
use crate::{
    identity::{link, merge},
    kit::{Workspace, eventually},
};

async fn conversions(workspace: &Workspace, id: uuid::Uuid) -> (Value, Value) {
    let stats = report(workspace, id, "stats").await;
    let primary = &stats["conversionStats"]["primary"];
    (primary["conversions"].clone(), primary["uniqueConversions"].clone())
}

async fn until(workspace: &Workspace, id: uuid::Uuid, expected: (u32, u32)) {
    eventually("the conversions are credited", || async {
        let (all, unique) = conversions(workspace, id).await;
        (all == expected.0 && unique == expected.1).then_some(())
    })
    .await;
}

/// Messages of a campaign above the limit up to which reports read all of them.
const MANY: usize = 600;

#[tokio::test]
async fn events_of_linked_and_merged_ids_are_conversions_of_the_person() {
    linked_and_merged(0).await;
}

#[tokio::test]
async fn events_of_linked_and_merged_ids_are_conversions_of_the_person_among_many_messages() {
    linked_and_merged(MANY).await;
}

/// Two profiles are linked to anonymous ids and merged. One got a message of a campaign that sent `others` further messages.
async fn linked_and_merged(others: usize) {
    let workspace = in_euros().await;
    let (ann, ann_id) = person(&workspace).await;
    let (other, other_id) = person(&workspace).await;
    let counted = json!({"primaryConversion": {"eventName": "Bought"}});
    let id = campaign(&workspace, json!({"conversionTracking": counted})).await;
    let to_others = (0..others).map(|n| message_event(id, &format!("{n:024x}"), K::Sent, hour(1)));
    let sent: Vec<_> = to_others.chain([message_event(id, &ann_id, K::Sent, hour(1))]).collect();
    publish(&workspace, &sent).await;
    let bought = |who: Value, n: i64| {
        let mut event = who;
        event["eventName"] = json!("Bought");
        event["timestamp"] = json!(iso(hour(2) + n));
        event
    };
    let events = [
        bought(json!({"anonymousId": "a1"}), 1),
        bought(json!({"userId": other}), 2),
        bought(json!({"anonymousId": "a2"}), 3),
    ];
    track(&workspace, &events, 3).await;
    until(&workspace, id, (0, 0)).await;
    link(&workspace, "a1", &ann_id).await;
    until(&workspace, id, (1, 1)).await;
    // The other profile got no message; as one person both did what either did.
    merge(&workspace, &other, &ann).await;
    until(&workspace, id, (2, 1)).await;
    link(&workspace, "a2", &other_id).await;
    until(&workspace, id, (3, 1)).await;

    let timeline = report(&workspace, id, &format!("recipients/{ann_id}")).await;
    for name in [&ann, &other, &other_id] {
        assert_eq!(report(&workspace, id, &format!("recipients/{name}")).await, timeline);
    }
    assert_eq!(timeline["userId"], ann_id);

    // The survivor is the one that got no message: its events still count for it.
    let (third, third_id) = person(&workspace).await;
    merge(&workspace, &ann, &third).await;
    until(&workspace, id, (3, 1)).await;
    let timeline = report(&workspace, id, &format!("recipients/{third}")).await;
    assert_eq!(timeline["userId"], third_id);
}
