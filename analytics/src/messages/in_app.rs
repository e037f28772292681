//! What people saw in apps and did with it.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError, events::Range, reads::Read};

const COUNTS: &str = include_str!("../sql/in_app_counts.sql");
const PLACES: &str = include_str!("../sql/in_app_places.sql");
const SHOWINGS: &str = include_str!("../sql/in_app_showings.sql");
const SHOWINGS_TOTAL: &str = include_str!("../sql/in_app_showings_total.sql");

/// Displays to one person from which on they are one bucket.
pub const TAIL_DISPLAYS: u64 = 10;
/// Platforms and buttons together in one answer; a campaign has some dozens.
const PLACES_MAX: u64 = 1_000;

/// A campaign of in-app messages.
#[derive(Debug, Clone, Copy)]
pub struct InAppCampaign {
    /// Workspace of the campaign.
    pub workspace: Uuid,
    /// In-app campaign that is reported on.
    pub campaign: Uuid,
}

impl InAppCampaign {
    fn ask(&self, analytics: &Analytics, sql: &str) -> Read {
        client::read(analytics, sql)
            .param("workspace", self.workspace.to_string())
            .param("campaign", self.campaign.to_string())
    }
}

/// What people did who saw a message so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct InAppCount {
    /// Displays to each of them; [`TAIL_DISPLAYS`] is that and more, 0 is of those whose displays were
    /// never reported.
    pub displays: u64,
    /// How many they are.
    pub users: u64,
    /// Displays to all of them.
    pub impressions: u64,
    /// Displays to the one who saw it most often.
    pub impressions_max: u64,
    /// Clicks on these displays.
    pub clicks: u64,
    /// How many of them clicked.
    pub clickers: u64,
    /// How often they closed it.
    pub dismissals: u64,
}

/// What people did, by how often they saw the message.
///
/// # Errors
/// When ClickHouse is away.
pub async fn in_app_counts(
    analytics: &Analytics,
    campaign: &InAppCampaign,
) -> Result<Vec<InAppCount>, AnalyticsError> {
    campaign.ask(analytics, COUNTS).param("tail", TAIL_DISPLAYS).fetch_all().await
}

/// What was done on a platform with a button, or, the button being empty, without one.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct InAppPlace {
    /// `web`, `ios` or `android`.
    pub platform: String,
    /// The button's id, or empty.
    pub button: String,
    /// Displays to this person.
    pub impressions: u64,
    /// Clicks of this person.
    pub clicks: u64,
}

/// Displays and clicks by platform and button.
///
/// # Errors
/// When ClickHouse is away.
pub async fn in_app_places(
    analytics: &Analytics,
    campaign: &InAppCampaign,
) -> Result<Vec<InAppPlace>, AnalyticsError> {
    campaign.ask(analytics, PLACES).param("places_max", PLACES_MAX).fetch_all().await
}

/// One time a message was shown.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Showing {
    /// The id the app gave it.
    pub id: String,
    /// The person's internal id.
    pub user: String,
    /// Id of the variant shown.
    pub variant: String,
    /// `web`, `ios` or `android`.
    pub platform: String,
    /// The app, or empty.
    pub app: String,
    /// In milliseconds since 1970.
    pub shown_ms: i64,
    /// Clicks until it was shown again.
    pub clicks: u64,
    /// The button of the first of them.
    pub button: String,
    /// When it was closed, in milliseconds since 1970; 0 where it was not.
    pub dismissed_ms: i64,
}

/// Which showings are asked for.
#[derive(Debug, Clone, Copy)]
pub struct ShowingFilter {
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// Most rows of the page.
    pub limit: u32,
    /// How many to skip before them.
    pub offset: u64,
}

#[derive(Debug, Row, Deserialize)]
struct Total {
    total: u64,
}

/// A page of the times a message was shown, newest first, and how many there are.
///
/// # Errors
/// When ClickHouse is away.
pub async fn showings(
    analytics: &Analytics,
    campaign: &InAppCampaign,
    filter: &ShowingFilter,
) -> Result<(Vec<Showing>, u64), AnalyticsError> {
    let Some(range) = Range::new(filter.start_ms, filter.end_ms) else {
        return Ok((Vec::new(), 0));
    };
    let ranged = |sql| {
        campaign.ask(analytics, sql).param("start_ms", range.start_ms).param("end_ms", range.end_ms)
    };
    let page = ranged(SHOWINGS).param("limit", filter.limit).param("offset", filter.offset);
    let (page, total) = tokio::try_join!(
        page.fetch_all::<Showing>(),
        ranged(SHOWINGS_TOTAL).fetch_one::<Total>(),
    )?;
    Ok((page, total.total))
}
