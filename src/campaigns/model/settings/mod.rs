//! The settings of a campaign: a file for each object with its limits and defaults.
//!
//! Objects are returned as they were sent; the default of an absent field is in its accessor.

pub mod ab_test;
pub mod channel_config;
pub mod conversion;
pub mod cron;
pub mod end_date;
pub mod limits;
pub mod occurrence;
pub mod recurring;
pub mod resend;
pub mod schedule;
pub mod sto;
pub mod trigger;
pub mod utm;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use audience::model::condition::Condition;
use kernel::fields::{Field, Fields, Optional};

pub const CONDITIONS_MAX: usize = 20;
/// Characters of an event's name, as in tracking.
pub const EVENT_NAME_CHARS_MAX: usize = 255;

/// Reads an optional integer of the range.
fn whole(field: Field<'_, Optional>, range: RangeInclusive<u32>) -> Option<u32> {
    let read = field.integer(i64::from(*range.start())..=i64::from(*range.end()));
    read.map(|number| u32::try_from(number).unwrap_or(*range.end()))
}

/// `conditions` on an event's properties, all of which must match.
fn conditions(body: &mut Fields<'_>) -> Option<Vec<Condition>> {
    body.optional("conditions").objects(0..=CONDITIONS_MAX)
}

/// Integers without a fraction.
#[expect(clippy::ref_option, reason = "the shape serde wants")]
pub(in crate::model) fn plain<S: serde::Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    /// Integers below this are exact.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match number {
        None => serializer.serialize_none(),
        Some(whole) if whole.fract() == 0.0 && whole.abs() < EXACT_MAX =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            serializer.serialize_i64(*whole as i64)
        }
        Some(other) => serializer.serialize_f64(*other),
    }
}
