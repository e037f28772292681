//! A statement that runs: its place, and what becomes of it.

use std::time::{Duration, Instant};

use analytics::{Analytics, until_ended};
use kernel::KeyId;
use tokio::time::timeout;

use crate::{engine::Session, limits::Slot};

const KILL: &str = include_str!("sql/kill.sql");
/// How long a statement may take to end once it was given up, until it is logged.
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
        let Some(mut place) = self.place.take() else { return };
        self.note(Outcome::Cancelled);
        place.gave_up();
        let (analytics, session) = (self.analytics.clone(), self.session);
        // There is no runtime when the process ends, and then no engine either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                until_all_ended(&analytics, session).await;
                drop(place);
            });
        }
    }
}

/// Waits until the engine runs nothing more for a statement, however long that takes: some functions look at neither
/// their time nor a kill, and what they take of the machine is theirs until they end.
async fn until_all_ended(analytics: &Analytics, session: Session) {
    let all = async {
        for id in session.query_ids() {
            until_ended(analytics.client(), &id).await;
        }
    };
    let mut all = std::pin::pin!(all);
    if timeout(ENDS_WITHIN, &mut all).await.is_err() {
        let (workspace, mark) = (session.workspace, session.mark());
        tracing::warn!(%workspace, mark, "a statement in SQL that was killed still runs, and keeps its place");
        all.await;
        tracing::info!(%workspace, mark, "a statement in SQL that was killed has ended");
    }
}

/// Asks ClickHouse to stop the statement with this mark.
pub(crate) async fn kill_once(
    analytics: &Analytics,
    mark: &str,
) -> Result<(), clickhouse::error::Error> {
    analytics.client().query_raw(KILL).param("mark", mark).execute().await
}
