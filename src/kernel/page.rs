//! The part of a list that a request asks for, and its position in answers.

use serde::Serialize;
use utoipa::ToSchema;

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

/// The position of a page in its list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    total: u64,
    limit: u32,
    offset: u64,
    has_more: bool,
}

impl Pagination {
    /// The position of a page with so many rows in a list of `total`.
    pub fn new(PageWindow { limit, offset }: PageWindow, shown: usize, total: u64) -> Self {
        let shown = shown as u64;
        let has_more = shown > 0 && offset.saturating_add(shown) < total;
        Self { total, limit, offset, has_more }
    }
}
