//! Pages of lists. One policy: a value that is not a number or a limit below 1 is the default, a limit that is
//! too large is clamped, and a negative offset is 0. Answers return the applied values.

use super::query::{FromQuery, QueryFields};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetPage<const DEFAULT: u32, const MAX: u32> {
    /// Rows of this page, 1 to `MAX`.
    pub limit: u32,
    pub offset: u64,
}

impl<const DEFAULT: u32, const MAX: u32> FromQuery for OffsetPage<DEFAULT, MAX> {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self {
            limit: size(query, DEFAULT, MAX),
            offset: query.whole_number("offset").map_or(0, |offset| offset.max(0).unsigned_abs()),
        }
    }
}

/// `page`, counted from 1, and `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedPage<const DEFAULT: u32, const MAX: u32> {
    /// Number of the page, from 1.
    pub page: u32,
    /// Rows of a page, 1 to `MAX`.
    pub limit: u32,
}

impl<const DEFAULT: u32, const MAX: u32> NumberedPage<DEFAULT, MAX> {
    /// Rows before this page.
    pub fn offset(&self) -> u64 {
        u64::from(self.page - 1) * u64::from(self.limit)
    }
}

impl<const DEFAULT: u32, const MAX: u32> FromQuery for NumberedPage<DEFAULT, MAX> {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { page: size_of(query, "page", 1, u32::MAX), limit: size(query, DEFAULT, MAX) }
    }
}

fn size(query: &QueryFields<'_>, default: u32, max: u32) -> u32 {
    size_of(query, "limit", default, max)
}

fn size_of(query: &QueryFields<'_>, name: &str, default: u32, max: u32) -> u32 {
    match query.whole_number(name) {
        Some(number) if number >= 1 => u32::try_from(number).unwrap_or(u32::MAX).min(max),
        _ => default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::query::read;

    #[test]
    fn limits_and_offsets_follow_the_one_policy() {
        let table = [
            ("", 100, 0),
            ("limit=5&offset=7", 5, 7),
            ("limit=1000", 1000, 0),
            ("limit=1001", 1000, 0),
            ("limit=99999999999999999999", 1000, 0),
            ("limit=0", 100, 0),
            ("limit=-3", 100, 0),
            ("limit=abc&offset=x", 100, 0),
            ("limit=", 100, 0),
            ("limit=5.5", 100, 0),
            ("limit=1e3", 100, 0),
            ("offset=-1", 100, 0),
            ("limit=2&limit=3", 3, 0),
        ];
        for (text, limit, offset) in table {
            let page = read::<OffsetPage<100, 1000>>(text).unwrap();
            assert_eq!(page, OffsetPage { limit, offset }, "{text}");
        }
    }

    #[test]
    fn an_offset_past_every_number_stays_a_number() {
        let page = read::<OffsetPage<1, 1>>("offset=99999999999999999999999").unwrap();
        assert_eq!(page.offset, i64::MAX.unsigned_abs());
    }

    #[test]
    fn pages_are_counted_from_one() {
        let table =
            [("", 1, 0), ("page=3", 3, 40), ("page=0", 1, 0), ("page=-2", 1, 0), ("page=x", 1, 0)];
        for (text, number, offset) in table {
            let page = read::<NumberedPage<20, 100>>(text).unwrap();
            assert_eq!((page.page, page.offset()), (number, offset), "{text}");
        }
        let last = read::<NumberedPage<20, 100>>("page=99999999999&limit=100").unwrap();
        assert_eq!(last.offset(), u64::from(u32::MAX - 1) * 100);
    }
}
