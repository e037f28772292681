//! Bounces in the SMTP dialogue, and their effect on consent.

use std::sync::Arc;

use kernel::{Clock, ClockHand, Timestamp, WorkspaceId};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    clocked::SECOND,
    fixture::{call, internal, until},
};
use crate::kit::{
    Client, MailServer, TestServer, WhileUsed, data_dir, eventually, run, settings, unique,
};

/// How often a mail server is asked.
const ATTEMPTS: usize = 6;

/// A server whose mails go to a mail server that answers by the recipient's name.
struct Shared {
    server: TestServer,
    hand: ClockHand,
    turn: Arc<Mutex<()>>,
}

/// A mail server for as long as the process lives.
fn mail_server() -> MailServer {
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            send.send(MailServer::start().await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receive.recv().unwrap()
}

fn start() -> Shared {
    let (clock, hand) = Clock::fixed(Timestamp::parse("2031-03-03T00:00:00Z").unwrap());
    let settings = settings(
        &data_dir(&unique("bounces")),
        &[
            ("channels.email.provider", "smtp".to_owned()),
            ("channels.email.url", format!("smtp://{}", mail_server().address)),
            ("channels.email.from", "Shop <hello@example.test>".to_owned()),
        ],
    );
    Shared { server: run(settings, clock), hand, turn: Arc::default() }
}

/// A test's turn with the clock, in a workspace of its own.
struct Timed {
    api: Client,
    workspace: WorkspaceId,
    shared: Arc<Shared>,
    _turn: OwnedMutexGuard<()>,
}

async fn turn() -> Timed {
    static SHARED: WhileUsed<Shared> = WhileUsed::new();
    // Its start blocks.
    let shared = SHARED.get(async || tokio::task::spawn_blocking(start).await.unwrap()).await;
    let turn = Arc::clone(&shared.turn).lock_owned().await;
    let (token, workspace) = shared.server.key(&unique("bounces"), "*").await;
    let api = Client::new(&shared.server.url, Some(&token));
    Timed { api, workspace, shared, _turn: turn }
}

impl Timed {
    /// Waits until a message waits to be tried again after so many times, and then until it is due.
    async fn again(&self, tried: usize) {
        let queued = "select id from message
                      where workspace_id = $1 and status = 'queued' and attempts = $2";
        eventually("it waits to be tried again", async || {
            let (db, workspace) = (self.shared.server.db(), self.workspace.uuid());
            let work = async move {
                sqlx::query(queued)
                    .bind(workspace)
                    .bind(i16::try_from(tried).unwrap())
                    .execute(&db)
                    .await
            };
            (self.shared.server.on(work).await.unwrap().rows_affected() == 1).then_some(())
        })
        .await;
        // A second, twice as long each time, and up to a quarter of that.
        self.shared.hand.advance_ms((5 * SECOND / 4) << (tried - 1));
    }
}

/// A profile whose mailbox answers so, and its address.
async fn person(api: &Client, mailbox: &str) -> (String, String) {
    let external = unique("mailbox");
    let email = format!("{mailbox}+{external}@example.test");
    api.post("/users", &json!({"externalId": external, "email": email}), 201).await;
    (external, email)
}

/// A campaign to one profile.
async fn sent(api: &Client, external: &str) -> String {
    let body = json!({
        "name": external, "channel": "email", "targeting": {"userIds": [external]},
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": {"subject": "Hello",
            "html": "<p>Hello <a href=\"{{ unsubscribe_url }}\">out</a></p>"}}],
    });
    let made = api.post("/campaigns", &body, 201).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    call(api, &id, "send").await;
    id
}

/// What happened to the message of a campaign, each by its kind and code, once the last of it is of this kind.
async fn timeline_until(api: &Client, (id, user): (&str, &str), last: &str) -> Vec<String> {
    eventually(&format!("the timeline has {last}"), async || {
        let path = format!("/campaigns/{id}/recipients/{user}");
        let answer = api.request(reqwest::Method::GET, &path).send().await.unwrap();
        // A profile is a recipient once an event of it is recorded.
        let timeline: Value = answer.json().await.unwrap();
        let events = timeline["messages"][0]["events"].as_array()?.clone();
        let line = |event: &Value| {
            let metadata = &event["metadata"];
            let words = [&event["type"], &metadata["type"], &metadata["code"]];
            let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
            words.join(" ")
        };
        let lines: Vec<String> = events.iter().map(line).collect();
        lines.iter().any(|line| line.starts_with(last)).then_some(lines)
    })
    .await
}

/// Consent of a profile to email, once its mailbox has bounced so often.
async fn bounced(api: &Client, external: &str, count: usize) -> Value {
    let id = internal(api, external).await;
    eventually("consent knows of it", async || {
        let contact = api.get(format!("/subscriptions/contacts/{id}"), 200).await.json();
        let email = contact["channels"]["email"].clone();
        (email["bounceCount"] == count).then_some(email)
    })
    .await
}

/// Whether an address is suppressed, and why.
async fn suppressed(api: &Client, email: &str) -> Value {
    let path = format!("/suppressions/{}?channel=email", email.replace('+', "%2B"));
    api.get(path, 200).await.json()
}

/// Holds that a mailbox is full against what is known of it, and that its owner can still be written to.
async fn is_soft(api: &Client, (external, email): (&str, &str)) {
    let consent = bounced(api, external, 1).await;
    let known = (&consent["bounceType"], &consent["isValid"]);
    assert_eq!(known, (&json!("soft"), &json!(true)), "{consent}");
    assert_eq!(suppressed(api, email).await["suppressed"], false);
    let id = internal(api, external).await;
    let history =
        api.get(format!("/subscriptions/contacts/{id}/history"), 200).await.json()["items"].clone();
    assert_eq!(history[0]["action"], "soft_bounce", "{history}");
    assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_is_a_soft_bounce() {
    let turn = turn().await;
    let api = &turn.api;
    let (external, email) = person(api, "full").await;
    let id = sent(api, &external).await;
    until(api, &id, "completed").await;
    let events = timeline_until(api, (&id, &external), "bounced").await;
    assert!(events.contains(&"bounced soft 5.2.2".to_owned()), "{events:?}");
    is_soft(api, (&external, &email)).await;
    // It is not asked again, and the next campaign goes there.
    let again = sent(api, &external).await;
    until(api, &again, "completed").await;
    assert_eq!(bounced(api, &external, 2).await["bounceType"], "soft");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_that_stays_full_soft_bounces_after_the_last_attempt() {
    let turn = turn().await;
    let api = &turn.api;
    let (external, email) = person(api, "brimming").await;
    let id = sent(api, &external).await;
    for tried in 1..ATTEMPTS {
        turn.again(tried).await;
    }
    until(api, &id, "completed").await;
    let events = timeline_until(api, (&id, &external), "bounced").await;
    assert!(events.contains(&"bounced soft 4.2.2".to_owned()), "{events:?}");
    is_soft(api, (&external, &email)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_mailbox_is_a_hard_bounce() {
    let turn = turn().await;
    let api = &turn.api;
    let (external, email) = person(api, "unknown").await;
    let id = sent(api, &external).await;
    until(api, &id, "completed").await;
    let events = timeline_until(api, (&id, &external), "bounced").await;
    assert!(events.contains(&"bounced hard 5.1.1".to_owned()), "{events:?}");
    let consent = bounced(api, &external, 1).await;
    let known = (&consent["bounceType"], &consent["isValid"]);
    assert_eq!(known, (&json!("hard"), &json!(false)), "{consent}");
    let row = suppressed(api, &email).await;
    let known = (&row["suppressed"], &row["reason"], &row["source"]);
    assert_eq!(known, (&json!(true), &json!("hard_bounce"), &json!("delivery")), "{row}");
}
