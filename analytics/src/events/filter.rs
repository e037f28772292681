//! Which events a list shows.

/// The earliest and latest instant that `DateTime64(3)` holds exactly, in milliseconds since 1970:
/// the bounds of a range that is open on that side.
const OPEN_START_MS: i64 = 0;
const OPEN_END_MS: i64 = 4_102_444_800_000; // 2100-01-01; `Date` keys end in 2149

/// Which events, and which page of them.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// The identifiers of one person, as tracked in `userId` or `serviceUserId`; `None` is everyone.
    pub user_ids: Option<Vec<String>>,
    /// The anonymous ids of that person: they name events that have no user.
    pub anonymous_ids: Vec<String>,
    /// Only events of this name.
    pub event_name: Option<String>,
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// Most events in the page.
    pub limit: u32,
    /// Events to skip before the page.
    pub offset: u64,
}

/// A range of time with both ends, inclusive, within what the table can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

impl Range {
    /// `None` when no event can lie in it.
    pub(crate) fn new(start_ms: Option<i64>, end_ms: Option<i64>) -> Option<Self> {
        let start_ms = start_ms.unwrap_or(OPEN_START_MS).max(OPEN_START_MS);
        let end_ms = end_ms.unwrap_or(OPEN_END_MS).min(OPEN_END_MS);
        (start_ms <= end_ms).then_some(Self { start_ms, end_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_clamped_to_what_the_table_holds() {
        let cases = [
            (None, None, Some((OPEN_START_MS, OPEN_END_MS))),
            (Some(-5), Some(5), Some((0, 5))),
            (Some(7), Some(7), Some((7, 7))),
            (Some(8), Some(7), None),
            (None, Some(-1), None),
            (Some(i64::MAX), None, None),
            (Some(i64::MIN), Some(i64::MAX), Some((OPEN_START_MS, OPEN_END_MS))),
        ];
        for (start, end, expected) in cases {
            let range = Range::new(start, end).map(|range| (range.start_ms, range.end_ms));
            assert_eq!(range, expected, "{start:?} {end:?}");
        }
    }
}
