//! Whose events count: targetings, segments, attributes, and the identifiers of one person.

use serde_json::{Value, json};

use super::{asked_at_once, event, track};
use crate::{
    identity::link,
    kit::{Workspace, eventually},
};

async fn person(workspace: &Workspace, external: &str, plan: &str) -> String {
    let body = json!({"externalId": external, "attributes": {"plan": plan}});
    let made = workspace.api.post("/users", &body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

/// Asks until the answer is right: links are visible within a second.
async fn becomes(workspace: &Workspace, question: &Value, pick: &str, expected: &Value) {
    eventually(&format!("{question} is {expected}"), async || {
        let answer = asked_at_once(workspace, "trends", question).await;
        (answer.pointer(pick) == Some(expected)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_question_is_limited_to_people_of_a_targeting_or_segment() {
    let workspace = Workspace::new().await;
    let at = "2026-03-01T12:00:00Z";
    let ann = person(&workspace, "ann", "pro").await;
    person(&workspace, "bob", "free").await;
    let by_service = json!({"serviceUserId": ann, "eventName": "Seen", "timestamp": at});
    track(
        &workspace,
        &[
            event("ann", "Seen", at, json!({})),
            event("bob", "Seen", at, json!({})),
            event("cid", "Seen", at, json!({})),
            by_service,
        ],
    )
    .await;
    let targeting = json!({"filterGroups": [{"filters": [{"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]});
    let segment = workspace
        .api
        .post("/segments", &json!({"name": "Pro", "targeting": targeting}), 201)
        .await
        .json();
    for people in [targeting, json!({"segmentId": segment["id"]})] {
        for (metric, expected) in [("count", 2), ("unique", 1)] {
            let question = json!({"series": [{"eventName": "Seen", "metric": metric}], "interval": "none",
                                  "from": "2026-03-01", "to": "2026-03-01", "people": people});
            becomes(&workspace, &question, "/series/0/total", &json!(expected)).await;
        }
    }
    let without_people = json!({"filterGroups": [{"filters": [{"type": "attribute", "field": "plan", "operator": "equals", "value": "none"}]}]});
    let question = json!({"series": [{"eventName": "Seen"}], "interval": "none", "from": "2026-03-01", "to": "2026-03-01", "people": without_people});
    let answer = asked_at_once(&workspace, "trends", &question).await;
    assert_eq!(answer["series"][0]["total"], 0);
    let by_plan = json!({"series": [{"eventName": "Seen"}], "interval": "none", "from": "2026-03-01", "to": "2026-03-01",
                         "breakdown": {"profile": "plan"}});
    becomes(&workspace, &by_plan, "/series/0/total", &json!(2)).await;
    let answer = asked_at_once(&workspace, "trends", &by_plan).await;
    let shown: Vec<Value> = answer["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["breakdown"], it["total"]]))
        .collect();
    assert_eq!(json!(shown), json!([["pro", 2], ["free", 1], [null, 1]]));
}

#[tokio::test]
async fn identifiers_of_one_person_are_one_person() {
    let workspace = Workspace::new().await;
    let at = |second: u32| format!("2026-03-01T12:00:{second:02}Z");
    let ann = person(&workspace, "ann", "pro").await;
    let old = person(&workspace, "ann-old", "pro").await;
    let anonymous = |id: &str, name: &str, second: u32| json!({"anonymousId": id, "eventName": name, "timestamp": at(second)});
    track(
        &workspace,
        &[
            anonymous("device-1", "Viewed", 0),
            event("ann-old", "Added", &at(10), json!({})),
            event("ann", "Bought", &at(20), json!({})),
            json!({"serviceUserId": ann, "eventName": "Rated", "timestamp": at(30)}),
            anonymous("device-2", "Viewed", 0),
        ],
    )
    .await;
    let unique = json!({"series": [{"metric": "unique"}], "interval": "none", "from": "2026-03-01", "to": "2026-03-01"});
    // The internal id is of the same profile as the external one.
    becomes(&workspace, &unique, "/series/0/total", &json!(4)).await;
    let mut rated = unique.clone();
    rated["series"][0]["eventName"] = json!("Rated");
    becomes(&workspace, &rated, "/series/0/total", &json!(1)).await;
    link(&workspace, "device-1", &old).await;
    becomes(&workspace, &unique, "/series/0/total", &json!(3)).await;
    workspace.api.post("/users/merge", &json!({"from": "ann-old", "into": "ann"}), 200).await;
    becomes(&workspace, &unique, "/series/0/total", &json!(2)).await;
    let funnel = json!({
        "steps": [{"eventName": "Viewed"}, {"eventName": "Added"}, {"eventName": "Bought"}, {"eventName": "Rated"}],
        "window": {"amount": 1, "unit": "minutes"}, "from": "2026-03-01", "to": "2026-03-01",
        "breakdown": {"profile": "plan"},
    });
    let answer = asked_at_once(&workspace, "funnels", &funnel).await;
    let people: Vec<Value> =
        answer["steps"].as_array().unwrap().iter().map(|it| it["people"].clone()).collect();
    assert_eq!(json!(people), json!([2, 1, 1, 1]));
    assert_eq!(
        json!([answer["breakdown"][0]["breakdown"], answer["breakdown"][0]["steps"][3]["people"]]),
        json!(["pro", 1])
    );
    let retention = json!({"start": {"eventName": "Viewed"}, "return": {"eventName": "Rated"}, "from": "2026-03-01", "to": "2026-03-01", "intervals": 1});
    let answer = workspace.api.post("/insights/retention", &retention, 200).await.json();
    assert_eq!(answer["cohorts"][0]["values"], json!([1]));
}

#[tokio::test]
async fn people_count_in_the_question_right_after_they_are_written() {
    let workspace = Workspace::new().await;
    let users = ["ann", "bob", "cid", "dan", "eve"];
    let mut events = Vec::new();
    for user in users {
        events.push(event(user, "Seen", "2026-03-01T12:00:00Z", json!({})));
        let device = format!("device-of-{user}");
        events.push(json!({"anonymousId": device, "eventName": "Opened", "timestamp": "2026-03-01T12:01:00Z"}));
    }
    track(&workspace, &events).await;
    let range = json!({"from": "2026-03-01", "to": "2026-03-01"});
    let asked = |further: Value| {
        let mut question = range.clone();
        question.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        question
    };
    let by_plan = asked(
        json!({"series": [{"eventName": "Seen"}], "interval": "none", "breakdown": {"profile": "plan"}}),
    );
    let targeting = json!({"filterGroups": [{"filters": [
        {"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]});
    let of_devices = asked(
        json!({"series": [{"eventName": "Opened"}], "interval": "none", "people": targeting}),
    );
    let steps = asked(json!({
        "steps": [{"eventName": "Seen"}, {"eventName": "Opened"}], "window": {"amount": 1, "unit": "hours"},
        "people": targeting,
    }));
    let returns = asked(json!({
        "start": {"eventName": "Seen"}, "return": {"eventName": "Opened"}, "intervals": 1, "people": targeting,
    }));
    for (number, user) in (1..).zip(users) {
        let id = person(&workspace, user, "pro").await;
        let answer = asked_at_once(&workspace, "trends", &by_plan).await;
        let first = &answer["series"][0];
        assert_eq!(json!([first["breakdown"], first["total"]]), json!(["pro", number]));
        link(&workspace, &format!("device-of-{user}"), &id).await;
        let answer = asked_at_once(&workspace, "trends", &of_devices).await;
        assert_eq!(answer["series"][0]["total"], number);
        let answer = asked_at_once(&workspace, "funnels", &steps).await;
        assert_eq!(
            json!([answer["entered"], answer["steps"][1]["people"]]),
            json!([number, number])
        );
        let answer = asked_at_once(&workspace, "retention", &returns).await;
        assert_eq!(
            answer["cohorts"][0],
            json!({"from": "2026-03-01T00:00:00Z", "size": number, "values": [number]})
        );
    }
}
