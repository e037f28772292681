//! Schedules: `scheduledAt` in a zone, and recurring ones.

use serde_json::{Value, json};

use super::{email_with, id, made, put, read, recurring};
use crate::kit::Workspace;

fn scheduled(at: &str, zone: Option<&str>) -> Value {
    let mut body = email_with("Later", json!({"sendType": "scheduled", "scheduledAt": at}));
    if let Some(zone) = zone {
        body["scheduledTimezone"] = json!(zone);
    }
    body
}

/// Days on which clocks jump, far enough ahead: New York, 14 March and 7 November 2032.
#[tokio::test]
async fn a_scheduled_time_is_read_in_its_zone_and_returned_in_utc() {
    let workspace = Workspace::new().await;
    let new_york = Some("America/New_York");
    let table = [
        ("2032-07-01T09:00:00Z", new_york, "2032-07-01T09:00:00.000Z"),
        ("2032-07-01T09:00:00+02:00", None, "2032-07-01T07:00:00.000Z"),
        ("2032-07-01T09:00:00", new_york, "2032-07-01T13:00:00.000Z"),
        ("2032-01-01T09:00", new_york, "2032-01-01T14:00:00.000Z"),
        ("2032-07-01T09:00:00", None, "2032-07-01T09:00:00.000Z"),
        ("2032-07-01", new_york, "2032-07-01T04:00:00.000Z"),
        // Skipped: the first moment after the gap. Twice: the earlier.
        ("2032-03-14T02:30:00", new_york, "2032-03-14T07:00:00.000Z"),
        ("2032-11-07T01:30:00", new_york, "2032-11-07T05:30:00.000Z"),
    ];
    for (sent, zone, expected) in table {
        let campaign = made(&workspace.api, &scheduled(sent, zone)).await;
        assert_eq!(campaign["scheduledAt"], expected, "{sent} {zone:?}");
        assert_eq!(campaign["scheduledTimezone"], json!(zone));
        assert_eq!(campaign["status"], "scheduled");
        assert_eq!(campaign["nextSendAt"], expected);
        assert_eq!(read(&workspace.api, &campaign).await["scheduledAt"], expected);
    }
}

#[tokio::test]
async fn an_invalid_time_and_an_invalid_zone_are_both_reported() {
    let workspace = Workspace::new().await;
    let wrong = scheduled("tomorrow", Some("Mars/Olympus"));
    let refused = workspace.api.post("/campaigns", &wrong, 400).await;
    assert_eq!(
        refused.errors(),
        [
            "scheduledTimezone must be an IANA time zone such as Europe/Berlin",
            "scheduledAt must be an ISO 8601 date or date-time",
        ]
    );
    for wrong in ["9999-12-31T23:59:59-01:00", "2032-02-30", "2032-07-01T09:00:00\u{0}", ""] {
        workspace.api.post("/campaigns", &scheduled(wrong, None), 400).await;
    }
    // An hour ago.
    let past =
        workspace.api.post("/campaigns", &scheduled("2020-01-01T00:00:00Z", None), 400).await;
    assert!(past.errors()[0].starts_with("scheduledAt "), "{}", past.text);
}

#[tokio::test]
async fn changing_the_zone_keeps_a_stored_send_time() {
    let workspace = Workspace::new().await;
    let campaign =
        made(&workspace.api, &scheduled("2032-07-01T09:00:00", Some("Asia/Tokyo"))).await;
    let changed =
        put(&workspace.api, &campaign, json!({"scheduledTimezone": "Europe/Berlin"}), 200);
    assert_eq!(changed.await.json()["scheduledAt"], "2032-07-01T00:00:00.000Z");
    let both = json!({"scheduledTimezone": "Europe/Berlin", "scheduledAt": "2032-07-01T09:00:00"});
    let changed = put(&workspace.api, &campaign, both, 200).await.json();
    assert_eq!(changed["scheduledAt"], "2032-07-01T07:00:00.000Z");
}

async fn upcoming(workspace: &Workspace, schedule: Value) -> Vec<String> {
    let body = email_with("Again", json!({"sendType": "recurring", "recurringSchedule": schedule}));
    let campaign = made(&workspace.api, &body).await;
    for (field, sent) in body["recurringSchedule"].as_object().unwrap() {
        assert_eq!(&campaign["recurringSchedule"][field], sent);
    }
    // Whose clocks it goes by is settled.
    assert!(campaign["recurringSchedule"]["timezone"].is_string());
    let path = format!("/campaigns/{}/recurring-status", id(&campaign));
    let status = workspace.api.get(path, 200).await.json();
    // The schedule is due at the same times before it is saved.
    let unsaved = json!({"recurringSchedule": body["recurringSchedule"]});
    let unsaved = workspace.api.post("/campaigns/preview-schedule", &unsaved, 200).await.json();
    for field in ["timezone", "upcoming"] {
        assert_eq!(unsaved[field], status[field], "{body}");
    }
    let upcoming = status["upcoming"].as_array().unwrap();
    assert_eq!(status["nextOccurrenceAt"], upcoming.first().cloned().unwrap_or_default());
    upcoming.iter().map(|at| at.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn schedules_of_every_frequency_are_due_at_their_times() {
    let workspace = Workspace::new().await;
    let daily = upcoming(
        &workspace,
        json!({"frequency": "daily", "timeOfDay": "06:30", "timezone": "Asia/Kolkata"}),
    )
    .await;
    assert_eq!(daily.len(), 5);
    assert!(daily.iter().all(|at| at.ends_with("T01:00:00.000Z")), "{daily:?}");

    let weekly = json!({"frequency": "weekly", "dayOfWeek": [1, 4], "timezone": "UTC"});
    let weekly = upcoming(&workspace, weekly).await;
    assert!(weekly.iter().all(|at| at.ends_with("T09:00:00.000Z")), "{weekly:?}");

    // Every month has its last day.
    let monthly = json!({"frequency": "monthly", "dayOfMonth": 31, "timezone": "UTC"});
    let monthly = upcoming(&workspace, monthly).await;
    let months: Vec<&str> = monthly.iter().map(|at| &at[..7]).collect();
    assert!(months.windows(2).all(|pair| pair[0] < pair[1]), "{monthly:?}");
    assert!(monthly.iter().all(|at| ["28", "29", "30", "31"].contains(&&at[8..10])), "{monthly:?}");

    let hourly = upcoming(&workspace, json!({"frequency": "custom", "cron": "0 * * * *"})).await;
    assert!(hourly.iter().all(|at| at.ends_with(":00:00.000Z")), "{hourly:?}");

    let twice = json!({"frequency": "daily", "timezone": "UTC", "maxOccurrences": 2});
    assert_eq!(upcoming(&workspace, twice).await.len(), 2);
    let over = json!({"frequency": "daily", "timezone": "UTC", "endDate": "2020-01-01"});
    assert_eq!(upcoming(&workspace, over).await, [""; 0]);
}

#[tokio::test]
async fn a_schedule_that_is_not_saved_is_due_by_the_clock_of_its_campaign() {
    let workspace = Workspace::new().await;
    let preview = async |body: Value, status: u16| {
        workspace.api.post("/campaigns/preview-schedule", &body, status).await
    };
    let schedule = json!({"frequency": "daily", "timeOfDay": "06:30", "maxOccurrences": 3});
    let body = json!({"recurringSchedule": schedule, "scheduledTimezone": "Asia/Kolkata"});
    let answer = preview(body, 200).await.json();
    assert_eq!(answer["timezone"], "Asia/Kolkata");
    let upcoming = answer["upcoming"].as_array().unwrap();
    assert_eq!(upcoming.len(), 3);
    assert!(upcoming.iter().all(|at| at.as_str().unwrap().ends_with("T01:00:00.000Z")), "{answer}");
    let campaign = made(&workspace.api, &recurring("Daily")).await;
    let body = json!({"recurringSchedule": schedule, "campaignId": campaign["id"]});
    assert_eq!(preview(body, 200).await.json()["upcoming"].as_array().unwrap().len(), 3);
    let theirs = made(&Workspace::new().await.api, &recurring("Daily")).await;
    preview(json!({"recurringSchedule": schedule, "campaignId": theirs["id"]}), 404).await;
    for (body, problem) in [
        (json!({}), "recurringSchedule is required"),
        (
            json!({"recurringSchedule": {"frequency": "hourly"}}),
            "recurringSchedule.frequency must be one of: daily, weekly, monthly, custom",
        ),
        (
            json!({"recurringSchedule": {"frequency": "daily", "timeOfDay": "25:00"}}),
            "recurringSchedule.timeOfDay must be",
        ),
        (json!({"recurringSchedule": schedule, "campaignId": "x"}), "campaignId must be a UUID"),
        (
            json!({"recurringSchedule": schedule, "scheduledTimezone": "Mars/North"}),
            "scheduledTimezone must be",
        ),
    ] {
        let errors = preview(body, 400).await.errors();
        assert!(errors.iter().any(|error| error.starts_with(problem)), "{problem}: {errors:?}");
    }
}

#[tokio::test]
async fn cron_schedules_are_at_most_hourly() {
    let workspace = Workspace::new().await;
    for (cron, complaint) in [
        ("*/59 * * * *", "must not be due more often than once an hour"),
        ("0,30 9 * * 1", "must not be due more often than once an hour"),
        ("0 0 31 2 *", "must be due some day"),
        ("@hourly", "must have 5 fields: minute, hour, day of month, month, day of week"),
        ("0 0 9 * * *", "must have 5 fields: minute, hour, day of month, month, day of week"),
    ] {
        let schedule = json!({"frequency": "custom", "cron": cron});
        let body =
            email_with("Again", json!({"sendType": "recurring", "recurringSchedule": schedule}));
        let refused = workspace.api.post("/campaigns", &body, 400).await;
        assert_eq!(refused.errors(), [format!("recurringSchedule.cron {complaint}")]);
    }
}
