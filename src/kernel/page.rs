//! The part of a list that a request asks for.

/// A page of a list by offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWindow {
    /// Most rows of the page.
    pub limit: u32,
    /// Number of rows before the page.
    pub offset: u64,
}

impl PageWindow {
    /// The argument of `limit` in SQL.
    pub fn limit(self) -> i64 {
        i64::from(self.limit)
    }

    /// The argument of `offset` in SQL.
    pub fn offset(self) -> i64 {
        i64::try_from(self.offset).unwrap_or(i64::MAX)
    }
}
