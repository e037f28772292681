//! The newest events of a workspace or of one person, page by page.
//!
//! The key of `events` knows no time below the day, so the timeline gives the keys of enough
//! candidates, newest first, and `events FINAL` decides in the same statement which rows behind them
//! are real, and orders them. That is exact: whatever row belongs on the page is itself an entry of
//! the timeline at its own time. When repeats, rows that lost, or many events of one instant used up
//! the candidates and the page is short, the question is asked again with more of them.

use std::collections::BTreeSet;

use ch_cityhash102::cityhash64;
use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::filter::{EventFilter, Range};
use crate::{Analytics, client, error::AnalyticsError, reads::Read};

const NEWEST_ENTRIES: &str = include_str!("../sql/newest_entries.sql");
const NEWEST_ENTRIES_OF_MANY: &str = include_str!("../sql/newest_entries_of_many.sql");
const NEWEST_EVENTS: &str = include_str!("../sql/newest_events.sql");
const USER_EVENTS_TOTAL: &str = include_str!("../sql/user_events_total.sql");

/// Timeline entries looked at beyond the page, so that a few repeats need no second look.
const SLACK_ENTRIES: u64 = 8;
/// By how much a look that found too little is widened.
const WIDENING: u64 = 8;
/// Identifiers whose entries are read in the order of the key, one after the other.
const ENTRIES_IN_ORDER_MAX: usize = 2;
/// Stands for everyone: the timeline lists every event of the workspace under the hash 0.
const EVERYONE: &str = "";

/// An event as it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The caller's `clientEventId`, or the UUIDv7 the server gave it.
    pub event_id: String,
    /// The external id as tracked, else the internal id, else empty.
    pub user_id: String,
    /// `anonymousId` as tracked, empty when absent.
    pub anonymous_id: String,
    /// `eventName` as tracked, never empty.
    pub event_name: String,
    /// The caller's JSON object.
    pub properties: String,
    /// When it happened, in milliseconds since 1970, UTC.
    pub timestamp_ms: i64,
    /// `sessionId` as tracked, empty when absent.
    pub session_id: String,
    /// `deviceId` as tracked, empty when absent.
    pub device_id: String,
}

/// The fields of an [`EventRow`] in its order, as `newest_events.sql` answers them.
type EventTuple = (String, String, String, String, String, i64, String, String);

impl From<EventTuple> for EventRow {
    fn from(row: EventTuple) -> Self {
        let (
            event_id,
            user_id,
            anonymous_id,
            event_name,
            properties,
            timestamp_ms,
            session,
            device,
        ) = row;
        Self {
            event_id,
            user_id,
            anonymous_id,
            event_name,
            properties,
            timestamp_ms,
            session_id: session,
            device_id: device,
        }
    }
}

#[derive(Debug, Row, Deserialize)]
struct Newest {
    /// How many entries of the timeline there were, up to what was wanted.
    looked_at: u64,
    found: Vec<EventTuple>,
}

/// A page, and whether nothing comes after it.
struct Page {
    rows: Vec<EventRow>,
    /// No entry of the timeline was left out, so the page ends where the list ends or is full.
    is_all_looked_at: bool,
}

#[derive(Debug, Row, Deserialize)]
struct Total {
    total: u64,
}

/// A filter with its open ends closed.
struct Asked<'a> {
    workspace: Uuid,
    /// `[EVERYONE]`, or what names one person as a user.
    identifiers: Vec<&'a str>,
    /// What names them in events without a user.
    anonymous: Vec<&'a str>,
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
        let anonymous: Vec<&str> = match &filter.user_ids {
            None => Vec::new(),
            Some(_) => filter
                .anonymous_ids
                .iter()
                .map(String::as_str)
                .filter(|id| *id != EVERYONE)
                .collect(),
        };
        let range = Range::new(filter.start_ms, filter.end_ms)?;
        (!identifiers.is_empty() || !anonymous.is_empty()).then_some(Self {
            workspace,
            identifiers,
            anonymous,
            event_name: filter.event_name.as_deref(),
            range,
        })
    }

    fn bind(&self, query: Read) -> Read {
        query
            .param("workspace", self.workspace.to_string())
            .param("identifiers", &self.identifiers)
            .param("anonymous", &self.anonymous)
            .param("any_name", self.event_name.is_none())
            .param("event_name", self.event_name.unwrap_or_default())
            .param("start_ms", self.range.start_ms)
            .param("end_ms", self.range.end_ms)
    }

    async fn newest(
        &self,
        analytics: &Analytics,
        filter: &EventFilter,
        wanted: u64,
    ) -> Result<Newest, AnalyticsError> {
        let listed = self.listed();
        let query = client::read(analytics, &newest_events(listed.len()))
            .param("wanted", wanted)
            .param("any_user", self.is_of_everyone())
            .param("limit", filter.limit)
            .param("offset", filter.offset);
        let mut query = self.bind(query);
        if listed.len() > ENTRIES_IN_ORDER_MAX {
            return query.param("listed", listed).fetch_one().await;
        }
        for (place, identifier) in listed.into_iter().enumerate() {
            query = query.param(&format!("identifier_{place}"), identifier);
        }
        query.fetch_one().await
    }

    fn is_of_everyone(&self) -> bool {
        self.identifiers == [EVERYONE]
    }

    /// What the timeline lists the person by, each once.
    fn listed(&self) -> Vec<u64> {
        let all = self.identifiers.iter().chain(&self.anonymous);
        all.map(|id| timeline_identifier(id)).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    async fn page(
        &self,
        analytics: &Analytics,
        filter: &EventFilter,
    ) -> Result<Page, AnalyticsError> {
        let size = u64::from(filter.limit);
        let mut wanted = filter.offset.saturating_add(size).saturating_add(SLACK_ENTRIES);
        loop {
            let newest = self.newest(analytics, filter, wanted).await?;
            let is_all_looked_at = newest.looked_at < wanted;
            if is_all_looked_at || newest.found.len() as u64 >= size {
                let rows = newest.found.into_iter().map(EventRow::from).collect();
                return Ok(Page { rows, is_all_looked_at });
            }
            wanted = wanted.saturating_mul(WIDENING);
        }
    }
}

/// What the timeline lists an identifier by: `cityHash64` of it, and 0 for everyone. It is worked out here, since a constant
/// in a statement narrows the key without a set that another statement has to fill first.
fn timeline_identifier(id: &str) -> u64 {
    if id == EVERYONE { 0 } else { cityhash64(id.as_bytes()) }
}

/// The statement for so many identifiers; only their places become text. Beyond [`ENTRIES_IN_ORDER_MAX`] all their
/// entries are read and sorted: what the person did, instead of a look into each part for each identifier.
fn newest_events(identifiers: usize) -> String {
    if identifiers > ENTRIES_IN_ORDER_MAX {
        return NEWEST_EVENTS.replace("$entries$", NEWEST_ENTRIES_OF_MANY);
    }
    let entries = (0..identifiers)
        .map(|place| format!("({})", NEWEST_ENTRIES.replace("$place$", &place.to_string())));
    NEWEST_EVENTS.replace("$entries$", &entries.collect::<Vec<_>>().join("\nUNION ALL\n"))
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
    Ok(asked.page(analytics, filter).await?.rows)
}

/// The newest events of one person, and how many match in all.
/// Answers nothing for a filter that names no one.
pub async fn of_user(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &EventFilter,
) -> Result<(Vec<EventRow>, u64), AnalyticsError> {
    let Some(asked) = Asked::new(workspace, filter).filter(|asked| !asked.is_of_everyone()) else {
        return Ok((Vec::new(), 0));
    };
    let page = asked.page(analytics, filter).await?;
    let shown = page.rows.len() as u64;
    // The list ends within this page, so its end is the total. The usual person has few events.
    if page.is_all_looked_at && (1..u64::from(filter.limit)).contains(&shown) {
        return Ok((page.rows, filter.offset + shown));
    }
    let counted = client::read(analytics, USER_EVENTS_TOTAL).param("listed", asked.listed());
    let total: Total = asked.bind(counted).fetch_one().await?;
    Ok((page.rows, total.total))
}
