//! Tables, which scroll by themselves on narrow screens, and the way through their pages.

use maud::{Markup, html};

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column<'c> {
    pub label: &'c str,
    /// Numbers stand at the right.
    pub is_number: bool,
}

impl<'c> Column<'c> {
    pub const fn text(label: &'c str) -> Self {
        Self { label, is_number: false }
    }

    pub const fn number(label: &'c str) -> Self {
        Self { label, is_number: true }
    }
}

/// A table with a caption for screen readers. A row has a cell for each column.
pub fn table(caption: &str, columns: &[Column<'_>], rows: &[Vec<Markup>]) -> Markup {
    let class = |column: &Column<'_>| column.is_number.then_some("number");
    html! {
        div class="table" tabindex="0" role="region" aria-label=(caption) {
            table {
                caption class="unseen" { (caption) }
                thead {
                    tr { @for column in columns { th scope="col" class=[class(column)] { (column.label) } } }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in columns.iter().zip(row) {
                                td class=[class(column)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Links to the page before and the page after, where there are some.
pub fn pager(before: Option<&str>, after: Option<&str>) -> Markup {
    html! {
        @if before.is_some() || after.is_some() {
            nav class="pager" aria-label="Pages" {
                @if let Some(href) = before { a class="button" rel="prev" href=(href) { "Previous" } }
                @if let Some(href) = after { a class="button" rel="next" href=(href) { "Next" } }
            }
        }
    }
}
