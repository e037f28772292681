//! The oracle: what was acknowledged is there, exactly once, by the public API and by ClickHouse.
//!
//! Every id of the journal is looked for among all ids an exact reader of ClickHouse sees; counts by event name and
//! samples are then asked of the API, which has to say the same.

#[cfg(test)]
mod tests;
mod verdict;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use tokio::time;
use uuid::Uuid;

pub use verdict::{NameCount, Verdict};

use crate::{
    api::{Api, Question},
    clickhouse::{ClickHouse, Number},
    clock,
    http::Parameter,
    journal::Ledger,
    probe::MARKER_EVENT,
};

/// Ids named in a verdict, per kind.
const NAMED_IDS_MAX: usize = 20;
/// Pause between two looks while something is missing and patience is left.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// How long the event that reveals the workspace may take to land.
const MARKER_PATIENCE: Duration = Duration::from_mins(1);
/// The specification's page size limit of `GET /events/query`.
const QUERY_PAGE_MAX: usize = 1_000;

/// Compares a journal with what is stored.
#[derive(Debug)]
pub struct Oracle {
    api: Api,
    clickhouse: ClickHouse,
    workspace: Uuid,
    samples: u64,
}

impl Oracle {
    /// An oracle for one workspace.
    pub fn new(api: Api, clickhouse: ClickHouse, workspace: Uuid) -> Self {
        Self { api, clickhouse, workspace, samples: 50 }
    }

    /// The same, asking the API for this many acknowledged events one by one.
    #[must_use]
    pub fn with_samples(mut self, samples: u64) -> Self {
        self.samples = samples;
        self
    }

    /// An oracle for the workspace of the API's key, found out by sending one marker event.
    ///
    /// # Errors
    /// The marker is refused, or does not land within a minute.
    pub async fn of_key(mut api: Api, mut clickhouse: ClickHouse) -> Result<Self> {
        let id = format!("loadtest-marker-{}", Uuid::new_v4());
        let event = serde_json::json!({
            "userId": "loadtest-verify", "eventName": MARKER_EVENT, "clientEventId": id,
            "timestamp": clock::rfc3339(clock::now_ms()),
        });
        let answer = api.track(Bytes::from(event.to_string())).await?;
        ensure!(answer.status == 200, "the marker event was answered {}", answer.status);
        let deadline = Instant::now() + MARKER_PATIENCE;
        while Instant::now() < deadline {
            let query = include_str!("../sql/workspace_of_marker.sql");
            let rows: Vec<(Uuid,)> = clickhouse.rows(query, &[Parameter::new("id", &id)]).await?;
            if let Some((workspace,)) = rows.first() {
                return Ok(Self::new(api, clickhouse, *workspace));
            }
            time::sleep(LOOK_PAUSE).await;
        }
        anyhow::bail!(
            "a marker event was acknowledged and did not land in {} s",
            MARKER_PATIENCE.as_secs()
        )
    }

    /// The workspace looked at.
    pub fn workspace(&self) -> Uuid {
        self.workspace
    }

    /// Compares, looking again for up to `patience` while acknowledged events are missing.
    ///
    /// # Errors
    /// A store or an API that cannot be asked when patience is out; a discrepancy is not an error but in the verdict.
    pub async fn check(&mut self, ledger: &mut Ledger, patience: Duration) -> Result<Verdict> {
        let deadline = Instant::now() + patience;
        self.await_rows(ledger.acknowledged(), deadline).await;
        loop {
            let verdict = self.look(ledger).await;
            let settled = verdict.as_ref().is_ok_and(Verdict::is_clean);
            if settled || Instant::now() >= deadline {
                return verdict;
            }
            time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Waits, as cheaply as can be, until there are as many rows as acknowledged events.
    async fn await_rows(&mut self, wanted: u64, deadline: Instant) {
        let workspace = self.workspace.to_string();
        while Instant::now() < deadline {
            let query = include_str!("../sql/stored_rows.sql");
            let rows =
                self.clickhouse.number(query, &[Parameter::new("workspace", &workspace)]).await;
            if rows.is_ok_and(|rows| rows >= wanted) {
                return;
            }
            time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Compares ClickHouse and the API with the ledger once.
    async fn look(&mut self, ledger: &mut Ledger) -> Result<Verdict> {
        let workspace = self.workspace.to_string();
        let parameters = [Parameter::new("workspace", workspace.as_str())];
        ledger.forget_stored();
        let mut foreign = 0;
        let mut stored = 0;
        let query = include_str!("../sql/stored_ids.sql");
        self.clickhouse
            .for_each_line(query, &parameters, |line| {
                stored += 1;
                foreign += u64::from(!ledger.count_stored(&id_of_row(line)?));
                Ok(())
            })
            .await
            .context("cannot read the stored ids")?;
        let mut verdict = Verdict::of_ledger(ledger, NAMED_IDS_MAX)?;
        verdict.stored = stored;
        verdict.foreign = foreign;
        verdict.rows_on_disk =
            self.clickhouse.number(include_str!("../sql/stored_rows.sql"), &parameters).await?;
        verdict.names = self.count_names(&workspace).await?;
        self.sample(ledger, &workspace, &mut verdict).await?;
        Ok(verdict)
    }

    /// Counts by event name, asked of both.
    async fn count_names(&mut self, workspace: &str) -> Result<Vec<NameCount>> {
        let query = include_str!("../sql/counts_by_name.sql");
        let rows: Vec<(String, Number)> =
            self.clickhouse.rows(query, &[Parameter::new("workspace", workspace)]).await?;
        let mut counts = Vec::with_capacity(rows.len());
        for (name, Number(clickhouse)) in rows {
            let question = Question { event_name: &name, group_by: "month", ..Question::default() };
            let api = self.api.count(&question).await.context("cannot count by the API")?;
            counts.push(NameCount { name, clickhouse, api });
        }
        Ok(counts)
    }

    /// Looks single events up through the API: each has to be in the answer once.
    async fn sample(
        &mut self,
        ledger: &Ledger,
        workspace: &str,
        verdict: &mut Verdict,
    ) -> Result<()> {
        let ids = serde_json::to_string(&ledger.sample(self.samples)?)?;
        let query = include_str!("../sql/rows_of_ids.sql");
        let parameters =
            [Parameter::new("workspace", workspace), Parameter::new("ids", ids.as_str())];
        let rows: Vec<(String, String, String, String)> =
            self.clickhouse.rows(query, &parameters).await?;
        for (id, user, name, second) in rows {
            let seen =
                self.find(&id, &user, &name, &second).await.context("cannot look up by the API")?;
            verdict.sampled += 1;
            if seen != 1 {
                verdict.wrong_samples.push(format!("{id} (seen {seen} times)"));
            }
        }
        Ok(())
    }

    /// How often the API returns an event, by its user, name and second.
    async fn find(&mut self, id: &str, user: &str, name: &str, second: &str) -> Result<usize> {
        let (start, end) = (format!("{second}.000Z"), format!("{second}.999Z"));
        let (mut seen, mut offset) = (0, 0);
        loop {
            let (limit, from) = (QUERY_PAGE_MAX.to_string(), offset.to_string());
            let mut parameters = vec![
                Parameter::new("eventName", name),
                Parameter::new("startDate", &start),
                Parameter::new("endDate", &end),
                Parameter::new("limit", &limit),
                Parameter::new("offset", &from),
            ];
            if !user.is_empty() {
                parameters.push(Parameter::new("userId", user));
            }
            let page = self.api.query(&parameters).await?;
            seen += page.iter().filter(|event| event.event_id == id).count();
            if page.len() < QUERY_PAGE_MAX {
                return Ok(seen);
            }
            offset += page.len();
        }
    }
}

/// The id in a row `["id"]`.
fn id_of_row(line: &[u8]) -> Result<Vec<u8>> {
    let plain = line.strip_prefix(b"[\"").and_then(|rest| rest.strip_suffix(b"\"]"));
    if let Some(id) = plain.filter(|id| !id.contains(&b'\\')) {
        return Ok(id.to_vec());
    }
    let (id,): (String,) = serde_json::from_slice(line).context("a row that is not an id")?;
    Ok(id.into_bytes())
}
