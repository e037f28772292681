//! Quiet hours in the recipients' time zones.

use serde_json::json;

use super::{
    clocked::{HOUR, MINUTE, clocked},
    fixture::{Cohort, internal, until},
};
use crate::kit::{eventually, unique};

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_delay_a_message_to_the_recipients_local_morning() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let set = "update workspace set timezone = 'Asia/Karachi' where id = $1";
    assert_eq!(clocked.sql(set).await, 1);
    let cohort = Cohort::new(api, 0, "asleep").await;
    // Whose morning begins so long after eight in the evening UTC, by the zone they named, by their
    // country, by the workspace's zone; and one who is awake.
    let people = [
        (3 * HOUR, json!({"timezone": "Asia/Tokyo"})),
        (6 * HOUR + 30 * MINUTE, json!({"country": "IN"})),
        (7 * HOUR, json!({})),
        (8 * HOUR, json!({"timezone": "Asia/Dubai", "country": "IN"})),
        (0, json!({"timezone": "America/Bogota", "country": "JP"})),
    ];
    let mut ids = Vec::new();
    for (_, attributes) in &people {
        let id = unique("asleep");
        let mut attributes = attributes.clone();
        attributes["cohort"] = json!(cohort.name);
        let body = json!({"externalId": id, "email": format!("{id}@example.test"), "attributes": attributes});
        api.post("/users", &body, 201).await;
        ids.push(id);
    }
    let evening = clocked.next(20 * HOUR);
    clocked.advance_to(evening).await;
    let id = cohort
        .send(
            api,
            &json!({"quietTimeOverride": {
                "enabled": true, "start": "22:00", "end": "08:00", "timezone": "recipient", "behavior": "defer",
            }}),
        )
        .await;
    let mut expected = vec![ids[4].clone()];
    let called = async |expected: &[String]| {
        let what = format!("{} are called", expected.len());
        eventually(&what, async || (log.of(&id).len() >= expected.len()).then_some(())).await;
        assert_eq!(log.once(&id), expected.iter().cloned().collect());
    };
    called(&expected).await;
    for (at, (after, _)) in people.iter().enumerate().take(4) {
        let morning = kernel::Timestamp::from_millis(evening.millis() + after);
        clocked.advance_to(kernel::Timestamp::from_millis(morning.millis() - 1)).await;
        clocked.process_due().await;
        called(&expected).await;
        // Within five minutes, so that not all of a country wake at once.
        clocked.advance_to(kernel::Timestamp::from_millis(morning.millis() + 5 * MINUTE)).await;
        expected.push(ids[at].clone());
        called(&expected).await;
    }
    until(api, &id, "completed").await;
    let user = internal(api, &ids[0]).await;
    let events = eventually("it is reported", async || {
        let path = format!("/campaigns/{id}/recipients/{user}");
        let events = api.get(path, 200).await.json()["messages"][0]["events"].clone();
        (events.as_array().unwrap().len() == 3).then_some(events)
    })
    .await;
    let types: Vec<&str> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["queued", "held", "sent"], "{events}");
    assert!(events[1].to_string().contains("Asia/Tokyo"), "{events}");
}
