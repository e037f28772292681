//! Whose outcomes are asked about, and the part of each question that judges them.

use clickhouse::query::Query;
use uuid::Uuid;

use crate::{Analytics, client, events::Range};

const JUDGED: &str = include_str!("../sql/message_judged.sql");
const IN_RANGE: &str = include_str!("../sql/message_in_range.sql");
const STATUS: &str = include_str!("../sql/message_status.sql");
/// Longest statement, in bytes: what the embedded ClickHouse takes.
const STATEMENT_BYTES_MAX: usize = 1024 * 1024;

/// Messages of one campaign, of all time or of those that left in a range of it.
#[derive(Debug, Clone, Copy)]
pub struct Cohort<'a> {
    /// The workspace.
    pub workspace: Uuid,
    /// The campaign.
    pub campaign: Uuid,
    /// Its variants: answers name them by their place here, counted from 1; 0 is any other.
    pub variants: &'a [String],
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
}

impl Cohort<'_> {
    /// Whether only a range of time is asked about.
    pub(super) fn is_ranged(&self) -> bool {
        self.start_ms.is_some() || self.end_ms.is_some()
    }

    /// A question about these messages. `None` where nothing can match.
    pub(super) fn ask(&self, analytics: &Analytics, sql: &str) -> Option<Query> {
        self.ask_further(analytics, sql, "")
    }

    /// Likewise, with a further condition on the rows that are judged.
    pub(super) fn ask_further(
        &self,
        analytics: &Analytics,
        sql: &str,
        condition: &str,
    ) -> Option<Query> {
        let range = Range::new(self.start_ms, self.end_ms)?;
        let in_range = if self.is_ranged() { IN_RANGE } else { "" };
        let query = judge(analytics, sql, &format!("{in_range}\n{condition}"));
        let query = query
            .param("workspace", self.workspace.to_string())
            .param("campaign", self.campaign.to_string())
            .param("campaigns", [self.campaign.to_string()].as_slice())
            .param("variants", self.variants);
        if !self.is_ranged() {
            return Some(query);
        }
        Some(query.param("start_ms", range.start_ms).param("end_ms", range.end_ms))
    }
}

/// A question with its holes filled: what judges messages, and which.
pub(super) fn judge(analytics: &Analytics, sql: &str, conditions: &str) -> Query {
    let judged = JUDGED.replace("$and_judged$", conditions);
    let sql = sql.replace("$status$", STATUS).replace("$judged$", &judged);
    client::read(&analytics.client, &sql)
        .with_setting("max_query_size", STATEMENT_BYTES_MAX.to_string())
}
