//! Processes with different channels: each sends what it has a provider for, and a campaign fails only where no
//! process has its channel.

use kernel::{Clock, ClockHand, Timestamp};
use serde_json::{Value, json};

use super::{
    clocked::MINUTE,
    fixture::{Cohort, Log, beside, gateway, until},
};
use crate::kit::{Client, TestServer, data_dir, eventually, run, settings, unique};

/// When the clocks begin.
const BEGIN: &str = "2031-03-03T00:00:00Z";
/// The process that has the stores.
const FIRST: &str = "channels";
/// Recipients of every campaign.
const PEOPLE: usize = 20;

/// A process with these channels, on the stores of the first.
struct DeliveryProcess {
    server: TestServer,
    hand: ClockHand,
}

async fn delivery_process(
    url: &str,
    name: &str,
    channels: &'static [&'static str],
) -> DeliveryProcess {
    delivery_process_at(url, name, channels, 0).await
}

/// Likewise, with a clock that is so far ahead.
async fn delivery_process_at(
    url: &str,
    name: &str,
    channels: &'static [&'static str],
    ahead_ms: i64,
) -> DeliveryProcess {
    let (url, name) = (url.to_owned(), name.to_owned());
    let start = move || {
        let mut values = Vec::new();
        for channel in channels {
            let (provider, address) = match *channel {
                "email" => ("channels.email.provider", "channels.email.url"),
                _ => ("channels.sms.provider", "channels.sms.url"),
            };
            values.push((provider, "http".to_owned()));
            values.push((address, format!("{url}/{name}")));
        }
        let mut settings = settings(&data_dir(&name), &values);
        if name != FIRST {
            let [(_, database), (_, clickhouse)] = beside(&data_dir(FIRST));
            settings.database_url = Some(database.into());
            settings.clickhouse_url = Some(clickhouse.into());
        }
        let begin = Timestamp::parse(BEGIN).unwrap();
        let (clock, hand) = Clock::fixed(Timestamp::from_millis(begin.millis() + ahead_ms));
        DeliveryProcess { server: run(settings, clock), hand }
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

fn sms() -> Value {
    json!({"channel": "sms", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"body": "Hello"}},
    ]})
}

async fn people(api: &Client) -> Cohort {
    let cohort = Cohort::new(api, PEOPLE, "channels").await;
    let numbered = cohort.ids.iter().map(|id| {
        let number = format!("+1555{:010}", uuid::Uuid::now_v7().as_u128() % 10_000_000_000);
        json!({"externalId": id, "phone": number})
    });
    api.post("/users", &numbered.collect::<Value>(), 200).await;
    cohort
}

/// Waits until a process has announced a channel.
async fn announced(server: &TestServer, channel: &'static str) {
    eventually("the channel is announced", async || {
        let db = server.db();
        let sql = "select channel from carried_channel where channel = $1";
        let work = async move { sqlx::query(sql).bind(channel).execute(&db).await };
        (server.on(work).await.unwrap().rows_affected() > 0).then_some(())
    })
    .await;
}

/// Likewise, so long after the beginning.
async fn announced_at(server: &TestServer, channel: &'static str, after_ms: i64) {
    let at = Timestamp::parse(BEGIN).unwrap().millis() + after_ms;
    let at = Timestamp::from_millis(at).utc();
    eventually("the channel is announced", async || {
        let db = server.db();
        let sql = "select channel from carried_channel where channel = $1 and carried_at = $2";
        let work = async move { sqlx::query(sql).bind(channel).bind(at).execute(&db).await };
        (server.on(work).await.unwrap().rows_affected() > 0).then_some(())
    })
    .await;
}

async fn failed(api: &Client, id: &str) -> String {
    let campaign = until(api, id, "failed").await;
    campaign["failureReason"].as_str().unwrap().to_owned()
}

fn by(log: &Log, id: &str, name: &str) -> usize {
    log.of(id).iter().filter(|call| call.by == name).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_waits_for_a_process_with_its_channel_and_fails_without_one() {
    let (url, log) = gateway();
    let first = delivery_process(&url, FIRST, &["email"]).await;
    let (token, _) = first.server.key(&unique("channels"), "*").await;
    let api = &Client::new(&first.server.url, Some(&token));
    let cohort = people(api).await;

    let never = cohort.send(api, &sms()).await;
    assert_eq!(failed(api, &never).await, "no provider is set for channel sms");

    let second = delivery_process(&url, "channels-second", &["email", "sms"]).await;
    let third = delivery_process(&url, "channels-third", &["email"]).await;
    announced(&first.server, "sms").await;
    let sent = cohort.send(api, &sms()).await;
    until(api, &sent, "completed").await;
    assert_eq!(log.once(&sent).len(), PEOPLE);
    assert_eq!(by(&log, &sent, "channels-second"), PEOPLE, "the process with the channel sends");

    // The clock of the process with the channel stands still: its last announcement is almost ten minutes old.
    first.hand.advance_ms(10 * MINUTE - 1);
    third.hand.advance_ms(10 * MINUTE - 1);
    let waiting = cohort.send(api, &sms()).await;
    let email = cohort.send(api, &json!({})).await;
    until(api, &email, "completed").await;
    let again = cohort.send(api, &json!({})).await;
    until(api, &again, "completed").await;
    let campaign = api.get(format!("/campaigns/{waiting}"), 200).await.json();
    assert_eq!(campaign["status"], "active", "it waits: {}", campaign["failureReason"]);
    second.hand.advance_ms(10 * MINUTE);
    until(api, &waiting, "completed").await;
    assert_eq!(log.once(&waiting).len(), PEOPLE);

    // The others announce themselves all the time.
    for minutes in [19, 28] {
        first.hand.advance_ms(9 * MINUTE);
        announced_at(&first.server, "email", minutes * MINUTE - 1).await;
    }
    let silent = cohort.send(api, &sms()).await;
    let reason = failed(api, &silent).await;
    assert!(reason.contains("for 10 minutes"), "{reason}");
    assert!(log.of(&silent).is_empty());

    // A process that starts after all went silent gives the others time to start, too.
    let ahead = 60 * MINUTE;
    let _fourth = delivery_process_at(&url, "channels-fourth", &["email"], ahead).await;
    announced_at(&first.server, "sms", ahead).await;
    let late = cohort.send(api, &sms()).await;
    second.hand.advance_ms(60 * MINUTE);
    until(api, &late, "completed").await;
    assert_eq!(log.once(&late).len(), PEOPLE);
}
