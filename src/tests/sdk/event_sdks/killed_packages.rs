//! The official packages go on sending while the server is killed and started again: each event arrives, and once, and so
//! does the profile with its links.

use std::{collections::BTreeSet, net::TcpListener, process::Stdio, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin, Command},
};

use super::{
    packages::{node, python},
    segment::properties,
    *,
};
use crate::kit::{Process, data_dir, within};

/// How often the server is killed.
const KILLS: usize = 2;
/// Lines that each script reads.
const LINES: usize = 1 + 2 * KILLS;
/// Events of each package when the server is killed, and while it is away.
const SENDING: usize = 300;
const AWAY: usize = 60;
/// Events that are acknowledged before the server is killed: a few of each package.
const ACKNOWLEDGED: u64 = 60;
/// The longest time that a package takes to send what is left.
const END_MAX: Duration = Duration::from_mins(8);

/// Sends as many events as each line says, and the rest at the end. Before them it identifies the user, with another anonymous
/// id for each line. Retries outlast the time that the server is away.
const NODE: &str = r#"
let number = 0, line = 0;
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (count) => { identify(line++); for (let i = 0; i < Number(count); i += 1) track(number++); });
lines.on("close", () => end());
const { SERVER_URL: host, WRITE_KEY: writeKey, USER_ID: userId } = process.env;
"#;
const ANALYTICS_NODE: &str = r#"
const { Analytics } = require("@segment/analytics-node");
const analytics = new Analytics({ writeKey, host, flushAt: 5, flushInterval: 50, maxRetries: 100 });
const track = (n) => analytics.track({ userId, event: "E", properties: { n } });
const identify = (line) => analytics.identify({ userId, anonymousId: `${userId}-${line}`, traits: { line } });
const end = () => analytics.closeAndFlush({ timeout: 470000 });
"#;
const RUDDER_NODE: &str = r#"
const RudderAnalytics = require("@rudderstack/rudder-sdk-node");
const analytics = new RudderAnalytics(writeKey, { dataPlaneUrl: host, flushAt: 5, flushInterval: 50, retryCount: 500,
  axiosRetryConfig: { retryDelay: () => 200, shouldResetTimeout: true } });
const track = (n) => analytics.track({ userId, event: "E", properties: { n } });
const identify = (line) => analytics.identify({ userId, anonymousId: `${userId}-${line}`, traits: { line } });
const end = () => analytics.flush();
"#;
const POSTHOG_NODE: &str = r#"
const { PostHog } = require("posthog-node");
const posthog = new PostHog(writeKey, { host, flushAt: 5, flushInterval: 50, fetchRetryCount: 500, fetchRetryDelay: 200 });
const track = (n) => posthog.capture({ distinctId: userId, event: "E", properties: { n } });
const identify = (line) => {
  posthog.identify({ distinctId: userId, properties: { $set: { line }, $anon_distinct_id: `${userId}-${line}` } });
};
const end = () => posthog.shutdown(470000);
"#;
const PYTHON: &str = r#"
import os, sys
host, write_key, user_id = os.environ["SERVER_URL"], os.environ["WRITE_KEY"], os.environ["USER_ID"]
def run(track, identify, end):
    number = 0
    for line, count in enumerate(sys.stdin):
        identify(line, f"{user_id}-{line}")
        for _ in range(int(count)):
            track(number)
            number += 1
    end()
"#;
const ANALYTICS_PYTHON: &str = r#"
from segment.analytics.client import Client
client = Client(write_key, host=host, upload_size=5, upload_interval=0.05, max_retries=100)
def identify(line, anonymous_id):
    client.identify(user_id, {"line": line}, anonymous_id=anonymous_id)
run(lambda n: client.track(user_id, "E", {"n": n}), identify, client.shutdown)
"#;
const RUDDER_PYTHON: &str = r#"
from rudderstack.analytics.client import Client
client = Client(write_key, host=host, upload_size=5, upload_interval=0.05, max_retries=100)
def identify(line, anonymous_id):
    client.identify(user_id, {"line": line}, anonymous_id=anonymous_id)
run(lambda n: client.track(user_id, "E", {"n": n}), identify, client.shutdown)
"#;
const POSTHOG_PYTHON: &str = r#"
from posthog import Posthog
posthog = Posthog(write_key, host=host, flush_at=5, flush_interval=0.05, max_retries=100)
def end():
    posthog.flush(timeout_seconds=None)
    posthog.shutdown()
def identify(line, anonymous_id):
    posthog.set(distinct_id=user_id, properties={"line": line})
    posthog.alias(previous_id=anonymous_id, distinct_id=user_id)
run(lambda n: posthog.capture("E", distinct_id=user_id, properties={"n": n}), identify, end)
"#;

/// A package and its script.
const PACKAGES: [(&str, &str); 6] = [
    ("analytics-node", ANALYTICS_NODE),
    ("rudder-sdk-node", RUDDER_NODE),
    ("posthog-node", POSTHOG_NODE),
    ("analytics-python", ANALYTICS_PYTHON),
    ("rudder-sdk-python", RUDDER_PYTHON),
    ("posthog-python", POSTHOG_PYTHON),
];

/// A running script. Its events are of the user with the package's name.
struct Script {
    package: &'static str,
    child: Child,
    lines: ChildStdin,
}

impl Script {
    /// Starts the script; none where the package cannot be had.
    async fn start(
        package: &'static str,
        code: &str,
        process: &Process,
        key: &str,
    ) -> Option<Self> {
        let is_node = package.ends_with("node");
        let found = if is_node { node().await } else { python().await };
        let found = found.inspect_err(|reason| eprintln!("SKIPPED {package}: {reason}")).ok()?;
        let mut command = if is_node {
            let mut command = Command::new("node");
            command.arg("-e").arg(format!("{NODE}{code}")).current_dir(found);
            command
        } else {
            let mut command = Command::new(found);
            command.arg("-c").arg(format!("{PYTHON}{code}"));
            command
        };
        command
            .env("SERVER_URL", &process.url)
            .env("WRITE_KEY", key)
            .env("USER_ID", package)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = child.stdin.take().unwrap();
        Some(Self { package, child, lines })
    }

    /// Has it send so many more events.
    async fn send(&mut self, count: usize) {
        self.lines.write_all(format!("{count}\n").as_bytes()).await.unwrap();
        self.lines.flush().await.unwrap();
    }

    /// Waits until it has sent what is left.
    async fn end(mut self) {
        drop(self.lines);
        let ended = tokio::time::timeout(END_MAX, self.child.wait()).await;
        let status = ended.unwrap_or_else(|_| panic!("{} does not end", self.package));
        assert!(status.unwrap().success(), "{}", self.package);
    }
}

/// The events of a package that are visible.
async fn stored(client: &Client, package: &str) -> Vec<Value> {
    let path = format!("/events/query?userId={package}&limit=1000");
    client.get_when_back(&path).await.json().as_array().unwrap().clone()
}

/// The anonymous ids of the profile of a package; none where it has none.
async fn linked(client: &Client, package: &str) -> BTreeSet<String> {
    let found = client.get_when_back(&format!("/users/search?query={package}")).await.json();
    let profiles = found["data"].as_array().unwrap();
    let profiles = profiles.iter().filter(|it| it["externalId"] == package).count();
    assert!(profiles < 2, "{package} has two profiles: {found}");
    if profiles == 0 {
        return BTreeSet::new();
    }
    let ids = client.get_when_back(&format!("/users/{package}/identities")).await.json();
    let anonymous = ids["data"].as_array().unwrap().iter().filter(|it| it["type"] == "anonymous");
    anonymous.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until so many events of each package are visible, or more.
async fn arrived(client: &Client, scripts: &[Script], count: usize) {
    for script in scripts {
        within(END_MAX, &format!("the events of {} arrive", script.package), || async {
            (stored(client, script.package).await.len() >= count).then_some(())
        })
        .await;
    }
}

/// The events that the process has acknowledged.
async fn acknowledged(process: &Process) -> u64 {
    let metrics = Client::new(&process.admin_url, None).get("/metrics", 200).await.text;
    let line = metrics.lines().find(|it| it.starts_with("millrace_ingest_events_accepted_total "));
    line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}

/// A port that the system gives no one by itself, so that it is free again after each kill.
fn port() -> u16 {
    let offset = u16::try_from(std::process::id() % 8_000).unwrap();
    let ports = (20_000 + offset..32_000).chain(20_000..20_000 + offset);
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_that_retry_lose_and_double_no_event_when_the_server_is_killed() {
    let dir = data_dir("packages-killed");
    let environment = [("MILLRACE_LISTEN", format!("127.0.0.1:{}", port()))];
    let (mut process, key) = Process::start(&dir, &environment).await;
    let key = key.unwrap();
    let client = process.client(&key);
    let mut scripts = Vec::new();
    for (package, code) in PACKAGES {
        scripts.extend(Script::start(package, code, &process, &key).await);
    }
    let mut sent = 1;
    for script in &mut scripts {
        script.send(1).await;
    }
    for _ in 0..KILLS {
        // From here on each package is known to send.
        arrived(&client, &scripts, sent).await;
        let before = acknowledged(&process).await;
        for script in &mut scripts {
            script.send(SENDING).await;
        }
        if !scripts.is_empty() {
            eventually("some events are acknowledged", || async {
                (acknowledged(&process).await >= before + ACKNOWLEDGED).then_some(())
            })
            .await;
        }
        process.kill();
        for script in &mut scripts {
            script.send(AWAY).await;
        }
        process = Process::start(&dir, &environment).await.0;
        sent += SENDING + AWAY;
    }
    let packages: Vec<&str> = scripts.iter().map(|script| script.package).collect();
    for script in scripts {
        script.end().await;
    }
    for package in packages {
        arrived_once(&client, package, sent).await;
    }
}

/// Waits for all events and links of a package, each of which is there once.
async fn arrived_once(client: &Client, package: &str, sent: usize) {
    let what = format!("the events of {package} are visible");
    let events = within(END_MAX, &what, || async {
        let events = stored(client, package).await;
        (events.len() >= sent).then_some(events)
    })
    .await;
    let numbers: BTreeSet<u64> =
        events.iter().map(|event| properties(event)["n"].as_u64().unwrap()).collect();
    assert_eq!((events.len(), numbers.len()), (sent, sent), "{package}");
    let ids: BTreeSet<&str> =
        events.iter().map(|event| event["event_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), sent, "{package}");
    let anonymous: BTreeSet<String> = (0..LINES).map(|line| format!("{package}-{line}")).collect();
    within(END_MAX, &format!("the links of {package} are made"), || async {
        (linked(client, package).await == anonymous).then_some(())
    })
    .await;
}
