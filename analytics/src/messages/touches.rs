//! Which messages reached people: what conversions are credited to.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::outcomes::{Among, ask_outcomes};
use crate::{Analytics, error::AnalyticsError, events::Range};

const TOUCHES: &str = include_str!("../sql/message_touches.sql");
const OF_PEOPLE: &str = include_str!("../sql/message_of_people.sql");
/// People in one question: 16 bytes of a statement each.
pub const PEOPLE_MAX: usize = 50_000;

/// Whose messages, and of which campaigns.
#[derive(Debug, Clone, Copy)]
pub struct TouchFilter<'a> {
    /// Workspace of the campaigns.
    pub workspace: Uuid,
    /// Campaigns whose messages are read.
    pub campaigns: &'a [Uuid],
    /// Whether messages of the first of them that did not leave are read too.
    pub with_unsent: bool,
    /// Ids of variants: answers name them by their place here, counted from 1; 0 is any other.
    pub variants: &'a [String],
    /// Internal ids; at most [`PEOPLE_MAX`].
    pub people: &'a [[u8; 12]],
    /// Inclusive start, in milliseconds since 1970.
    pub start_ms: i64,
    /// Inclusive end, in milliseconds since 1970.
    pub end_ms: i64,
}

/// A message that left, or would have, were its recipient not in a control group, or had it not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Touch {
    /// The recipient's internal id.
    pub user_id: [u8; 12],
    /// Place of its campaign among those asked about, from 0.
    pub campaign: u16,
    /// Id of the message as a number.
    pub message: u128,
    /// Which time the campaign went out; of a triggered one, which entry of theirs.
    pub occurrence: u32,
    /// The variant's place among those named, from 1; 0 is any other.
    pub variant: u8,
    /// 1 if its recipient is in the control group, 2 if it was sent; 3, 4 and 5 if it failed, was skipped or cancelled
    /// after its variant was assigned.
    pub class: u8,
    /// When it left, or would have, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The condition that a message is to one of these people, and how many they are.
pub(super) fn of_people(people: &[[u8; 12]]) -> (String, u64) {
    (OF_PEOPLE.replace("$people$", &STANDARD.encode(people.as_flattened())), people.len() as u64)
}

/// Asks which messages reached people.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn touches(
    analytics: &Analytics,
    filter: &TouchFilter<'_>,
) -> Result<Vec<Touch>, AnalyticsError> {
    let Some(range) = Range::new(Some(filter.start_ms), Some(filter.end_ms)) else {
        return Ok(Vec::new());
    };
    if filter.people.is_empty() || filter.campaigns.is_empty() {
        return Ok(Vec::new());
    }
    let (condition, people) = of_people(filter.people);
    let campaigns: Vec<String> = filter.campaigns.iter().map(Uuid::to_string).collect();
    let unsent_of = filter.campaigns.first().copied().filter(|_| filter.with_unsent);
    let query = ask_outcomes(analytics, TOUCHES, &condition, Among::All)
        .with_setting("max_result_rows", "0")
        .param("workspace", filter.workspace.to_string())
        .param("campaigns", campaigns)
        .param("variants", filter.variants)
        .param("people", people)
        .param("unsent_of", unsent_of.unwrap_or_default().to_string())
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms);
    query.fetch_all().await
}
