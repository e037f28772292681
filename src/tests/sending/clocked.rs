//! A server of this process whose clock stands still until a test moves it. Tests have it one after the
//! other, each with a workspace of its own, and leave nothing behind that would send.

use std::sync::Arc;

use config::Cap;
use kernel::{Clock, ClockHand, Timestamp, WorkspaceId};
use serde_json::json;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::fixture::{Cohort, Log, gateway, until};
use crate::kit::{Client, TestServer, WhileUsed, data_dir, eventually, run, settings, unique};

/// Milliseconds of a second.
pub(super) const SECOND: i64 = 1_000;
/// Milliseconds of a minute.
pub(super) const MINUTE: i64 = 60 * SECOND;
/// Milliseconds of an hour.
pub(super) const HOUR: i64 = 60 * MINUTE;
/// Milliseconds of a day.
pub(super) const DAY: i64 = 24 * HOUR;
/// When the clock begins.
const BEGIN: &str = "2031-03-03T00:00:00Z";

/// The server, its gateway and the hand of its clock.
struct Shared {
    server: TestServer,
    log: Log,
    clock: Clock,
    hand: ClockHand,
    turn: Arc<Mutex<()>>,
}

fn start() -> Shared {
    let (url, log) = gateway();
    let (clock, hand) = Clock::fixed(Timestamp::parse(BEGIN).unwrap());
    let mut settings = settings(
        &data_dir(&unique("clocked")),
        &[
            ("channels.email.provider", "http".to_owned()),
            ("channels.email.url", format!("{url}/email")),
            ("channels.sms.provider", "http".to_owned()),
            ("channels.sms.url", format!("{url}/sms")),
            // Two at a time.
            ("channels.push.provider", "http".to_owned()),
            ("channels.push.url", format!("{url}/push")),
            ("channels.push.connections", "2".to_owned()),
        ],
    );
    // And one to each in a day.
    settings.delivery.caps.insert("push".to_owned(), Cap { max: 1, hours: 24 });
    // However far time jumps, no process is declared dead while it claims messages.
    settings.delivery.lease_seconds = 30 * 24 * 3_600;
    let server = run(settings, clock.clone());
    Shared { server, log, clock, hand, turn: Arc::default() }
}

/// A test's turn with the clock.
pub(super) struct Clocked {
    pub(super) api: Client,
    pub(super) log: Log,
    workspace: WorkspaceId,
    shared: Arc<Shared>,
    _turn: OwnedMutexGuard<()>,
}

/// Waits for the turn of this test, and gives it a workspace.
pub(super) async fn clocked() -> Clocked {
    static SHARED: WhileUsed<Shared> = WhileUsed::new();
    // Its start blocks.
    let shared = SHARED.get(async || tokio::task::spawn_blocking(start).await.unwrap()).await;
    let turn = Arc::clone(&shared.turn).lock_owned().await;
    let (token, workspace) = shared.server.key(&unique("clocked"), "*").await;
    let api = Client::new(&shared.server.url, Some(&token));
    Clocked { api, log: shared.log.clone(), workspace, shared, _turn: turn }
}

impl Clocked {
    pub(super) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Lets so much time pass.
    pub(super) async fn pass(&self, ms: i64) {
        self.await_in_flight().await;
        self.shared.hand.advance_ms(ms);
    }

    /// Advances to a moment, which must be ahead.
    pub(super) async fn advance_to(&self, at: Timestamp) {
        assert!(at >= self.now(), "time does not go back");
        self.await_in_flight().await;
        self.shared.hand.set(at);
    }

    /// Waits until nothing is in flight: after a jump of time its events would be recorded at the wrong time.
    pub(super) async fn await_in_flight(&self) {
        eventually("nothing is in flight", async || {
            let sql =
                "select id from message where workspace_id = $1 and status = 'sending' limit 1";
            (self.sql(sql).await == 0).then_some(())
        })
        .await;
    }

    /// Waits until nothing that is due by now waits any more, and nothing is in flight.
    pub(super) async fn drain(&self) {
        let due = "select id from message
                   where workspace_id = $1 and (status = 'sending' or status = 'queued' and due_at <= $2)
                   limit 1";
        eventually("nothing is due", async || {
            let (db, workspace, now) =
                (self.shared.server.db(), self.workspace.uuid(), self.now().utc());
            let work = async move { sqlx::query(due).bind(workspace).bind(now).execute(&db).await };
            (self.shared.server.on(work).await.unwrap().rows_affected() == 0).then_some(())
        })
        .await;
    }

    /// The next moment at which a day has lasted so long, UTC.
    pub(super) fn next(&self, ms_of_day: i64) -> Timestamp {
        let now = self.now().millis();
        let today = now - now.rem_euclid(DAY) + ms_of_day;
        Timestamp::from_millis(if today > now { today } else { today + DAY })
    }

    /// Waits until messages that were due by now have been looked at: until others that were made due after
    /// them have left, and others after those.
    pub(super) async fn process_due(&self) {
        for _ in 0..2 {
            let id = unique("glance");
            let body = json!({"externalId": id, "email": format!("{id}@example.test")});
            self.api.post("/users", &body, 201).await;
            let message = json!({"subject": "Now", "html": "<p>Now</p>"});
            let body = json!({"userId": id, "channel": "email", "message": message});
            self.api.post("/campaigns/transactional/send", &body, 200).await;
            let is_there = || self.log.of("").iter().any(|call| call.external_id == id);
            eventually("a message leaves", async || is_there().then_some(())).await;
        }
    }

    /// Waits until campaigns that were due by now have been looked at, likewise.
    pub(super) async fn settle(&self) {
        let one = Cohort::new(&self.api, 1, "probe").await;
        let id = one.send(&self.api, &json!({})).await;
        until(&self.api, &id, "completed").await;
    }

    /// Asks or does to the database what no caller can; answers of how many rows. `$1` is the workspace.
    pub(super) async fn sql(&self, statement: &'static str) -> u64 {
        let (db, workspace) = (self.shared.server.db(), self.workspace.uuid());
        let work = async move { sqlx::query(statement).bind(workspace).execute(&db).await };
        self.shared.server.on(work).await.unwrap().rows_affected()
    }
}
