//! What a targeting may say: its parts, read from a body, written back as they were sent.
//!
//! Reading order: [`operand`] (values), [`criterion`] (an operator and its value), [`filter`] (what the
//! operator is applied to), [`targeting`] (filters in groups), [`condition`] (the same criterion on the
//! properties of an event), [`ask`] (the question and its answers).

pub mod ask;
pub mod condition;
pub mod criterion;
pub mod filter;
pub mod operand;
pub mod path;
pub mod targeting;
#[cfg(test)]
mod tests;
mod word;

pub use self::{
    ask::{Ask, Excluded, Exclusion, Measured, Member, Person, Preview, Reached, Recipient},
    condition::Condition,
    criterion::{Comparison, Criterion, Operator},
    filter::Filter,
    operand::{Bound, Moment, Scalar, Span},
    path::Path,
    targeting::{FilterGroup, Join, SubscriptionPreference, Targeting},
};

pub const USER_IDS_MAX: usize = 10_000;
/// Characters of an id in `userIds`: those of an external id.
pub const USER_ID_CHARS_MAX: usize = 255;
/// Groups in `filterGroups`, and again in `excludeFilterGroups`.
pub const GROUPS_MAX: usize = 20;
/// Filters in one group.
pub const FILTERS_PER_GROUP_MAX: usize = 50;
/// Filters in a targeting, all groups together.
pub const FILTERS_MAX: usize = 100;
/// Filters that only ClickHouse can answer (`event`, `engagement`) in a targeting: each is a question to it.
pub const EVENT_FILTERS_MAX: usize = 10;
/// Values in the list of `in` and `not_in`.
pub const VALUES_MAX: usize = 1000;
/// Values in the lists of a targeting, all filters together.
pub const VALUES_IN_ALL_MAX: usize = 10_000;
/// Characters of a text that is compared with.
pub const TEXT_CHARS_MAX: usize = 1024;
/// Characters of a filter's field: the path of an attribute, the name of an event.
pub const FIELD_CHARS_MAX: usize = 255;
/// Days that `withinDays` looks back at most.
pub const WITHIN_DAYS_MAX: u32 = 3650;
/// Events that `count` compares with at most.
pub const EVENT_COUNT_MAX: u32 = 1_000_000;

/// Reads what was once read from a body and stored in its wire form, by the rules of bodies.
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
