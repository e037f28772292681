//! Targetings: their parts, read from a request body and returned as they were sent.
//!
//! Reading order: [`operand`] (values), [`criterion`] (an operator and its operand), [`filter`] (what the
//! operator is applied to), [`targeting`] (filters in groups), [`condition`] (the same criterion on the
//! properties of an event), [`saved`] (targetings saved as segments), [`query`] (queries of an audience and
//! their results).

pub mod condition;
pub mod criterion;
pub mod filter;
pub mod operand;
pub mod path;
pub mod query;
pub mod saved;
pub mod targeting;
#[cfg(test)]
mod tests;
mod word;

pub use self::{
    condition::Condition,
    criterion::{Comparison, Criterion, Operator},
    filter::Filter,
    operand::{Bound, Moment, Scalar, Span},
    path::Path,
    query::{
        AudienceQuery, Excluded, Exclusion, Measured, MeasuredByChannel, Member, Person, Preview,
        Reached, Recipient,
    },
    saved::{
        NO_SUCH_SEGMENT, NamedTargeting, SEGMENTS_MAX, SavedTargetings, SegmentName, SegmentUse,
        TargetingSize,
    },
    targeting::{FilterGroup, Join, SubscriptionPreference, Targeting},
};

pub const USER_IDS_MAX: usize = 10_000;
/// Characters of an id in `userIds`: those of an external id.
pub const USER_ID_CHARS_MAX: usize = 255;
/// Most groups in `filterGroups`, and in `excludeFilterGroups`.
pub const GROUPS_MAX: usize = 20;
/// Filters in one group.
pub const FILTERS_PER_GROUP_MAX: usize = 50;
/// Filters in a targeting, all groups together.
pub const FILTERS_MAX: usize = 100;
/// Most filters in a targeting that need a query to ClickHouse each (`event`, `engagement`).
pub const EVENT_FILTERS_MAX: usize = 10;
/// Values in the list of `in` and `not_in`.
pub const VALUES_MAX: usize = 1000;
/// Most values in the lists of a targeting, all filters together.
pub const VALUES_IN_ALL_MAX: usize = 10_000;
/// Most filters of type `segment` in a targeting, of those that name a segment of the workspace.
pub const SEGMENT_FILTERS_MAX: usize = 10;
/// Most levels of segments: one that uses no other has one level.
pub const SEGMENT_LEVELS_MAX: usize = 5;
/// The largest size of a segment together with the segments it uses: that of one targeting.
pub const SEGMENT_SIZE_MAX: TargetingSize = TargetingSize {
    filters: FILTERS_MAX as u64,
    event_filters: EVENT_FILTERS_MAX as u64,
    values: (VALUES_IN_ALL_MAX + USER_IDS_MAX) as u64,
};
/// Characters of a text operand.
pub const TEXT_CHARS_MAX: usize = 1024;
/// Characters of a filter's field: the path of an attribute or the name of an event.
pub const FIELD_CHARS_MAX: usize = 255;
/// Greatest number of days in `withinDays`.
pub const WITHIN_DAYS_MAX: u32 = 3650;
/// Greatest number in `count`.
pub const EVENT_COUNT_MAX: u32 = 1_000_000;

/// Reads a value that was stored in its JSON form, by the rules for request bodies.
fn stored<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: kernel::fields::FromFields,
    D: serde::Deserializer<'de>,
{
    let map = <serde_json::Map<String, serde_json::Value> as serde::Deserialize>::deserialize(
        deserializer,
    )?;
    kernel::fields::read_object(&map).map_err(|complaints| {
        let texts: Vec<String> = complaints.iter().map(ToString::to_string).collect();
        serde::de::Error::custom(texts.join("; "))
    })
}
