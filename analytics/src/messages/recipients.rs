//! Who is in a campaign, and how far the latest message to each got.

use std::collections::HashMap;

use clickhouse::Row;
use serde::Deserialize;

use super::{
    Cohort,
    counts::status_counts,
    outcomes::{Among, happened},
    touches::of_people,
};
use crate::{Analytics, error::AnalyticsError};

const PAGE: &str = include_str!("../sql/message_recipients_page.sql");
const PEOPLE_PAGE: &str = include_str!("../sql/message_people_page.sql");
const PEOPLE_TOTAL: &str = include_str!("../sql/message_people_total.sql");
const SOLE: &str = include_str!("../sql/message_recipients_sole.sql");
const TOTAL: &str = include_str!("../sql/message_recipients_total.sql");
const RECIPIENTS: &str = include_str!("../sql/message_recipients.sql");
const FAILINGS: &str = include_str!("../sql/message_failings.sql");

/// Messages of one campaign to one person in an answer, the newest.
const MESSAGES_MAX: u32 = 1_000;
/// One message in so many is a large share of a campaign's.
const MANY: u64 = 8;

/// How far a message got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum RecipientStatus {
    Queued,
    Sent,
    Delivered,
    Opened,
    Clicked,
    Bounced,
    Failed,
    Skipped,
    Cancelled,
    Control,
}

impl RecipientStatus {
    /// In the order of the numbers of `sql/message_status.sql`, from 1.
    const ALL: [Self; 10] = [
        Self::Queued,
        Self::Sent,
        Self::Delivered,
        Self::Opened,
        Self::Clicked,
        Self::Bounced,
        Self::Failed,
        Self::Skipped,
        Self::Cancelled,
        Self::Control,
    ];

    fn number(self) -> u8 {
        let place = Self::ALL.iter().position(|status| *status == self);
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    }

    /// What must have happened to a message for its recipient to have this status.
    fn among(self) -> Among<'static> {
        Among::People(match self {
            Self::Queued | Self::Sent => return Among::All,
            Self::Delivered => happened::DELIVERED,
            Self::Opened => happened::OPENED,
            Self::Clicked => happened::CLICKED,
            Self::Bounced => happened::BOUNCED,
            Self::Failed => happened::FAILED | happened::UNKNOWN,
            Self::Skipped => happened::SKIPPED,
            Self::Cancelled => happened::CANCELLED,
            Self::Control => happened::CONTROL,
        })
    }

    /// Whether most messages of a campaign may have got exactly so far: counting them all is then less work than
    /// looking at each.
    fn is_of_most(self) -> bool {
        matches!(self, Self::Queued | Self::Sent | Self::Delivered | Self::Opened)
    }

    fn numbered(number: u8) -> Self {
        let place = usize::from(number.saturating_sub(1));
        Self::ALL.get(place).copied().unwrap_or(Self::Queued)
    }
}

/// Filter and page of a list of recipients.
#[derive(Debug, Clone, Copy)]
pub struct RecipientFilter {
    /// Only those the latest message to whom got exactly so far.
    pub status: Option<RecipientStatus>,
    /// Most recipients to answer.
    pub limit: u32,
    /// Recipients on the pages before.
    pub offset: u64,
}

/// A recipient of a campaign and the latest message to them. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// Internal id of the profile.
    pub user: String,
    /// Id of the latest message.
    pub message: String,
    /// Which time the campaign went out; of a triggered one, which entry of theirs.
    pub occurrence: u32,
    /// The variant's place in [`Cohort::variants`], from 1; 0 is any other.
    pub variant: u8,
    /// How far it got.
    pub status: RecipientStatus,
    /// When it was queued.
    pub queued_ms: Option<i64>,
    /// Time of sending, Unix milliseconds.
    pub sent_ms: Option<i64>,
    /// Time of delivery, Unix milliseconds.
    pub delivered_ms: Option<i64>,
    /// When it was first opened.
    pub opened_ms: Option<i64>,
    /// When something in it was first clicked.
    pub clicked_ms: Option<i64>,
    /// Time of the failure, Unix milliseconds.
    pub failed_ms: Option<i64>,
    /// When something last happened to it.
    pub last_ms: i64,
    /// Why it bounced, failed or was skipped: code and words.
    pub why: Option<(String, String)>,
}

#[derive(Debug, Row, Deserialize)]
struct PageRow {
    user: String,
    total: u64,
}

#[derive(Debug, Row, Deserialize)]
struct RecipientRow {
    user: String,
    message: String,
    occurrence: u32,
    variant: u8,
    status: u8,
    queued_ms: Option<i64>,
    sent_ms: Option<i64>,
    delivered_ms: Option<i64>,
    opened_ms: Option<i64>,
    clicked_ms: Option<i64>,
    failed_ms: Option<i64>,
    last_ms: i64,
}

#[derive(Debug, Row, Deserialize)]
struct FailingRow {
    message: String,
    kind: String,
    code: String,
    reason: String,
}

/// A page of recipients, in the order of their ids, and how many match.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn recipients(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RecipientFilter,
) -> Result<(Vec<Recipient>, u64), AnalyticsError> {
    let (users, total) = match filter.status {
        _ if cohort.is_ranged() => matching(analytics, cohort, filter).await?,
        None => everyone(analytics, cohort, filter).await?,
        Some(status) if status.is_of_most() => {
            match sole(analytics, cohort, filter, status).await? {
                Some(found) => found,
                None => matching(analytics, cohort, filter).await?,
            }
        }
        Some(_) => matching(analytics, cohort, filter).await?,
    };
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    Ok((latest(analytics, cohort, &users, 1).await?, total))
}

/// All recipients of a campaign; their outcomes are not needed.
async fn everyone(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RecipientFilter,
) -> Result<(Vec<String>, u64), AnalyticsError> {
    let ask = |sql| {
        crate::client::read(analytics, sql)
            .param("workspace", cohort.workspace.to_string())
            .param("campaign", cohort.campaign.to_string())
    };
    let page = ask(PEOPLE_PAGE).param("limit", filter.limit).param("offset", filter.offset);
    Ok(tokio::try_join!(page.fetch_all(), ask(PEOPLE_TOTAL).fetch_one())?)
}

/// Recipients with a status, where all messages are of one occurrence: each recipient then has one message, so
/// messages can be counted in place of recipients. `None` where there are several occurrences.
async fn sole(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RecipientFilter,
    status: RecipientStatus,
) -> Result<Option<(Vec<String>, u64)>, AnalyticsError> {
    let status_counts = status_counts(analytics, cohort).await?;
    let first = status_counts.iter().map(|of| of.first_occurrence).min();
    let last = status_counts.iter().map(|of| of.last_occurrence).max();
    if first != last {
        return Ok(None);
    }
    let total = status_counts.iter().find(|of| of.status == status.number());
    let total = total.map_or(0, |of| of.messages);
    // An offset past the end would read every message to find none.
    if filter.offset >= total {
        return Ok(Some((Vec::new(), total)));
    }
    // Where they are many, some are near: looking them up first would cost more than it saves.
    let messages: u64 = status_counts.iter().map(|of| of.messages).sum();
    let among = if total >= messages / MANY { Among::All } else { status.among() };
    let Some(page) = cohort.ask(analytics, SOLE, among) else { return Ok(None) };
    let page = page
        .param("status", status.number())
        .param("limit", filter.limit)
        .param("offset", filter.offset);
    let users = page.fetch_all().await?;
    Ok(Some((users, total)))
}

async fn matching(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RecipientFilter,
) -> Result<(Vec<String>, u64), AnalyticsError> {
    let ask = |sql| {
        let query =
            cohort.ask(analytics, sql, filter.status.map_or(Among::All, RecipientStatus::among))?;
        let status = filter.status.map_or(0, RecipientStatus::number);
        Some(query.param("any_status", filter.status.is_none()).param("status", status))
    };
    let Some(page) = ask(PAGE) else { return Ok((Vec::new(), 0)) };
    let page = page.param("limit", filter.limit).param("offset", filter.offset);
    let page: Vec<PageRow> = page.fetch_all().await?;
    let total = match (page.first(), ask(TOTAL)) {
        (Some(row), _) => row.total,
        // Behind the last page, or no recipient at all.
        (None, Some(query)) => query.fetch_one().await?,
        (None, None) => 0,
    };
    Ok((page.into_iter().map(|row| row.user).collect(), total))
}

/// All messages of the campaign to one person, newest first; of very many the newest.
///
/// # Errors
/// When ClickHouse is away.
pub async fn messages_to(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    user: &str,
) -> Result<Vec<Recipient>, AnalyticsError> {
    latest(analytics, cohort, &[user], MESSAGES_MAX).await
}

async fn latest(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    users: &[&str],
    messages_max: u32,
) -> Result<Vec<Recipient>, AnalyticsError> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let bytes: Vec<[u8; 12]> = users.iter().map(|user| id_bytes(user)).collect();
    let (condition, people) = of_people(&bytes);
    let Some(query) = cohort.ask_further(analytics, RECIPIENTS, &condition, Among::All) else {
        return Ok(Vec::new());
    };
    let query = query.param("people", people).param("messages_max", messages_max);
    let rows: Vec<RecipientRow> = query.fetch_all().await?;
    let mut whys = failings(analytics, cohort, users).await?;
    Ok(rows.into_iter().map(|row| recipient(row, &mut whys)).collect())
}

/// Bounces, failures and skips by message and type.
type Whys = HashMap<(String, String), (String, String)>;

async fn failings(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    users: &[&str],
) -> Result<Whys, AnalyticsError> {
    let rows: Vec<FailingRow> = crate::client::read(analytics, FAILINGS)
        .param("workspace", cohort.workspace.to_string())
        .param("campaign", cohort.campaign.to_string())
        .param("users", users)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(|row| ((row.message, row.kind), (row.code, row.reason))).collect())
}

fn recipient(row: RecipientRow, whys: &mut Whys) -> Recipient {
    let status = RecipientStatus::numbered(row.status);
    let kind = match status {
        RecipientStatus::Bounced => Some("bounced"),
        RecipientStatus::Failed => Some("failed"),
        RecipientStatus::Skipped => Some("skipped"),
        _ => None,
    };
    let why = kind.and_then(|kind| whys.remove(&(row.message.clone(), kind.to_owned())));
    Recipient {
        user: row.user,
        message: row.message,
        occurrence: row.occurrence,
        variant: row.variant,
        status,
        queued_ms: row.queued_ms,
        sent_ms: row.sent_ms,
        delivered_ms: row.delivered_ms,
        opened_ms: row.opened_ms,
        clicked_ms: row.clicked_ms,
        failed_ms: row.failed_ms,
        last_ms: row.last_ms,
        why,
    }
}

/// The bytes of an internal id as ClickHouse wrote it.
fn id_bytes(user: &str) -> [u8; 12] {
    let mut bytes = [0; 12];
    for (byte, pair) in bytes.iter_mut().zip(user.as_bytes().chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16).unwrap_or(0);
        *byte = u8::try_from(digit(0) << 4 | digit(1)).unwrap_or(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_keep_their_numbers() {
        for (place, status) in RecipientStatus::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(status.number()), place + 1);
            assert_eq!(RecipientStatus::numbered(status.number()), status);
        }
    }

    #[test]
    fn an_id_is_read_as_it_was_written() {
        assert_eq!(
            id_bytes("00ff10000000000000000abc"),
            [0, 255, 16, 0, 0, 0, 0, 0, 0, 0, 10, 188]
        );
    }
}
