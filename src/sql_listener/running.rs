//! A statement that runs: its place, and what becomes of it.

use std::time::{Duration, Instant};

use analytics::Analytics;
use kernel::KeyId;
use tokio::time::sleep;

use crate::{engine::Session, limits::Slot};

const KILL: &str = include_str!("sql/kill.sql");
const IS_RUNNING: &str = include_str!("sql/is_running.sql");
/// Interval of looks whether a statement that was killed has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long its place is kept for it at most.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Failed,
    /// Its client has gone, or took too long.
    Cancelled,
}

impl Outcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is logged about a statement: nothing of its values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) key: KeyId,
    pub(crate) kind: &'static str,
    pub(crate) fingerprint: u64,
}

/// A statement in ClickHouse. When it is dropped before its end, the statement is killed, and keeps its place until it
/// has ended.
#[derive(Debug)]
pub(crate) struct Running {
    analytics: Analytics,
    session: Session,
    about: About,
    began: Instant,
    /// None once it has ended.
    place: Option<Slot>,
}

impl Running {
    pub(crate) fn new(analytics: Analytics, session: Session, about: About, place: Slot) -> Self {
        Self { analytics, session, about, began: Instant::now(), place: Some(place) }
    }

    /// Records its end, and frees its place.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if self.place.take().is_some() {
            self.note(outcome);
        }
    }

    fn note(&self, outcome: Outcome) {
        let seconds = self.began.elapsed().as_secs_f64();
        metrics_catalogue::SQL_STATEMENTS.with([outcome.name()]).increment(1);
        metrics_catalogue::SQL_STATEMENT_SECONDS.record(seconds);
        let About { key, kind, fingerprint } = self.about;
        tracing::info!(
            %key,
            workspace = %self.session.workspace,
            statement = %self.session.statement,
            kind,
            fingerprint = format_args!("{fingerprint:016x}"),
            seconds,
            outcome = outcome.name(),
            "a statement in SQL"
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        self.note(Outcome::Cancelled);
        let (analytics, mark) = (self.analytics.clone(), self.session.mark());
        // There is no runtime when the process ends, and then no engine either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let ended = tokio::time::timeout(ENDS_WITHIN, kill(&analytics, &mark)).await;
                if !matches!(ended, Ok(Ok(()))) {
                    tracing::warn!(mark, "a statement in SQL that was killed may still run");
                }
                drop(place);
            });
        }
    }
}

/// Asks ClickHouse to stop the statement with this mark.
pub(crate) async fn kill_once(
    analytics: &Analytics,
    mark: &str,
) -> Result<(), clickhouse::error::Error> {
    analytics.client().query_raw(KILL).param("mark", mark).execute().await
}

/// Kills a statement and waits for its end. It may not have begun when it is killed first.
async fn kill(analytics: &Analytics, mark: &str) -> Result<(), clickhouse::error::Error> {
    loop {
        kill_once(analytics, mark).await?;
        sleep(LOOK_EVERY).await;
        let running: u64 =
            analytics.client().query_raw(IS_RUNNING).param("mark", mark).fetch_one().await?;
        if running == 0 {
            return Ok(());
        }
    }
}
