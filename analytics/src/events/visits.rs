//! When people came: the beginnings of their sessions, streamed, since they may be many.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::filter::Range;
use crate::{Analytics, client, error::AnalyticsError, reads::RowStream};

const VISITS: &str = include_str!("../sql/visits.sql");
const LOOKS: &str = include_str!("../sql/looks.sql");

/// Whose visits are asked for.
#[derive(Debug, Clone, Copy)]
pub struct VisitFilter {
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: i64,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: i64,
    /// Most visits of one person, the latest.
    pub visits_max: u32,
    /// Most people to answer.
    pub people_max: u64,
}

/// Visits under the identifiers of one visitor, of which one at least is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Visitor {
    /// As tracked in `userId`.
    pub user_id: String,
    /// As tracked in `serviceUserId`.
    pub service_user_id: String,
    /// As tracked in `anonymousId`, if it is linked to a profile; empty beside another identifier.
    pub anonymous_id: String,
    /// Beginnings of visits in seconds since 1970, UTC, the latest first.
    pub visits: Vec<u32>,
}

/// The answer, row by row.
pub struct Visitors {
    /// None where nothing can match.
    cursor: Option<RowStream<Visitor>>,
}

impl std::fmt::Debug for Visitors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visitors").finish_non_exhaustive()
    }
}

impl Visitors {
    /// The next visitor, in no order; each comes once.
    pub async fn next(&mut self) -> Result<Option<Visitor>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?),
            None => Ok(None),
        }
    }
}

/// Asks when the people of a workspace came.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub fn visitors(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &VisitFilter,
) -> Result<Visitors, AnalyticsError> {
    ask(analytics, workspace, filter, VISITS)
}

/// Times at which users of a workspace opened or clicked messages, machine opens and clicks left out. Users
/// are identified by their internal ids.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub fn engaged_users(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &VisitFilter,
) -> Result<Visitors, AnalyticsError> {
    ask(analytics, workspace, filter, LOOKS)
}

fn ask(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &VisitFilter,
    sql: &str,
) -> Result<Visitors, AnalyticsError> {
    let Some(range) = Range::new(Some(filter.start_ms), Some(filter.end_ms)) else {
        return Ok(Visitors { cursor: None });
    };
    let query = client::read(analytics, sql)
        .with_setting("max_result_rows", filter.people_max.to_string())
        .param("workspace", workspace.to_string())
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms)
        .param("visits_max", filter.visits_max)
        .param("people_max", filter.people_max);
    Ok(Visitors { cursor: Some(query.fetch()?) })
}
