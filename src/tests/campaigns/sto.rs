//! Send-time optimisation: for how many profiles the best hour is known.

use serde_json::{Value, json};

use super::{email_with, id, made};
use crate::kit::{Client, Workspace, eventually, server};

/// The moment at this hour (UTC), so many days ago.
fn at(days_ago: i64, hour: u32, minute: u32) -> String {
    let now = kernel::Clock::system().now();
    let day = now.utc().date_naive() - chrono::Days::new(days_ago.unsigned_abs());
    format!("{day}T{hour:02}:{minute:02}:00Z")
}

async fn visit(workspace: &Workspace, who: Value, at: String, session: Option<&str>) {
    let mut event = json!({"eventName": "Page Viewed", "timestamp": at});
    for (field, value) in who.as_object().unwrap() {
        event[field] = value.clone();
    }
    if let Some(session) = session {
        event["sessionId"] = json!(session);
    }
    workspace.api.post("/events/track", &event, 200).await;
}

async fn coverage(workspace: &Workspace, campaign: &Value) -> Value {
    let path = format!("/campaigns/{}/sto-coverage", id(campaign));
    workspace.api.get(path, 200).await.json()
}

fn at_hour(coverage: &Value, hour: usize) -> u64 {
    assert_eq!(coverage["hours"][hour]["hour"], hour);
    coverage["hours"][hour]["users"].as_u64().unwrap()
}

#[tokio::test]
async fn send_time_optimisation_needs_enough_visits_and_uses_local_time() {
    let workspace = Workspace::new().await;
    let mut ids = Vec::new();
    for (name, zone) in [("ann", "Asia/Tokyo"), ("bob", "UTC"), ("cat", "UTC"), ("dan", "UTC")] {
        let user = json!({"externalId": name, "email": format!("{name}@example.test"), "attributes": {"timezone": zone}});
        ids.push(workspace.api.post("/users", &user, 201).await.json()["id"].clone());
    }
    workspace.api.post("/users", &json!({"externalId": "unreachable"}), 201).await;
    for day in 1..=3 {
        // Noon in UTC is nine in the evening in Tokyo. Ann is named by both of her ids.
        visit(&workspace, json!({"userId": "ann"}), at(day, 12, 5), None).await;
        visit(&workspace, json!({"serviceUserId": ids[0]}), at(day, 12, 25), None).await;
        // Many events of one session are one visit.
        for minute in 0..5 {
            let session = format!("s{day}");
            visit(&workspace, json!({"userId": "bob"}), at(day, 7, minute), Some(&session)).await;
            if day == 1 {
                visit(&workspace, json!({"userId": "cat"}), at(day, 7, minute), Some("one")).await;
            }
        }
        // Who is not reached does not count.
        visit(&workspace, json!({"userId": "unreachable"}), at(day, 3, 0), None).await;
    }
    eventually("all visits are there", || async {
        let events = workspace.api.get("/events/query?limit=100", 200).await.json();
        (events.as_array().unwrap().len() == 29).then_some(())
    })
    .await;
    let campaign =
        made(&workspace.api, &email_with("At their hour", json!({"sendType": "intelligent"})))
            .await;
    let found = coverage(&workspace, &campaign).await;
    assert_eq!(found["optimizedUsers"], 2);
    assert_eq!(found["campaignId"], campaign["id"]);
    assert_eq!((&found["totalUsers"], &found["fallbackUsers"]), (&json!(4), &json!(2)));
    assert_eq!(found["coverage"], 0.5);
    assert_eq!((&found["minEvents"], &found["lookbackDays"]), (&json!(3), &json!(90)));
    assert_eq!((at_hour(&found, 21), at_hour(&found, 7)), (1, 1));
    let sum: u64 = (0..24).map(|hour| at_hour(&found, hour)).sum();
    assert_eq!(sum, 2);
    assert_eq!(found["popularHour"], 21);

    // What is asked of a recipient decides.
    let easier = json!({"sendType": "intelligent", "stoConfig": {"minEvents": 1}});
    let easier = made(&workspace.api, &email_with("Easier", easier)).await;
    let found = coverage(&workspace, &easier).await;
    assert_eq!((&found["optimizedUsers"], &found["minEvents"]), (&json!(3), &json!(1)));
    assert_eq!(at_hour(&found, 7), 2);
    let short = json!({"stoConfig": {"lookbackDays": 1, "minEvents": 3}});
    let short = made(&workspace.api, &email_with("Short", short)).await;
    assert_eq!(coverage(&workspace, &short).await["optimizedUsers"], 0);

    // And the campaign's audience.
    let only = json!({"targeting": {"userIds": ["bob"]}});
    let only = made(&workspace.api, &email_with("Only Bob", only)).await;
    let found = coverage(&workspace, &only).await;
    assert_eq!((&found["totalUsers"], &found["coverage"]), (&json!(1), &json!(1.0)));
    assert_eq!(found["popularHour"], 7);
}

#[tokio::test]
async fn without_visits_no_hour_is_popular() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &email_with("Quiet", json!({}))).await;
    let found = coverage(&workspace, &campaign).await;
    assert_eq!((&found["totalUsers"], &found["coverage"]), (&json!(0), &json!(0.0)));
    assert_eq!(found["popularHour"], Value::Null);
    assert_eq!(found["hours"].as_array().unwrap().len(), 24);

    // Events of another workspace do not count here.
    let stranger = Workspace::new().await;
    visit(&stranger, json!({"userId": "ann"}), at(1, 9, 0), None).await;
    let user = json!({"externalId": "ann", "email": "ann@example.test"});
    workspace.api.post("/users", &user, 201).await;
    assert_eq!(coverage(&workspace, &campaign).await["popularHour"], Value::Null);
}

#[tokio::test]
async fn visits_under_all_identifiers_of_a_person_count() {
    let workspace = Workspace::new().await;
    for name in ["ann", "ann-web", "bob"] {
        let user = json!({"externalId": name, "email": format!("{name}@example.test")});
        workspace.api.post("/users", &user, 201).await;
    }
    let ids = [
        json!({"userId": "ann"}),
        json!({"userId": "ann-web"}),
        json!({"anonymousId": "ann's phone"}),
        // Nothing says whose this is.
        json!({"anonymousId": "a stranger's phone"}),
    ];
    for (day, who) in (1..).zip(ids) {
        visit(&workspace, who, at(day, 16, 0), None).await;
    }
    let merge = json!({"from": "ann-web", "into": "ann"});
    workspace.api.post("/users/merge", &merge, 200).await;
    let (key, _) = server().key(&workspace.name, "events:write,users:write").await;
    let link = json!({"userId": "ann", "anonymousId": "ann's phone", "writeKey": key});
    Client::anonymous().post("/v1/identify", &link, 200).await;
    let campaign = made(&workspace.api, &email_with("At her hour", json!({}))).await;
    let found = eventually("three visits are Ann's", || async {
        let found = coverage(&workspace, &campaign).await;
        (found["optimizedUsers"] == 1).then_some(found)
    })
    .await;
    assert_eq!((&found["totalUsers"], &found["minEvents"]), (&json!(2), &json!(3)));
    assert_eq!((at_hour(&found, 16), &found["popularHour"]), (1, &json!(16)));
}
