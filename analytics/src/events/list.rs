//! The newest events of a workspace or of one person, page by page.
//!
//! The key of `events` knows no time below the day, so a page is found in two steps. The timeline
//! says how far back enough candidates lie (the *cut*); then `events FINAL` decides which rows at
//! or after the cut are real, and orders them. That is exact: whatever row belongs before the cut
//! is itself an entry of the timeline at its own time. When repeats or rows that lost used up the
//! candidates and the page is short, the cut moves back and the question is asked again.

use clickhouse::{Row, query::Query};
use serde::Deserialize;
use uuid::Uuid;

use super::filter::{EventFilter, Range};
use crate::{Analytics, client, error::AnalyticsError};

const NEWEST_CUT: &str = include_str!("../sql/newest_cut.sql");
const NEWEST_CUT_OF_ONE: &str = include_str!("../sql/newest_cut_of_one.sql");
const NEWEST_EVENTS: &str = include_str!("../sql/newest_events.sql");
const USER_EVENTS_TOTAL: &str = include_str!("../sql/user_events_total.sql");

/// Timeline entries looked at beyond the page, so that a few repeats need no second look.
const SLACK_ENTRIES: u64 = 32;
/// By how much a look that found too little is widened.
const WIDENING: u64 = 8;
/// Stands for everyone: the timeline lists every event of the workspace under the hash 0.
const EVERYONE: &str = "";

/// An event as it is read back.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct EventRow {
    /// The caller's `clientEventId`, or the UUIDv7 the server gave it.
    pub event_id: String,
    /// The external id as tracked, else the internal id, else empty.
    #[serde(rename = "tracked_user_id")]
    pub user_id: String,
    /// Empty when absent.
    pub anonymous_id: String,
    /// Its name.
    #[serde(rename = "name")]
    pub event_name: String,
    /// The caller's JSON object.
    pub properties: String,
    /// When it happened, in milliseconds since 1970, UTC.
    pub timestamp_ms: i64,
    /// Empty when absent.
    pub session_id: String,
    /// Empty when absent.
    pub device_id: String,
}

#[derive(Debug, Row, Deserialize)]
struct Cut {
    entries: u64,
    cut_ms: i64,
}

#[derive(Debug, Row, Deserialize)]
struct Total {
    total: u64,
}

/// A filter with its open ends closed.
struct Asked<'a> {
    workspace: Uuid,
    /// `[EVERYONE]`, or what names one person.
    identifiers: Vec<&'a str>,
    event_name: Option<&'a str>,
    range: Range,
}

impl<'a> Asked<'a> {
    /// `None` when nothing can match.
    fn new(workspace: Uuid, filter: &'a EventFilter) -> Option<Self> {
        let identifiers = match &filter.user_ids {
            None => vec![EVERYONE],
            // An empty identifier would name everyone.
            Some(ids) => ids.iter().map(String::as_str).filter(|id| *id != EVERYONE).collect(),
        };
        let range = Range::new(filter.start_ms, filter.end_ms)?;
        (!identifiers.is_empty()).then_some(Self {
            workspace,
            identifiers,
            event_name: filter.event_name.as_deref(),
            range,
        })
    }

    fn bind(&self, query: Query, range: Range) -> Query {
        query
            .param("workspace", self.workspace.to_string())
            .param("identifiers", &self.identifiers)
            .param("any_name", self.event_name.is_none())
            .param("event_name", self.event_name.unwrap_or_default())
            .param("start_ms", range.start_ms)
            .param("end_ms", range.end_ms)
    }

    async fn cut(&self, analytics: &Analytics, wanted: u64) -> Result<Cut, AnalyticsError> {
        let query = match self.identifiers.as_slice() {
            [one] => client::read(&analytics.client, NEWEST_CUT_OF_ONE).param("identifier", one),
            _ => client::read(&analytics.client, NEWEST_CUT),
        };
        Ok(self.bind(query.param("wanted", wanted), self.range).fetch_one().await?)
    }

    async fn rows(
        &self,
        analytics: &Analytics,
        range: Range,
        filter: &EventFilter,
    ) -> Result<Vec<EventRow>, AnalyticsError> {
        let query = client::read(&analytics.client, NEWEST_EVENTS)
            .param("any_user", self.identifiers == [EVERYONE])
            .param("limit", filter.limit)
            .param("offset", filter.offset);
        Ok(self.bind(query, range).fetch_all().await?)
    }
}

/// The newest events that match, newest first. Events of one instant come in reverse order of
/// arrival, so pages neither overlap nor skip.
pub async fn query(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &EventFilter,
) -> Result<Vec<EventRow>, AnalyticsError> {
    let Some(asked) = Asked::new(workspace, filter) else {
        return Ok(Vec::new());
    };
    let page = u64::from(filter.limit);
    let mut wanted = filter.offset.saturating_add(page).saturating_add(SLACK_ENTRIES);
    loop {
        let cut = asked.cut(analytics, wanted).await?;
        if cut.entries == 0 {
            return Ok(Vec::new());
        }
        let is_all = cut.entries < wanted;
        let range = Range {
            start_ms: if is_all { asked.range.start_ms } else { cut.cut_ms },
            ..asked.range
        };
        let rows = asked.rows(analytics, range, filter).await?;
        if is_all || rows.len() as u64 >= page {
            return Ok(rows);
        }
        wanted = wanted.saturating_mul(WIDENING);
    }
}

/// The newest events of one person, and how many match in all.
/// Answers nothing for a filter that names no one.
pub async fn of_user(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &EventFilter,
) -> Result<(Vec<EventRow>, u64), AnalyticsError> {
    let Some(asked) = Asked::new(workspace, filter).filter(|asked| asked.identifiers != [EVERYONE])
    else {
        return Ok((Vec::new(), 0));
    };
    let counted = client::read(&analytics.client, USER_EVENTS_TOTAL);
    let total = asked.bind(counted, asked.range).fetch_one::<Total>();
    let (rows, total) = tokio::join!(query(analytics, workspace, filter), total);
    Ok((rows?, total?.total))
}
