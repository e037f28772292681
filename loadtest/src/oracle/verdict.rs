//! What the oracle found.

use anyhow::Result;
use serde::Serialize;

use crate::{
    journal::{Known, Ledger},
    report::{self, Report, Table},
};

/// The comparison of a journal with what is stored.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Ids the server acknowledged.
    pub acknowledged: u64,
    /// Of these, stored exactly once.
    pub exactly_once: u64,
    /// Of these, not stored.
    pub missing: u64,
    /// Ids of the journal stored more than once, acknowledged or not.
    pub doubled: u64,
    /// Stored though their acknowledgement never came, which is allowed.
    pub unacknowledged_stored: u64,
    /// Stored though the server refused them.
    pub refused_stored: u64,
    /// Stored events of the workspace the journal knows nothing of.
    pub foreign: u64,
    /// Events an exact reader sees in the workspace.
    pub stored: u64,
    /// Rows on disk, repeats that are not yet merged away included.
    pub rows_on_disk: u64,
    /// Some of the missing ids.
    pub missing_ids: Vec<String>,
    /// Some of the doubled ids.
    pub doubled_ids: Vec<String>,
    /// Some of the ids stored although refused.
    pub refused_stored_ids: Vec<String>,
    /// Counts by event name.
    pub names: Vec<NameCount>,
    /// Events looked up one by one through the API.
    pub sampled: u64,
    /// Those not found exactly once.
    pub wrong_samples: Vec<String>,
}

/// One event name, counted twice.
#[derive(Debug, Serialize)]
pub struct NameCount {
    pub name: String,
    pub clickhouse: u64,
    pub api: u64,
}

impl Verdict {
    /// The part that follows from the journal and the stored ids, naming up to `limit` ids of each kind.
    pub(super) fn of_ledger(ledger: &Ledger, limit: usize) -> Result<Self> {
        let count = |wanted: fn(Known) -> bool| {
            ledger.known().filter(|known| wanted(**known)).count() as u64
        };
        let mut verdict = Self {
            acknowledged: ledger.acknowledged(),
            exactly_once: count(|known| known.acknowledged && known.stored == 1),
            missing: count(is_missing),
            doubled: count(is_doubled),
            unacknowledged_stored: count(|known| {
                !known.acknowledged && !known.refused && known.stored > 0
            }),
            refused_stored: count(is_refused_stored),
            ..Self::default()
        };
        // Naming reads the journal again, which is only worth it when there is something to name.
        let name = |count: u64, wanted: fn(Known) -> bool| match count {
            0 => Ok(Vec::new()),
            _ => ledger.name(limit, wanted),
        };
        verdict.missing_ids = name(verdict.missing, is_missing)?;
        verdict.doubled_ids = name(verdict.doubled, is_doubled)?;
        verdict.refused_stored_ids = name(verdict.refused_stored, is_refused_stored)?;
        Ok(verdict)
    }

    /// Nothing missing, nothing twice, and the API says what ClickHouse says.
    pub fn is_clean(&self) -> bool {
        self.missing == 0
            && self.doubled == 0
            && self.refused_stored == 0
            && self.wrong_samples.is_empty()
            && self.names.iter().all(|name| name.clickhouse == name.api)
    }
}

fn is_missing(known: Known) -> bool {
    known.acknowledged && known.stored == 0
}

fn is_doubled(known: Known) -> bool {
    known.stored > 1
}

fn is_refused_stored(known: Known) -> bool {
    known.refused && !known.acknowledged && known.stored > 0
}

impl Report for Verdict {
    fn tables(&self) -> Vec<Table> {
        let verdict = if self.is_clean() { "exactly once" } else { "NOT exactly once" };
        let mut main = Table::pairs(&format!("Verdict: {verdict}"));
        for (label, count) in [
            ("acknowledged", self.acknowledged),
            ("of these stored exactly once", self.exactly_once),
            ("of these missing", self.missing),
            ("stored more than once", self.doubled),
            ("stored although refused", self.refused_stored),
            ("stored without an acknowledgement (allowed)", self.unacknowledged_stored),
            ("not of this journal", self.foreign),
            ("events in the workspace", self.stored),
            ("rows on disk before merging", self.rows_on_disk),
            ("looked up through the API", self.sampled),
        ] {
            main.pair(label, report::grouped(count));
        }
        for (label, ids) in [
            ("missing", &self.missing_ids),
            ("doubled", &self.doubled_ids),
            ("refused but stored", &self.refused_stored_ids),
            ("wrong in the API", &self.wrong_samples),
        ] {
            for id in ids {
                main.pair(label, id);
            }
        }
        let mut names =
            Table::new("Counts by event name", &["event name", "ClickHouse", "API", ""]);
        for count in &self.names {
            let mark = if count.clickhouse == count.api { "" } else { "DIFFERENT" };
            names.row(vec![
                count.name.clone(),
                report::grouped(count.clickhouse),
                report::grouped(count.api),
                mark.to_owned(),
            ]);
        }
        vec![main, names]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journal, Mark};

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn missing_and_doubled_events_are_named_and_unacknowledged_ones_may_be_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        journal.record_ids(Mark::Sent, &ids(&["ok", "gone", "twice", "unsure", "bad"])).unwrap();
        journal.record_ids(Mark::Acknowledged, &ids(&["ok", "gone", "twice"])).unwrap();
        journal.record_ids(Mark::Refused, &ids(&["bad"])).unwrap();
        let mut ledger = Ledger::read(&path).unwrap();
        for id in ["ok", "twice", "twice", "unsure"] {
            assert!(ledger.count_stored(id.as_bytes()));
        }
        let verdict = Verdict::of_ledger(&ledger, 10).unwrap();
        assert!(!verdict.is_clean());
        assert_eq!((verdict.acknowledged, verdict.exactly_once), (3, 1));
        assert_eq!(
            (&verdict.missing_ids[..], &verdict.doubled_ids[..]),
            (&ids(&["gone"])[..], &ids(&["twice"])[..])
        );
        assert_eq!((verdict.unacknowledged_stored, verdict.refused_stored), (1, 0));

        ledger.forget_stored();
        for id in ["ok", "gone", "twice"] {
            ledger.count_stored(id.as_bytes());
        }
        assert!(Verdict::of_ledger(&ledger, 10).unwrap().is_clean());
        ledger.count_stored(b"bad");
        assert!(!Verdict::of_ledger(&ledger, 10).unwrap().is_clean());
    }

    #[test]
    fn a_count_on_which_api_and_store_differ_is_not_clean() {
        let count = |api| NameCount { name: "X".to_owned(), clickhouse: 2, api };
        assert!(Verdict { names: vec![count(2)], ..Verdict::default() }.is_clean());
        assert!(!Verdict { names: vec![count(3)], ..Verdict::default() }.is_clean());
    }
}
