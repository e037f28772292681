//! Questions about people over time: trends, and the histories that funnels and retention are made of.
//!
//! ```text
//! EventChoice ─▶ [`condition`] ─▶ rows (sql/insight_rows.sql) ─▶ [`trends`]: a row an interval
//!                                                            └▶ [`histories`]: a row an event, people in groups
//! ```
//!
//! A person is an identifier: the external id of a profile, else its internal id; of events without a profile the
//! identifier itself ([`person`]). Rows have a hash of it. Instants are milliseconds since 1970, UTC.

mod breakdown;
mod catalog;
mod condition;
mod histories;
mod members;
mod metric;
mod parameters;
mod person;
mod property;
mod rows;
mod trends;
mod unique;

pub use breakdown::{Breakdown, BreakdownSource};
pub use catalog::{
    EventName, FREQUENT_VALUES_MAX, PropertyFound, SAMPLE_MAX, event_names, properties,
};
pub use condition::EventChoice;
pub use histories::{
    HISTORIES_MAX, HISTORY_CHOICES_MAX, Histories, HistoriesAsked, HistoriesMax, HistoryEvent,
    HistoryStream, NextHistories, PersonHistory, histories,
};
pub use members::{MEMBERS_PER_INSERT, Members, store};
pub use metric::Metric;
pub use property::{Bound, Plain, PropertyRule, PropertyTest, Relation};
pub use trends::{TrendAsked, TrendRow, TrendValue, trend};

/// A range of time, both ends included, in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first millisecond, since 1970.
    pub start_ms: i64,
    /// The last millisecond, which belongs to it.
    pub end_ms: i64,
}
