//! Two servers of one deployment: retries that reach the other one, and people whose calls reach both.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;

use super::*;
use crate::{
    kit::{TestServer, WhileUsed, data_dir, run, settings},
    sending::fixture::beside,
};

/// A workspace, and a caller of each server with its key.
struct Pair {
    /// Calls of the API.
    api: [Client; 2],
    /// Without a credential of their own.
    open: [Client; 2],
    key: String,
    _servers: Arc<Servers>,
}

/// Two servers, and the one whose stores they share as stores of others.
struct Servers {
    pair: [TestServer; 2],
    _stores: TestServer,
}

fn start() -> Servers {
    let folder = data_dir(&unique("two-nodes"));
    let stores = run(settings(&folder, &[]), Clock::system());
    let pair = ["two-nodes-one", "two-nodes-other"].map(|name| {
        let mut settings = settings(&data_dir(&unique(name)), &[]);
        let [(_, database), (_, clickhouse)] = beside(&folder);
        settings.database_url = Some(database.into());
        settings.clickhouse_url = Some(clickhouse.into());
        run(settings, Clock::system())
    });
    Servers { pair, _stores: stores }
}

async fn pair() -> Pair {
    static SERVERS: WhileUsed<Servers> = WhileUsed::new();
    let started = async || tokio::task::spawn_blocking(start).await.unwrap();
    let started = SERVERS.get(started).await;
    let servers = &started.pair;
    let (key, _) = servers[0].key(&unique("nodes"), "events:*,users:*").await;
    let urls = [&servers[0].url, &servers[1].url];
    Pair {
        api: urls.map(|url| Client::new(url, Some(&key))),
        open: urls.map(|url| Client::new(url, None)),
        key,
        _servers: Arc::clone(&started),
    }
}

impl Pair {
    /// Sends a batch to one of the servers, as of now.
    async fn batch(&self, node: usize, calls: &[Value]) {
        let sent_at = Clock::system().now().utc().to_rfc3339();
        let client = &self.open[node];
        let request = client.request(Method::POST, "/v1/batch").basic_auth(&self.key, Some(""));
        client.send(request.json(&json!({"batch": calls, "sentAt": sent_at})), 200).await;
    }

    async fn posthog(&self, node: usize, events: &[Value]) {
        let body = json!({"api_key": self.key, "batch": events});
        self.open[node].post("/batch/", &body, 200).await;
    }

    /// Waits until both servers give this answer about a profile.
    async fn sees<T>(&self, path: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let mut found = None;
        for api in &self.api {
            let seen = eventually(&format!("both see {path}"), || async {
                let request = api.request(Method::GET, path);
                let answer = request.send().await.unwrap().json::<Value>().await.unwrap();
                look(&answer)
            })
            .await;
            found = Some(seen);
        }
        found.unwrap()
    }

    /// Waits until what was sent to each server before is applied.
    async fn applied(&self) {
        let users = [unique("last"), unique("last")];
        for (node, user) in users.iter().enumerate() {
            let call = json!({"type": "identify", "userId": user, "anonymousId": user});
            self.batch(node, &[call]).await;
        }
        for user in &users {
            // Links follow the profiles that are changed together.
            let path = format!("/users/{user}/identities");
            self.sees(&path, |it| (it["data"].as_array()?.len() == 3).then_some(())).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_that_alternate_between_two_servers_count_once() {
    const BATCHES: usize = 20;
    const EVENTS: usize = 20;
    let pair = pair().await;
    let at = Clock::system().now().utc().to_rfc3339();
    let segment = |batch: usize| -> Vec<Value> {
        (0..EVENTS)
            .map(|event| json!({"type": "track", "event": "E", "userId": "ann", "timestamp": at, "messageId": format!("{batch}-{event}"), "properties": {"n": 1}}))
            .collect()
    };
    let posthog = |batch: usize| -> Vec<Value> {
        (0..EVENTS)
            .map(|event| json!({"event": "E", "distinct_id": "bob", "timestamp": at, "uuid": format!("{batch}-{event}p"), "properties": {"n": 1}}))
            .collect()
    };
    join_all((0..BATCHES).map(|batch| {
        let (pair, segment, posthog) = (&pair, segment(batch), posthog(batch));
        async move {
            // Each answer but the last is lost.
            for retry in 0..4 {
                pair.batch((batch + retry) % 2, &segment).await;
                pair.posthog((batch + retry) % 2, &posthog).await;
            }
            // Both at once: the first was slow.
            tokio::join!(pair.batch(0, &segment), pair.batch(1, &segment));
        }
    }))
    .await;
    // The last of each server shows that all before it is there.
    for node in [0, 1] {
        let last = json!({"type": "track", "event": "Last", "userId": "last", "timestamp": at});
        pair.batch(node, &[last]).await;
    }
    pair.sees("/events/query?userId=last", |it| (it.as_array()?.len() == 2).then_some(())).await;
    for user in ["ann", "bob"] {
        let path = format!("/events/query?userId={user}&limit=1000");
        let events = pair
            .sees(&path, |it| (it.as_array()?.len() >= BATCHES * EVENTS).then(|| it.clone()))
            .await;
        let ids: BTreeSet<&str> =
            events.as_array().unwrap().iter().map(|it| it["event_id"].as_str().unwrap()).collect();
        assert_eq!(
            (events.as_array().unwrap().len(), ids.len()),
            (BATCHES * EVENTS, BATCHES * EVENTS)
        );
    }
    let asked =
        json!({"eventName": "E", "groupBy": "month", "metrics": ["count", "sum"], "sumField": "n"});
    for api in &pair.api {
        let found = api.post("/events/aggregate", &asked, 200).await.json();
        let results = found["data"]["results"].as_array().unwrap();
        let count: u64 = results.iter().map(|it| it["count"].as_u64().unwrap()).sum();
        assert_eq!(count, 2 * (BATCHES * EVENTS) as u64, "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identify_at_one_server_is_seen_at_the_other_and_its_retry_changes_nothing() {
    let pair = pair().await;
    let identify = |id: usize, plan: &str| json!({"type": "identify", "userId": "ann", "anonymousId": format!("a{id}"), "messageId": id.to_string(), "traits": {"plan": plan, format!("k{id}"): 1}});
    let has = |name: &'static str, value: &'static str| {
        move |it: &Value| (it["attributes"][name] == value).then(|| it["id"].clone())
    };
    pair.batch(0, &[identify(1, "free")]).await;
    pair.sees("/users/by-user-id/ann", has("plan", "free")).await;
    pair.batch(1, &[identify(2, "pro")]).await;
    pair.sees("/users/by-user-id/ann", has("plan", "pro")).await;
    // A retry of the first at the other server, and of the second at the first one.
    pair.batch(1, &[identify(1, "free")]).await;
    pair.batch(0, &[identify(2, "pro"), identify(1, "free")]).await;
    pair.applied().await;
    pair.sees("/users/by-user-id/ann", has("plan", "pro")).await;
    for api in &pair.api {
        let user = api.get("/users/by-user-id/ann", 200).await.json();
        assert_eq!(user["attributes"], json!({"plan": "pro", "k1": 1, "k2": 1}));
        let ids = api.get("/users/ann/identities", 200).await.json();
        assert_eq!(ids["data"].as_array().unwrap().len(), 4, "{ids}");
    }
}

/// Identifies, links and merges of four people at both servers; gives the calls of each.
fn race(round: usize) -> [Vec<Value>; 2] {
    let name = |person: usize| format!("p{person}-{round}");
    let link = |person: usize, anonymous: &str| json!({"type": "identify", "userId": name(person), "anonymousId": format!("{anonymous}-{round}"), "traits": {format!("{anonymous}{person}"): 1}});
    let alias = |previous: usize, user: usize| json!({"type": "alias", "userId": name(user), "previousId": name(previous)});
    [
        vec![link(0, "x"), alias(0, 1), link(2, "shared"), alias(2, 3), alias(3, 0), link(1, "y")],
        vec![link(3, "z"), alias(1, 2), alias(3, 2), link(3, "shared"), alias(1, 0), link(0, "w")],
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_merges_that_race_at_two_servers_end_in_one_person() {
    const ROUNDS: usize = 8;
    let pair = pair().await;
    for round in 0..ROUNDS {
        let people: Vec<Value> = (0..4)
            .map(|person| json!({"type": "identify", "userId": format!("p{person}-{round}"), "traits": {format!("of{person}"): 1}}))
            .collect();
        pair.batch(round % 2, &people).await;
        pair.applied().await;
        let [one, other] = race(round);
        // Some calls come one by one, so that both servers work on them at the same time.
        let send = async |node: usize, calls: Vec<Value>| {
            for call in calls.chunks(1 + round % 3) {
                pair.batch(node, call).await;
            }
        };
        tokio::join!(send(0, one), send(1, other));
        pair.applied().await;
        for api in &pair.api {
            let mut ids = BTreeSet::new();
            for person in 0..4 {
                let path = format!("/users/by-user-id/p{person}-{round}");
                let user = api.get(path, 200).await.json();
                ids.insert(user["id"].as_str().unwrap().to_owned());
                // Four of the people and six of the links.
                assert_eq!(user["attributes"].as_object().unwrap().len(), 10, "{user}");
                let path = format!("/users/p{person}-{round}/identities");
                let found = api.get(path, 200).await.json();
                let anonymous: BTreeSet<&str> = found["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|it| it["type"] == "anonymous")
                    .map(|it| it["id"].as_str().unwrap().split('-').next().unwrap())
                    .collect();
                assert_eq!(anonymous, BTreeSet::from(["shared", "w", "x", "y", "z"]), "{found}");
            }
            assert_eq!(ids.len(), 1, "{ids:?}");
        }
    }
    let refused = pair.api[0].get("/events/rejected", 200).await.json();
    assert_eq!(refused["total"], 0, "{refused}");
}
