//! Cohorts of messages, and the part of each query that determines their outcomes.

use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError, events::Range, reads::Read};

const OUTCOMES: &str = include_str!("../sql/message_final.sql");
const IN_RANGE: &str = include_str!("../sql/message_in_range.sql");
const OF_TRIAL: &str = include_str!("../sql/message_of_trial.sql");
const AMONG: &str = include_str!("../sql/message_among.sql");
const STATUS: &str = include_str!("../sql/message_status.sql");
const SEEN: &str = include_str!("../sql/message_seen.sql");
const PARTS: &str = include_str!("../sql/message_parts.sql");
/// Longest statement, in bytes: what the embedded ClickHouse takes.
const STATEMENT_BYTES_MAX: usize = 1024 * 1024;

/// Bits of the column `happened`: the events of a message. They are listed in migration `0007_message_outcomes.sql`.
pub(super) mod happened {
    /// Held back as the control group.
    pub(in super::super) const CONTROL: u32 = 2;
    /// Accepted by the provider.
    const SENT: u32 = 4;
    /// Reported as delivered by the provider.
    pub(in super::super) const DELIVERED: u32 = 8;
    /// Opened by the recipient.
    pub(in super::super) const OPENED: u32 = 16;
    /// Clicked by the recipient.
    pub(in super::super) const CLICKED: u32 = 32;
    /// Opened by a machine.
    pub(in super::super) const MACHINE_OPENED: u32 = 64;
    /// Clicked by a machine.
    pub(in super::super) const MACHINE_CLICKED: u32 = 128;
    /// Reported as spam by the recipient.
    pub(in super::super) const COMPLAINED: u32 = 256;
    /// Unsubscribed by the recipient.
    pub(in super::super) const UNSUBSCRIBED: u32 = 512;
    /// Bounced after the provider had accepted it.
    pub(in super::super) const BOUNCED: u32 = 1024;
    /// Refused by the provider.
    pub(in super::super) const FAILED: u32 = 2048;
    /// Of unknown outcome: the process died during the send.
    pub(in super::super) const UNKNOWN: u32 = 4096;
    /// Skipped by a rule.
    pub(in super::super) const SKIPPED: u32 = 8192;
    /// Cancelled with its campaign.
    pub(in super::super) const CANCELLED: u32 = 16_384;
    /// Events of an opened message: a click implies an open.
    pub(in super::super) const ENGAGED: u32 = OPENED | CLICKED;
    /// Events of a delivered message: an open implies a delivery.
    const ANY_DELIVERED: u32 = DELIVERED | ENGAGED;
    /// Events of a sent message: a delivery implies the send.
    const ANY_SENT: u32 = SENT | ANY_DELIVERED;
    /// Events of a failed message.
    const ANY_FAILED: u32 = FAILED | UNKNOWN;
    /// Reports that imply a send without a time of it.
    const IMPLIES_SENT: u32 = BOUNCED | COMPLAINED;
    /// Events at the time of the send, or of the drawing of the control group.
    const SPAN: u32 = CONTROL | SENT | DELIVERED;

    /// The bits as parameters of the SQL files.
    pub(in super::super) const PARAMETERS: [(&str, u32); 14] = [
        ("control", CONTROL),
        ("delivered", DELIVERED),
        ("clicked", CLICKED),
        ("complained", COMPLAINED),
        ("unsubscribed", UNSUBSCRIBED),
        ("bounced", BOUNCED),
        ("unknown", UNKNOWN),
        ("skipped", SKIPPED),
        ("cancelled", CANCELLED),
        ("engaged", ENGAGED),
        ("any_delivered", ANY_DELIVERED),
        ("any_sent", ANY_SENT),
        ("any_failed", ANY_FAILED),
        ("implies_sent", IMPLIES_SENT),
    ];

    /// The bits of [`SPAN`] and [`UNKNOWN`] as parameters of `message_spans.sql`.
    pub(in super::super) const SPAN_PARAMETERS: [(&str, u32); 2] =
        [("span", SPAN), ("unknown", UNKNOWN)];
}

/// A filter by events ([`happened`]), applied before the rows of a message are merged, so that the cost depends on the
/// matching messages only.
#[derive(Debug, Clone, Copy)]
pub(super) enum Among<'a> {
    /// All messages of the cohort.
    All,
    /// Those that a statement of its own selects.
    These(&'a str),
    /// Messages to which any of this happened.
    Messages(u32),
    /// All messages of people to one of whose any of this happened.
    People(u32),
}

impl Among<'_> {
    /// The condition, and the bits it asks for.
    fn condition(self) -> (String, u32) {
        match self {
            Self::All => (String::new(), 0),
            Self::These(prewhere) => (prewhere.to_owned(), 0),
            Self::Messages(any) => (AMONG.replace("$key$", "message_id"), any),
            Self::People(any) => (AMONG.replace("$key$", "user_id"), any),
        }
    }
}

/// Messages of an A/B test, or those sent to the rest of the audience after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialFilter {
    /// Only messages of occurrences after this one.
    pub after_occurrence: u32,
    /// When the test ended, in milliseconds since 1970, UTC; none while it runs.
    pub concluded_ms: Option<i64>,
    /// Messages that left or failed until the end of the test; else those after it.
    pub is_trial: bool,
}

/// Messages of one campaign, of all time or of those that left in a range of it.
#[derive(Debug, Clone, Copy)]
pub struct Cohort<'a> {
    /// Workspace of the campaign.
    pub workspace: Uuid,
    /// Campaign whose messages are counted.
    pub campaign: Uuid,
    /// Its variants: answers name them by their place here, counted from 1; 0 is any other.
    pub variants: &'a [String],
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// Only the messages of an A/B test, or of its roll-out.
    pub trial: Option<TrialFilter>,
}

impl Cohort<'_> {
    /// Whether only some messages of the campaign are asked about, by their times.
    pub(super) fn is_ranged(&self) -> bool {
        self.start_ms.is_some() || self.end_ms.is_some() || self.trial.is_some()
    }

    /// Whether messages of all time are asked about that lie in several parts, so that their rows have to be put
    /// together.
    pub(super) async fn is_scattered(&self, analytics: &Analytics) -> Result<bool, AnalyticsError> {
        if self.is_ranged() {
            return Ok(false);
        }
        let parts: u64 = client::read(analytics, PARTS)
            .param("workspace", self.workspace.to_string())
            .param("campaign", self.campaign.to_string())
            .fetch_one()
            .await?;
        Ok(parts > 1)
    }

    /// A question about messages of these that were opened or clicked in. It must leave out itself to which nothing
    /// of `any` happened: they are left out beforehand only where that is less work.
    pub(super) async fn ask_seen(
        &self,
        analytics: &Analytics,
        sql: &str,
        any: u32,
    ) -> Result<Option<Read>, AnalyticsError> {
        if self.is_scattered(analytics).await? {
            return Ok(self.ask(analytics, &sql.replace("$outcomes$", SEEN), Among::All));
        }
        Ok(self.ask(analytics, sql, Among::Messages(any)))
    }

    /// A question about these messages. `None` where nothing can match.
    pub(super) fn ask(&self, analytics: &Analytics, sql: &str, among: Among<'_>) -> Option<Read> {
        self.ask_further(analytics, sql, "", among)
    }

    /// Likewise, with a further condition on the rows that are read.
    pub(super) fn ask_further(
        &self,
        analytics: &Analytics,
        sql: &str,
        condition: &str,
        among: Among<'_>,
    ) -> Option<Read> {
        let range = Range::new(self.start_ms, self.end_ms)?;
        let in_range = if self.start_ms.is_some() || self.end_ms.is_some() { IN_RANGE } else { "" };
        let of_trial = if self.trial.is_some() { OF_TRIAL } else { "" };
        let conditions = format!("{in_range}\n{of_trial}\n{condition}");
        let query = ask_outcomes(analytics, sql, &conditions, among);
        let query = query
            .param("workspace", self.workspace.to_string())
            .param("campaign", self.campaign.to_string())
            .param("campaigns", [self.campaign.to_string()].as_slice())
            .param("variants", self.variants);
        let query = match self.trial {
            None => query,
            Some(trial) => query
                .param("after_occurrence", trial.after_occurrence)
                .param("concluded_ms", trial.concluded_ms.unwrap_or(i64::MAX))
                .param("is_trial", trial.is_trial),
        };
        if in_range.is_empty() {
            return Some(query);
        }
        Some(query.param("start_ms", range.start_ms).param("end_ms", range.end_ms))
    }
}

/// A query with its placeholders filled: the rules of outcomes, and the messages they apply to.
pub(super) fn ask_outcomes(
    analytics: &Analytics,
    sql: &str,
    conditions: &str,
    among: Among<'_>,
) -> Read {
    let (prewhere, any) = among.condition();
    let outcomes = OUTCOMES.replace("$and_outcomes$", conditions).replace("$among$", &prewhere);
    let sql = sql.replace("$status$", STATUS).replace("$outcomes$", &outcomes);
    let query = client::read(analytics, &sql)
        .with_setting("max_query_size", STATEMENT_BYTES_MAX.to_string())
        .param("among", any);
    happened::PARAMETERS.into_iter().fold(query, |query, (name, bits)| query.param(name, bits))
}
