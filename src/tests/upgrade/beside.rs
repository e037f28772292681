//! Servers of two releases on the same stores, as in a rolling upgrade.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::previous::Previous;
use crate::{
    kit::{Client, Process, data_dir, eventually},
    sending::fixture::{Cohort, Log, consent, environment, gateway, until},
};

/// Where the previous release's program is.
const PROGRAM: &str = "MILLRACE_PREVIOUS_RELEASE";
const EVENTS: usize = 500;
const RECIPIENTS: usize = 2_000;

/// A server of each release.
struct Releases {
    previous: Process,
    this: Process,
    of_previous: Client,
    of_this: Client,
    log: Log,
}

impl Releases {
    /// The previous release makes the stores; this one joins it.
    async fn start(program: PathBuf) -> Self {
        let stores = Previous::empty().await;
        let (url, log) = gateway();
        let mut settings = environment(&url);
        settings.extend(stores.environment());
        let folder = data_dir("release-before");
        let (previous, _) = Process::start_other(&program, &folder, &settings).await;
        let key = make_key(&program, &folder, &settings);
        for (name, value) in &mut settings {
            if *name == "MILLRACE_CHANNELS__EMAIL__URL" {
                *value = format!("{url}/second");
            }
        }
        let (this, _) = Process::start(&data_dir("release-now"), &settings).await;
        let (of_previous, of_this) = (previous.client(&key), this.client(&key));
        Self { previous, this, of_previous, of_this, log }
    }

    fn clients(&self) -> [&Client; 2] {
        [&self.of_previous, &self.of_this]
    }
}

/// A key for everything, made by this program.
pub(crate) fn make_key(program: &Path, folder: &Path, settings: &[(&str, String)]) -> String {
    let made = Command::new(program)
        .args(["keys", "create", "--workspace", "shop", "--scopes", "*"])
        .env("MILLRACE_DATA_DIR", folder)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_two_releases_serve_the_same_stores() {
    let Some(program) = env::var_os(PROGRAM) else {
        return eprintln!(
            "SKIPPED servers_of_two_releases_serve_the_same_stores: {PROGRAM} does not name a program of the last release"
        );
    };
    let releases = Releases::start(program.into()).await;
    events_count_once(&releases).await;
    profiles_and_consent_are_shared(&releases).await;
    both_send_a_campaign(&releases).await;
    // The upgrade ends: the previous release goes in order, and this one has all that it had.
    let Releases { previous, this, of_this, .. } = releases;
    assert!(previous.stop().await.success());
    until_counted(&of_this, "Both", EVENTS).await;
    of_this.post("/events/track", &event(EVENTS), 200).await;
    until_counted(&of_this, "Both", EVENTS + 1).await;
    assert!(this.stop().await.success());
}

fn event(number: usize) -> serde_json::Value {
    json!({"userId": "ann", "eventName": "Both", "clientEventId": number.to_string()})
}

async fn until_counted(client: &Client, name: &str, expected: usize) {
    let path = format!("/events/query?eventName={name}&limit=1000");
    eventually(&format!("{expected} events {name}"), async || {
        let found = client.get(&path, 200).await.json();
        let ids: BTreeSet<&str> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["event_id"].as_str().unwrap())
            .collect();
        let rows = found.as_array().unwrap().len();
        assert_eq!(ids.len(), rows, "an event is there twice");
        (rows == expected).then_some(())
    })
    .await;
}

/// The same events go to both servers.
async fn events_count_once(releases: &Releases) {
    for part in (0..EVENTS).collect::<Vec<_>>().chunks(100) {
        let events: serde_json::Value = part.iter().map(|number| event(*number)).collect();
        for client in releases.clients() {
            client.post("/events/track", &events, 200).await;
        }
    }
    for client in releases.clients() {
        until_counted(client, "Both", EVENTS).await;
    }
}

/// What is written at one server is read at the other.
async fn profiles_and_consent_are_shared(releases: &Releases) {
    let [previous, this] = releases.clients();
    for (writer, reader, id) in [(previous, this, "eve"), (this, previous, "fay")] {
        let users = json!([{"externalId": id, "email": format!("{id}@example.test"), "attributes": {"plan": "pro"}}]);
        writer.post("/users", &users, 200).await;
        let user = reader.get(format!("/users/by-user-id/{id}"), 200).await.json();
        assert_eq!(user["attributes"]["plan"], "pro");
        let contact = format!("/subscriptions/contacts/{}", user["id"].as_str().unwrap());
        consent(reader, id, "email", "unsubscribed").await;
        let consent = writer.get(&contact, 200).await.text;
        assert!(consent.contains("unsubscribed"), "{consent}");
    }
}

/// Each recipient of a campaign gets one message, of either server.
async fn both_send_a_campaign(releases: &Releases) {
    let [previous, this] = releases.clients();
    for (maker, reader) in [(previous, this), (this, previous)] {
        let cohort = Cohort::new(maker, RECIPIENTS, "slow").await;
        let id = cohort.send(maker, &json!({})).await;
        let report = until(reader, &id, "completed").await;
        assert_eq!(releases.log.once(&id), cohort.at(0..RECIPIENTS), "{report}");
        for by in ["email", "second"] {
            assert!(releases.log.of(&id).iter().any(|call| call.by == by), "{by} sends, too");
        }
    }
}
