//! Profiles and campaigns: copies of what PostgreSQL has, for questions that join them.

use std::{collections::BTreeMap, time::Duration};

use clickhouse::{Row, RowOwned, RowWrite, insert::Insert};
use serde::Serialize;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{Analytics, error::AnalyticsError};

const NEWEST_VERSION: &str = include_str!("sql/people_newest_version.sql");
const END_ABSENT_PEOPLE: &str = include_str!("sql/people_end_absent.sql");
const END_ABSENT_CAMPAIGNS: &str = include_str!("sql/campaigns_end_absent.sql");

/// Bytes of texts after which a statement ends and another begins: ClickHouse holds all rows of one in memory.
const INSERT_BYTES_MAX: usize = 16 << 20;
/// How long ClickHouse may take to accept some rows, or to answer a question without many.
const STEP_MAX: Duration = Duration::from_secs(15);
/// How long ClickHouse may take to store the rows of one statement.
const STORE_MAX: Duration = Duration::from_secs(30);
/// How long it may take to look at all copies.
const SWEEP_MAX: Duration = Duration::from_mins(10);

/// A profile as of a version. Texts that it does not have are empty.
#[derive(Debug, Clone, Default, PartialEq, Row, Serialize)]
pub struct PersonRow {
    /// The workspace of the profile.
    #[serde(with = "clickhouse::serde::uuid")]
    pub workspace_id: Uuid,
    /// The bytes of its internal id.
    pub user_id: [u8; 12],
    /// Of two rows of a profile the larger counts.
    pub version: u64,
    /// 1 for a deleted or merged profile, whose row has nothing else.
    pub is_deleted: u8,
    /// The caller's own id.
    pub external_id: String,
    /// The email address as it is stored.
    pub email: String,
    /// The phone number as it is stored.
    pub phone: String,
    /// The anonymous ids that are linked to it, sorted.
    pub anonymous_ids: Vec<String>,
    /// All attributes as a JSON object.
    pub attributes: String,
    /// Attributes at the top level that are numbers.
    pub numbers: BTreeMap<String, f64>,
    /// Attributes at the top level that are texts.
    pub texts: BTreeMap<String, String>,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When it last changed, in milliseconds since 1970.
    pub updated_at: i64,
    /// The state of each channel that has one, by the names of the API.
    pub consent: BTreeMap<String, String>,
    /// The lists that it is subscribed to on any channel, sorted.
    #[serde(with = "clickhouse::serde::uuid_vec")]
    pub lists: Vec<Uuid>,
}

/// A campaign as of a version.
#[derive(Debug, Clone, PartialEq, Eq, Row, Serialize)]
pub struct CampaignRow {
    /// The workspace of the campaign.
    #[serde(with = "clickhouse::serde::uuid")]
    pub workspace_id: Uuid,
    /// The id of the campaign.
    #[serde(with = "clickhouse::serde::uuid")]
    pub campaign_id: Uuid,
    /// Of two rows of a campaign the larger counts.
    pub version: u64,
    /// 1 for a deleted campaign, whose row has nothing else.
    pub is_deleted: u8,
    /// The name that its authors gave it.
    pub name: String,
    /// The channel by which it is sent.
    pub channel: String,
    /// How it is sent: once, again and again, or by events.
    pub send_type: String,
    /// The state it is in.
    pub status: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
}

/// A row of one of the tables of copies.
pub trait CopiedRow: RowOwned + RowWrite {
    /// The name of its table.
    const TABLE: &'static str;

    /// About how many bytes it has.
    fn bytes(&self) -> usize;
}

impl CopiedRow for PersonRow {
    const TABLE: &'static str = "people";

    fn bytes(&self) -> usize {
        let anonymous_ids: usize = self.anonymous_ids.iter().map(String::len).sum();
        // What is in the maps is in the attributes as well.
        2 * self.attributes.len() + anonymous_ids + 16 * self.lists.len() + size_of::<Self>()
    }
}

impl CopiedRow for CampaignRow {
    const TABLE: &'static str = "campaigns";

    fn bytes(&self) -> usize {
        self.name.len() + size_of::<Self>()
    }
}

/// Rows on their way into their table, in as many statements as bound the memory of ClickHouse. What was written and not
/// [ended](Self::end) may be stored in part.
#[must_use]
pub struct Copies<'a, R> {
    analytics: &'a Analytics,
    open: Option<Insert<R>>,
    bytes: usize,
}

impl<R> std::fmt::Debug for Copies<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Copies").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<'a, R: CopiedRow> Copies<'a, R> {
    /// Begins without a statement; the first row opens one.
    pub fn new(analytics: &'a Analytics) -> Self {
        Self { analytics, open: None, bytes: 0 }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// When ClickHouse is away or refuses it.
    pub async fn write(&mut self, row: &R) -> Result<(), AnalyticsError> {
        let mut insert = match self.open.take() {
            Some(insert) => insert,
            None => begin(self.analytics).await.inspect_err(count)?,
        };
        insert.write(row).await.map_err(AnalyticsError::from).inspect_err(count)?;
        self.open = Some(insert);
        self.bytes += row.bytes();
        if self.bytes >= INSERT_BYTES_MAX {
            self.store().await?;
        }
        Ok(())
    }

    /// Stores what was written. The rows are on disk afterwards.
    ///
    /// # Errors
    /// When ClickHouse is away or refuses them.
    pub async fn end(mut self) -> Result<(), AnalyticsError> {
        self.store().await
    }

    async fn store(&mut self) -> Result<(), AnalyticsError> {
        self.bytes = 0;
        let Some(insert) = self.open.take() else { return Ok(()) };
        insert.end().await.map_err(AnalyticsError::from).inspect_err(count)
    }
}

async fn begin<R: CopiedRow>(analytics: &Analytics) -> Result<Insert<R>, AnalyticsError> {
    let insert = timeout(STEP_MAX, analytics.client().insert::<R>(R::TABLE));
    let insert = insert.await.map_err(|_| AnalyticsError::Late)??;
    Ok(insert.with_setting("async_insert", "0").with_timeouts(Some(STEP_MAX), Some(STORE_MAX)))
}

/// The largest version of any copy; 0 without one.
///
/// # Errors
/// When ClickHouse is away, or has no such tables yet.
pub async fn newest_version(analytics: &Analytics) -> Result<u64, AnalyticsError> {
    let newest = analytics.client().query_raw(NEWEST_VERSION).fetch_one::<u64>();
    let newest = timeout(STEP_MAX, newest).await.map_err(|_| AnalyticsError::Late)?;
    newest.map_err(AnalyticsError::from).inspect_err(count)
}

/// Marks copies with a smaller version than `first_version` as deleted, as of `version`.
///
/// # Errors
/// When ClickHouse is away.
pub async fn end_absent(
    analytics: &Analytics,
    first_version: u64,
    version: u64,
) -> Result<(), AnalyticsError> {
    for sql in [END_ABSENT_PEOPLE, END_ABSENT_CAMPAIGNS] {
        let ended = analytics
            .client()
            .query_raw(sql)
            .with_setting("async_insert", "0")
            .param("first_version", first_version)
            .param("version", version)
            .execute();
        let ended = timeout(SWEEP_MAX, ended).await.map_err(|_| AnalyticsError::Late);
        ended.and_then(|ended| Ok(ended?)).inspect_err(count)?;
    }
    Ok(())
}

/// Counts a failure, unless the tables are not there yet.
fn count(error: &AnalyticsError) {
    if !error.is_missing_table() {
        metrics_catalogue::CLICKHOUSE_ERRORS.with([error.kind()]).increment(1);
    }
}
