//! Volume limits shared by three processes on one database: reached where enough recipients are eligible, and never
//! exceeded.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::fixture::{Cohort, Log, beside, call, environment, gateway, until};
use crate::kit::{Client, Process, WhileUsed, data_dir, eventually, unique};

/// Messages the campaigns may send.
const LIMIT: usize = 10;

/// Three processes on the same stores.
struct Three {
    processes: [Process; 3],
    key: String,
    log: Log,
}

impl Three {
    fn clients(&self) -> [Client; 3] {
        [0, 1, 2].map(|at: usize| self.processes[at].client(&self.key))
    }
}

async fn three() -> Arc<Three> {
    static THREE: WhileUsed<Three> = WhileUsed::new();
    THREE
        .get(async || {
            let (url, log) = gateway();
            let mut settings = environment(&url);
            let folder = data_dir(&unique("volume"));
            let (first, key) = Process::start(&folder, &settings).await;
            settings.extend(beside(&folder));
            let (second, _) = Process::start(&data_dir(&unique("volume-second")), &settings).await;
            let (third, _) = Process::start(&data_dir(&unique("volume-third")), &settings).await;
            Three { processes: [first, second, third], key: key.unwrap(), log }
        })
        .await
}

fn push(limit: Value) -> Value {
    json!({"channel": "push", "sendVolumeLimit": limit, "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]})
}

/// Waits until a campaign's report accounts for so many messages, all of them settled.
async fn settled(api: &Client, id: &str, count: usize) -> Value {
    eventually("every message is settled", async || {
        let stats = api.get(format!("/campaigns/{id}/stats"), 200).await.json()["stats"].clone();
        let of = |name: &str| stats[name].as_u64().unwrap_or_default();
        let ended = of("sent") + of("failed") + of("skipped");
        (of("queued") == count as u64 && ended == count as u64).then_some(stats)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_triggered_campaign_respects_its_volume_limit() {
    let three = three().await;
    let (clients, log) = (three.clients(), &three.log);
    let api = &clients[0];
    // Of these the gate refuses everyone: they had their push of the day.
    let capped = Cohort::new(api, 60, "capped").await;
    let before = capped.send(api, &push(json!({"enabled": false}))).await;
    until(api, &before, "completed").await;
    // And of these the provider refuses every second one.
    let cohort = Cohort::new(api, 240, "triggered").await;
    log.refuse(cohort.ids.iter().step_by(2).cloned(), StatusCode::BAD_REQUEST);
    let event = unique("Event");
    let mut fields = push(json!({"maxSends": LIMIT}));
    fields["sendType"] = json!("triggered");
    fields["triggerConfig"] = json!({"type": "event", "eventName": event, "delayMinutes": 0});
    let mut body = cohort.campaign(&fields);
    body.as_object_mut().unwrap().remove("targeting");
    let id = api.post("/campaigns", &body, 201).await.json()["id"].as_str().unwrap().to_owned();
    call(api, &id, "send").await;
    let people: Vec<&String> = capped.ids.iter().chain(&cohort.ids).collect();
    let share = people.len().div_ceil(clients.len());
    let tracked = clients.iter().zip(people.chunks(share)).map(async |(client, share)| {
        for id in share {
            let event = json!({"userId": id, "eventName": event, "clientEventId": id});
            client.post("/events/track", &event, 200).await;
        }
    });
    futures_util::future::join_all(tracked).await;
    let stats = settled(api, &id, people.len()).await;
    assert_eq!(log.taken(&id).len(), LIMIT, "{stats}");
    assert_eq!(stats["sent"], LIMIT, "{stats}");
    assert!(log.taken(&id).iter().all(|taken| cohort.ids.contains(taken)));
}

#[tokio::test(flavor = "multi_thread")]
async fn reserve_recipients_replace_skipped_and_failed_ones() {
    let three = three().await;
    let (clients, log) = (three.clients(), &three.log);
    let api = &clients[1];
    let cohort = Cohort::new(api, 60, "replaced").await;
    let first = cohort.send(api, &push(json!({"maxSends": 30}))).await;
    until(api, &first, "completed").await;
    let capped = log.taken(&first);
    assert_eq!(capped.len(), 30);
    let fresh: Vec<String> =
        cohort.ids.iter().filter(|id| !capped.contains(*id)).cloned().collect();
    log.refuse(fresh[..10].iter().cloned(), StatusCode::BAD_REQUEST);
    // Twenty recipients are left who can be reached.
    for (limit, reached) in [(15, 15), (15, 5)] {
        let id = cohort.send(api, &push(json!({"maxSends": limit, "cadence": "per_send"}))).await;
        until(api, &id, "completed").await;
        let taken = log.taken(&id);
        assert_eq!(taken.len(), reached, "of {limit}");
        assert!(taken.iter().all(|id| fresh[10..].contains(id)));
        settled(api, &id, cohort.ids.len()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_limit_spans_all_sends_and_a_per_send_limit_each_one() {
    let three = three().await;
    let (clients, log) = (three.clients(), &three.log);
    let api = &clients[2];
    for (cadence, second) in [("lifetime", LIMIT), ("per_send", 2 * LIMIT)] {
        let cohort = Cohort::new(api, 60, "again").await;
        let limit = json!({"maxSends": LIMIT, "cadence": cadence});
        let fields = json!({"sendVolumeLimit": limit, "resendPolicy": "everyone"});
        let id = cohort.send(api, &fields).await;
        until(api, &id, "completed").await;
        assert_eq!(log.taken_count(&id), LIMIT, "{cadence}");
        call(api, &id, "resend").await;
        until(api, &id, "completed").await;
        assert_eq!(log.taken_count(&id), second, "{cadence}");
    }
}
