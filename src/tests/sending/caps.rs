//! Frequency caps shared by three senders at the turn of an hour: their clocks are on both sides of it.

use std::collections::BTreeMap;

use config::Cap;
use kernel::{Clock, Timestamp};
use serde_json::{Value, json};

use super::fixture::{Cohort, beside, gateway, until};
use crate::kit::{Client, TestServer, data_dir, run, settings, unique};

/// The clocks of the senders.
const CLOCKS: [&str; 3] =
    ["2031-03-03T10:59:59.500Z", "2031-03-03T11:00:00.000Z", "2031-03-03T11:00:00.500Z"];
/// Recipients of every campaign.
const PEOPLE: usize = 150;

fn senders(url: &str) -> Vec<TestServer> {
    let folder = data_dir("caps");
    let mut all = Vec::new();
    for (at, clock) in CLOCKS.into_iter().enumerate() {
        let own = if at == 0 { folder.clone() } else { data_dir(&format!("caps-{at}")) };
        let mut settings = settings(
            &own,
            &[
                ("channels.email.provider", "http".to_owned()),
                ("channels.email.url", format!("{url}/email")),
                ("channels.push.provider", "http".to_owned()),
                ("channels.push.url", format!("{url}/push")),
            ],
        );
        settings.delivery.caps.insert("push".to_owned(), Cap { max: 1, hours: 24 });
        settings.delivery.caps.insert("any".to_owned(), Cap { max: 2, hours: 24 });
        if at > 0 {
            let [(_, database), (_, clickhouse)] = beside(&folder);
            settings.database_url = Some(database.into());
            settings.clickhouse_url = Some(clickhouse.into());
        }
        let (clock, _) = Clock::fixed(Timestamp::parse(clock).unwrap());
        all.push(run(settings, clock));
    }
    all
}

fn push() -> Value {
    json!({"channel": "push", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn frequency_caps_hold_across_the_turn_of_an_hour() {
    let (url, log) = gateway();
    let senders = tokio::task::spawn_blocking(move || senders(&url)).await.unwrap();
    let (token, _) = senders[0].key(&unique("caps"), "*").await;
    let api = &Client::new(&senders[0].url, Some(&token));
    let cohort = Cohort::new(api, PEOPLE, "turn").await;
    let mut campaigns = Vec::new();
    for fields in [push(), json!({}), push(), json!({}), push()] {
        campaigns.push(cohort.send(api, &fields).await);
    }
    let mut received = BTreeMap::<String, (usize, usize)>::new();
    for id in &campaigns {
        until(api, id, "completed").await;
        for call in log.of(id) {
            let (pushes, all) = received.entry(call.external_id).or_default();
            *pushes += usize::from(call.by == "push");
            *all += 1;
        }
    }
    assert_eq!(received.len(), PEOPLE, "everyone gets what the caps allow");
    for (person, (pushes, all)) in received {
        assert!(pushes <= 1, "{person} got {pushes} pushes");
        assert_eq!(all, 2, "{person}");
    }
}
