//! A campaign to a segment goes to its members, and to no other profile.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fixture::{Cohort, internal, sender, until};
use crate::kit::{Client, unique};

async fn segment(api: &Client, targeting: Value) -> String {
    let body = json!({"name": unique("segment"), "targeting": targeting});
    let segment = api.post("/segments", &body, 201).await.json();
    segment["id"].as_str().unwrap().to_owned()
}

fn all(filters: &[Value]) -> Value {
    json!({"filterGroups": [{"filters": filters}]})
}

fn member(segment: &str) -> Value {
    json!({"type": "segment", "field": segment, "operator": "member"})
}

#[tokio::test]
async fn a_campaign_reaches_exactly_the_members_of_nested_segments() {
    let sender = sender().await;
    let log = &sender.log;
    let api = sender.api();
    let cohort = Cohort::new(&api, 12, "to").await;
    let people =
        json!({"type": "attribute", "field": "cohort", "operator": "equals", "value": cohort.name});
    let bought = format!("Bought {}", cohort.name);
    let did = json!({"type": "event", "field": bought, "operator": "performed"});
    let everyone = segment(&api, all(std::slice::from_ref(&people))).await;
    let buyers = segment(&api, all(&[member(&everyone), did])).await;
    let rest = json!({"type": "segment", "field": buyers, "operator": "not_member"});
    let rest = segment(&api, all(&[member(&everyone), rest])).await;

    let events: Vec<Value> =
        cohort.ids[..5].iter().map(|id| json!({"userId": id, "eventName": bought})).collect();
    api.post("/events/track", &json!(events), 200).await;
    crate::kit::eventually("the events can be queried", async || {
        let read = api.get(format!("/segments/{buyers}"), 200).await.json();
        (read["count"] == 5).then_some(())
    })
    .await;
    // One is deleted, one loses the attribute.
    let gone = internal(&api, &cohort.ids[0]).await;
    api.send(api.request(reqwest::Method::DELETE, &format!("/users/{gone}")), 204).await;
    let moved = json!({"externalId": cohort.ids[1], "attributes": {"cohort": "other"}});
    api.post("/users", &moved, 200).await;

    for (segment, expected) in [(&buyers, cohort.at(2..5)), (&rest, cohort.at(5..12))] {
        let members = api.get(format!("/segments/{segment}/members"), 200).await.json();
        let members = members["data"].as_array().unwrap().iter();
        let members: BTreeSet<String> =
            members.map(|user| user["externalId"].as_str().unwrap().to_owned()).collect();
        assert_eq!(members, expected);
        let campaign = cohort.send(&api, &json!({"targeting": all(&[member(segment)])})).await;
        until(&api, &campaign, "completed").await;
        assert_eq!(log.once(&campaign), expected);
    }
    // What was sent counts for a segment as well.
    let sent =
        segment(&api, all(&[people, json!({"type": "engagement", "operator": "sent"})])).await;
    crate::kit::eventually("the messages are counted", async || {
        let read = api.get(format!("/segments/{sent}"), 200).await.json();
        (read["count"] == 10).then_some(())
    })
    .await;
    let path = format!("/users/by-user-id/{}", cohort.ids[7]);
    crate::kit::eventually("the profile names its segments", async || {
        let user = api.get(&path, 200).await.json();
        let segments = user["segments"].as_array().unwrap().iter();
        let segments: BTreeSet<&str> = segments.map(|it| it["id"].as_str().unwrap()).collect();
        assert!(!segments.contains(buyers.as_str()));
        [&sent, &rest, &everyone].iter().all(|id| segments.contains(id.as_str())).then_some(())
    })
    .await;
}
