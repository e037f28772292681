//! How long after its sending a message is opened and clicked.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::happened};
use crate::{Analytics, error::AnalyticsError};

const DELAYS: &str = include_str!("../sql/message_delays.sql");

/// Where buckets of delays begin, in seconds: those of `sql/message_delays.sql`.
pub const DELAY_EDGES_SECONDS: [u32; 10] =
    [0, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

/// How long people took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays {
    /// Messages that were opened.
    pub sample: u64,
    /// The median time to the first opening, in milliseconds; none of none.
    pub median_to_open_ms: Option<f64>,
    /// The median time to the first click, in milliseconds; none of none.
    pub median_to_click_ms: Option<f64>,
    /// Messages opened after a time in each bucket of [`DELAY_EDGES_SECONDS`].
    pub opened: [u64; DELAY_EDGES_SECONDS.len()],
    /// Likewise from sending to the first click.
    pub clicked: [u64; DELAY_EDGES_SECONDS.len()],
}

/// Edges and how many begin there.
type Buckets = (Vec<u32>, Vec<u64>);

#[derive(Debug, Row, Deserialize)]
struct DelaysRow {
    sample: u64,
    median_to_open_ms: f64,
    median_to_click_ms: f64,
    opened: Buckets,
    clicked: Buckets,
}

fn by_edge((edges, counts): &Buckets) -> [u64; DELAY_EDGES_SECONDS.len()] {
    DELAY_EDGES_SECONDS.map(|edge| {
        edges.iter().zip(counts).filter(|(at, _)| **at == edge).map(|(_, count)| count).sum()
    })
}

/// Measures how long people took to open and to click, each message from its own sending.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn delays(analytics: &Analytics, cohort: &Cohort<'_>) -> Result<Delays, AnalyticsError> {
    let Some(query) = cohort.ask_seen(analytics, DELAYS, happened::ENGAGED).await? else {
        return Ok(Delays::default());
    };
    let row: DelaysRow = query.fetch_one().await?;
    let known = |median: f64| median.is_finite().then_some(median);
    let clicked = by_edge(&row.clicked);
    let any_clicked = clicked.iter().any(|count| *count > 0);
    Ok(Delays {
        sample: row.sample,
        median_to_open_ms: known(row.median_to_open_ms).filter(|_| row.sample > 0),
        median_to_click_ms: known(row.median_to_click_ms).filter(|_| any_clicked),
        opened: by_edge(&row.opened),
        clicked,
    })
}
