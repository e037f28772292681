//! Which links were clicked.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::happened};
use crate::{Analytics, error::AnalyticsError};

const LINKS: &str = include_str!("../sql/message_links.sql");
/// Links in one answer, most clicked first.
const LINKS_MAX: u64 = 1_000;

/// A link, and how it was clicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target as it was written.
    pub url: String,
    /// What it was called, where it was.
    pub label: String,
    /// Clicks, all times counted.
    pub total: u64,
    /// Messages in which it was clicked.
    pub unique: u64,
    /// In milliseconds since 1970.
    pub first_clicked_ms: i64,
    /// In milliseconds since 1970.
    pub last_clicked_ms: i64,
    /// Clicks per variant of the campaign.
    pub variants: Vec<LinkOfVariant>,
}

/// How a link was clicked in the messages of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOfVariant {
    /// The variant's place in [`Cohort::variants`], from 1; 0 is any other.
    pub variant: u8,
    /// Clicks, all times counted.
    pub total: u64,
    /// Messages in which it was clicked.
    pub unique: u64,
}

#[derive(Debug, Row, Deserialize)]
struct LinkRow {
    url: String,
    label: String,
    total: u64,
    unique: u64,
    first_clicked_ms: i64,
    last_clicked_ms: i64,
    variants: Vec<(u8, u64, u64)>,
}

impl From<LinkRow> for Link {
    fn from(row: LinkRow) -> Self {
        let LinkRow { url, label, total, unique, first_clicked_ms, last_clicked_ms, variants } =
            row;
        let variants = variants
            .into_iter()
            .map(|(variant, total, unique)| LinkOfVariant { variant, total, unique })
            .collect();
        Self { url, label, total, unique, first_clicked_ms, last_clicked_ms, variants }
    }
}

/// Counts clicks by link, the most clicked first.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn links(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<Link>, AnalyticsError> {
    let Some(query) = cohort.ask_seen(analytics, LINKS, happened::CLICKED).await? else {
        return Ok(Vec::new());
    };
    let rows: Vec<LinkRow> = query.param("links_max", LINKS_MAX).fetch_all().await?;
    Ok(rows.into_iter().map(Link::from).collect())
}
