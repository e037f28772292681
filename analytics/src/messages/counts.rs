//! How many messages got how far.

use std::collections::BTreeMap;

use clickhouse::Row;
use serde::Deserialize;

use super::{
    Cohort,
    outcomes::{Among, happened},
};
use crate::{Analytics, error::AnalyticsError, reads::Read};

const COUNTS: &str = include_str!("../sql/message_counts.sql");
const COUNTED: &str = include_str!("../sql/message_counted.sql");
const STATUSES: &str = include_str!("../sql/message_statuses.sql");
const PLAIN: &str = include_str!("../sql/message_plain.sql");
const ENGAGEMENTS: &str = include_str!("../sql/message_engagements.sql");
const OF_COHORT: &str = include_str!("../sql/message_of_cohort.sql");

/// What counts by its time: the others are in `sql/message_plain.sql`.
const TIMED: u32 = happened::COMPLAINED | happened::BOUNCED | happened::FAILED;

/// Messages of one variant and occurrence that got so far. What is not of the control group is in `queued`,
/// and then in one of `sent`, `failed`, `skipped` and `cancelled`, or is still to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each counts the messages of which its name is true")]
pub struct Count {
    /// The variant's place in [`Cohort::variants`], from 1; 0 is any other.
    pub variant: u8,
    pub occurrence: u32,
    pub queued: u64,
    pub sent: u64,
    /// Of `sent` those that did not bounce, or were opened all the same: the denominator of open and click rates. It
    /// does not depend on how many deliveries a provider reports.
    pub sent_not_bounced: u64,
    pub delivered: u64,
    pub opened: u64,
    /// Of them those with a reported open; the others were clicked.
    pub reported_opened: u64,
    pub clicked: u64,
    pub failed: u64,
    pub skipped: u64,
    pub cancelled: u64,
    pub control: u64,
    pub bounced: u64,
    /// Each once: a message that is refused at once may have failed and bounced.
    pub failed_or_bounced: u64,
    pub complained: u64,
    pub unsubscribed: u64,
    pub machine_opened: u64,
    pub machine_clicked: u64,
}

impl Count {
    /// Clicked messages without a reported open: a click implies an open.
    pub const fn implied_opens(&self) -> u64 {
        self.opened.saturating_sub(self.reported_opened)
    }

    fn add(&mut self, alike: &Alike) {
        let happened = |bits: u32| alike.happened & bits != 0;
        let is_sent = alike.class == class::SENT;
        let is_control = alike.class == class::CONTROL;
        let is_failed = alike.class == class::FAILED;
        let is_bounced = alike.is_bounced && !is_control;
        for (count, is_counted) in [
            (&mut self.queued, !is_control),
            (&mut self.sent, is_sent),
            (&mut self.sent_not_bounced, is_sent && (alike.is_opened || !alike.is_bounced)),
            (&mut self.delivered, alike.is_delivered),
            (&mut self.opened, alike.is_opened),
            (&mut self.reported_opened, is_sent && happened(happened::OPENED)),
            (&mut self.clicked, alike.is_clicked),
            (&mut self.failed, is_failed),
            (&mut self.skipped, alike.class == class::SKIPPED),
            (&mut self.cancelled, alike.class == class::CANCELLED),
            (&mut self.control, is_control),
            (&mut self.bounced, is_bounced),
            (&mut self.failed_or_bounced, is_failed || is_bounced),
            (&mut self.complained, happened(happened::COMPLAINED)),
            (&mut self.unsubscribed, happened(happened::UNSUBSCRIBED)),
            (&mut self.machine_opened, happened(happened::MACHINE_OPENED)),
            (&mut self.machine_clicked, happened(happened::MACHINE_CLICKED)),
        ] {
            *count += if is_counted { alike.messages } else { 0 };
        }
    }
}

/// Values of `class` in `sql/message_final.sql`.
mod class {
    pub(super) const CONTROL: u8 = 1;
    pub(super) const SENT: u8 = 2;
    pub(super) const FAILED: u8 = 3;
    pub(super) const SKIPPED: u8 = 4;
    pub(super) const CANCELLED: u8 = 5;
}

/// Messages that are alike in all that is counted.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each from a column")]
#[derive(Debug, Clone, Copy, Row, Deserialize)]
struct Alike {
    variant: u8,
    occurrence: u32,
    class: u8,
    is_delivered: bool,
    is_opened: bool,
    is_clicked: bool,
    is_bounced: bool,
    /// Everything that happened to them, as bits of [`happened`].
    happened: u32,
    messages: u64,
}

/// Counts messages, by variant and occurrence.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn counts(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<Count>, AnalyticsError> {
    let Some(query) = ask(analytics, cohort, COUNTS).await? else { return Ok(Vec::new()) };
    // Added up here, row by row: ClickHouse takes as long to make sense of sixteen sums as of all the rest of the statement.
    let mut rows = query.with_setting("max_result_rows", "0").fetch::<Alike>()?;
    let mut counts = BTreeMap::new();
    while let Some(alike) = rows.next().await? {
        let (variant, occurrence) = (alike.variant, alike.occurrence);
        counts
            .entry((variant, occurrence))
            .or_insert_with(|| Count { variant, occurrence, ..Count::default() })
            .add(&alike);
    }
    Ok(counts.into_values().collect())
}

/// How many messages got exactly so far.
#[derive(Debug, Clone, Copy, Row, Deserialize)]
pub(super) struct StatusCount {
    /// The number of `sql/message_status.sql`.
    pub status: u8,
    pub messages: u64,
    pub first_occurrence: u32,
    pub last_occurrence: u32,
}

/// Counts messages by how far they got; nothing of what no message got to.
pub(super) async fn status_counts(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<StatusCount>, AnalyticsError> {
    match ask(analytics, cohort, STATUSES).await? {
        Some(query) => Ok(query.fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

/// A question about how many messages are alike.
async fn ask(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    sql: &str,
) -> Result<Option<Read>, AnalyticsError> {
    let sql = sql.replace("$counted$", COUNTED);
    if !cohort.is_scattered(analytics).await? {
        return Ok(cohort.ask(analytics, &sql.replace("$plain$", ""), Among::All));
    }
    Ok(cohort.ask(analytics, &sql.replace("$plain$", PLAIN), Among::Messages(TIMED)))
}

/// How often people opened messages and clicked in them, all times counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Row, Deserialize)]
pub struct Engagements {
    /// Opens, several of one message included.
    pub opens: u64,
    /// Clicks, several of one message included.
    pub clicks: u64,
}

/// Counts openings and clicks.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn engagements(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Engagements, AnalyticsError> {
    let of =
        EngagementKinds { types: &["opened", "impression", "clicked"], bits: happened::ENGAGED };
    engaged(analytics, cohort, of).await
}

/// Counts clicks alone, of which there are fewer.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn clicks(analytics: &Analytics, cohort: &Cohort<'_>) -> Result<u64, AnalyticsError> {
    let of = EngagementKinds { types: &["clicked"], bits: happened::CLICKED };
    Ok(engaged(analytics, cohort, of).await?.clicks)
}

/// Which events count as engagement.
#[derive(Clone, Copy)]
struct EngagementKinds<'a> {
    /// Their types in `message_events`.
    types: &'a [&'a str],
    /// The same as bits of [`happened`].
    bits: u32,
}

async fn engaged(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    of: EngagementKinds<'_>,
) -> Result<Engagements, AnalyticsError> {
    let sql = ENGAGEMENTS.replace("$and$", if cohort.is_ranged() { OF_COHORT } else { "" });
    match cohort.ask(analytics, &sql, Among::Messages(of.bits)) {
        Some(query) => Ok(query.param("types", of.types).fetch_one().await?),
        None => Ok(Engagements::default()),
    }
}
