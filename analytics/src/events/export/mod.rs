//! Every event of a workspace once, in order of time and id, in bounded memory.
//!
//! The key of `events` has no time below the day, so its events have to be sorted. The range is walked in windows of so
//! many events: the timeline gives their ends, and ClickHouse sorts a window at a time, on disk what does not fit into
//! memory. A window reads what lies in the key days of its events, so small windows would read the same blocks many
//! times.
//!
//! A slow reader may outlast what ClickHouse allows a statement. Then the rest of the window is asked for again,
//! from the last event that was read.

mod places;

use std::{ops::ControlFlow, time::Duration};

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

pub use self::places::ExportPlace;
pub(crate) use self::places::ExportPlaces;
use super::filter::Range;
use crate::{
    Analytics, client,
    error::AnalyticsError,
    owners,
    reads::{Read, RowStream},
};

const WINDOW_END: &str = include_str!("../../sql/export_window_end.sql");
const EVENTS: &str = include_str!("../../sql/export_events.sql");
const RANGE: &str = include_str!("../../sql/export_range.sql");

/// Events of the first window: the answer begins soon.
const FIRST_WINDOW_EVENTS: u64 = 20_000;
/// By how much the next window is larger.
const WINDOW_GROWTH: u64 = 4;
/// Most events of a window, unless more happened in one millisecond.
pub const WINDOW_EVENTS_MAX: u64 = 300_000;
/// Bytes that ClickHouse sorts in memory; beyond them it sorts on disk.
const SORT_MEMORY_BYTES: u64 = 256 << 20;
/// Longest time that a statement may take, its reader's pauses included, in seconds.
const WINDOW_SECONDS_MAX: u32 = 600;
/// Longest time that may be spent waiting for the rows of a window.
const WAIT_MAX: Duration = Duration::from_mins(2);

/// Which events are exported.
#[derive(Debug, Clone, Default)]
pub struct ExportFilter {
    /// Only events of this name.
    pub event_name: Option<String>,
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// Only events after this position.
    pub after: Option<ExportPosition>,
    /// Most events of a window; [`WINDOW_EVENTS_MAX`] where absent.
    pub window_events: Option<u64>,
}

/// Where an event stands in the order of exports. Positions compare as their events do.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExportPosition {
    /// When it happened, in milliseconds since 1970, UTC.
    pub timestamp_ms: i64,
    /// The stored event id.
    pub event_id: String,
    /// Name of the event.
    pub event_name: String,
    /// The day in its key, in days since 1970.
    pub key_day: u16,
}

/// An event with all that is stored about it. Texts are empty where nothing was sent.
#[derive(Debug, Row, Deserialize)]
pub struct ExportedEvent<'a> {
    /// The caller's `clientEventId`, or the UUIDv7 the server gave it.
    pub event_id: &'a str,
    /// `eventName` as it was tracked.
    pub name: &'a str,
    /// Internal id of the profile that the event belongs to, else the identifier itself.
    pub person_id: &'a str,
    /// `userId` as it was tracked.
    pub user_id: &'a str,
    /// `anonymousId` as it was tracked.
    pub anonymous_id: &'a str,
    /// `serviceUserId` as it was tracked.
    pub service_user_id: &'a str,
    /// `userAlias.aliasLabel` as it was tracked.
    pub label: &'a str,
    /// `userAlias.aliasName` as it was tracked.
    pub alias_name: &'a str,
    /// `sessionId` as it was tracked.
    pub session_id: &'a str,
    /// `deviceId` as it was tracked.
    pub device_id: &'a str,
    /// When it happened, in milliseconds since 1970, UTC.
    pub timestamp_ms: i64,
    /// When the server received it.
    pub received_at_ms: i64,
    /// The caller's JSON object.
    pub properties: &'a str,
    /// Numbers of the properties by dot path.
    #[serde(borrow)]
    pub numbers: Vec<(&'a str, f64)>,
    /// `orderId` of an `Order Completed`.
    pub order_id: &'a str,
    /// 1 where the event has a usable `total`.
    pub has_revenue: u8,
    /// That total in ten-thousandths.
    pub revenue_units: i64,
    /// The currency of that total.
    pub order_currency: &'a str,
    /// The day in its key, in days since 1970.
    pub key_day: u16,
}

/// An export that is under way. Holds a place among the exports of its workspace until it is dropped, and with it ends
/// its statement in ClickHouse.
pub struct Export {
    /// Keeps the place until the last statement has ended.
    analytics: Analytics,
    workspace: Uuid,
    event_name: Option<String>,
    /// What is left of the range; none at the end.
    rest: Option<Range>,
    /// Events of the next window, and at most.
    window_events: u64,
    window_events_max: u64,
    /// The last event that was read.
    position: Option<ExportPosition>,
    window: Option<Window>,
}

/// A part of the range that is being read.
struct Window {
    range: Range,
    rows: RowStream<ExportedEvent<'static>>,
    /// Whether a row came since it was asked for.
    has_rows: bool,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export")
            .field("workspace", &self.workspace)
            .field("rest", &self.rest)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Begins an export. Nothing is asked before the first read.
///
/// # Errors
/// [`AnalyticsError::TooManyExports`] when the workspace, or all together, have as many as may be.
pub fn export(
    analytics: &Analytics,
    workspace: Uuid,
    filter: ExportFilter,
) -> Result<Export, AnalyticsError> {
    let place = analytics.exports.take(workspace)?;
    let after_ms = filter.after.as_ref().map(|after| after.timestamp_ms);
    let start_ms = filter.start_ms.max(after_ms);
    let window_events_max = filter.window_events.unwrap_or(WINDOW_EVENTS_MAX).max(1);
    Ok(Export {
        analytics: analytics.keeping(place),
        workspace,
        event_name: filter.event_name,
        rest: Range::new(start_ms, filter.end_ms),
        window_events: FIRST_WINDOW_EVENTS.min(window_events_max),
        window_events_max,
        position: filter.after,
        window: None,
    })
}

/// A place among the exports of a workspace, for one whose rows come from another store.
///
/// # Errors
/// [`AnalyticsError::TooManyExports`] when the workspace, or all together, have as many as may be.
pub fn export_place(analytics: &Analytics, workspace: Uuid) -> Result<ExportPlace, AnalyticsError> {
    analytics.exports.take(workspace)
}

impl Export {
    /// Gives the next events to `take` until it breaks. True: all events were given.
    ///
    /// # Errors
    /// When ClickHouse is away or fails, or `take` does.
    pub async fn read<E: From<AnalyticsError>>(
        &mut self,
        mut take: impl FnMut(&ExportedEvent<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<bool, E> {
        loop {
            let mut window = match self.window.take() {
                Some(window) => window,
                None => match self.next_window().await? {
                    Some(window) => window,
                    None => return Ok(true),
                },
            };
            let position = self.position.get_or_insert_default();
            loop {
                match window.rows.next().await {
                    Ok(Some(event)) => {
                        window.has_rows = true;
                        let flow = take(&event)?;
                        position.set(&event);
                        drop(event);
                        if flow.is_break() {
                            self.window = Some(window);
                            return Ok(false);
                        }
                    }
                    Ok(None) => break,
                    Err(error) if window.has_rows && is_worth_another_try(&error) => {
                        tracing::info!(%error, "an export asks for the rest of its window again");
                        self.window = Some(self.ask(window.range)?);
                        break;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    async fn next_window(&mut self) -> Result<Option<Window>, AnalyticsError> {
        let Some(rest) = self.rest else { return Ok(None) };
        let at_ms: Option<i64> = self
            .bind(client::read(&self.analytics, WINDOW_END), rest)
            .param("events", self.window_events)
            .with_setting("max_execution_time", WINDOW_SECONDS_MAX.to_string())
            .with_time_max(WAIT_MAX)
            .fetch_all()
            .await?
            .pop();
        // The whole of an instant lies in one window.
        let end_ms = match at_ms {
            Some(at_ms) if at_ms > rest.start_ms => at_ms - 1,
            Some(at_ms) => at_ms,
            None => rest.end_ms,
        };
        let window = self.ask(Range { end_ms, ..rest })?;
        self.rest = Range::new(Some(end_ms + 1), Some(rest.end_ms));
        self.window_events = (self.window_events * WINDOW_GROWTH).min(self.window_events_max);
        Ok(Some(window))
    }

    /// The events of a range after the last one read.
    fn ask(&self, range: Range) -> Result<Window, AnalyticsError> {
        let after = self.position.as_ref().filter(|it| it.timestamp_ms >= range.start_ms);
        let from_start = after.is_none();
        let after = after.cloned().unwrap_or_default();
        let condition = RANGE.split_once('\n').map_or(RANGE, |(_question, condition)| condition);
        let sql = EVENTS
            .replace("$range$", condition.trim_end())
            .replace("$identifiers$", &owners::identifiers_of_workspace());
        let query = client::read(&self.analytics, &sql);
        let rows = self
            .bind(query, range)
            .param("from_start", from_start)
            .param("after_ms", after.timestamp_ms)
            .param("after_id", after.event_id)
            .param("after_name", after.event_name)
            .param("after_day", after.key_day)
            .with_setting("max_execution_time", WINDOW_SECONDS_MAX.to_string())
            .with_setting("max_result_rows", "0")
            .with_setting("max_bytes_before_external_sort", SORT_MEMORY_BYTES.to_string())
            .with_setting("cancel_http_readonly_queries_on_client_close", "1")
            .with_time_max(WAIT_MAX)
            .fetch()?;
        Ok(Window { range, rows, has_rows: false })
    }

    fn bind(&self, query: Read, range: Range) -> Read {
        query
            .param("workspace", self.workspace.to_string())
            .param("any_name", self.event_name.is_none())
            .param("event_name", self.event_name.as_deref().unwrap_or_default())
            .param("start_ms", range.start_ms)
            .param("end_ms", range.end_ms)
    }
}

/// Whether the rest of a window may come when it is asked for again.
fn is_worth_another_try(error: &AnalyticsError) -> bool {
    matches!(
        error,
        AnalyticsError::Timeout(_)
            | AnalyticsError::Unavailable(_)
            | AnalyticsError::OutOfMemory(_)
            | AnalyticsError::Late
    )
}

impl ExportPosition {
    /// Takes the position of an event, and keeps its own memory.
    fn set(&mut self, event: &ExportedEvent<'_>) {
        self.timestamp_ms = event.timestamp_ms;
        self.event_id.clear();
        self.event_id.push_str(event.event_id);
        self.event_name.clear();
        self.event_name.push_str(event.name);
        self.key_day = event.key_day;
    }
}
