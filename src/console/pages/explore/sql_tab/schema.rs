//! The views that statements may read.

use maud::{Markup, html};

use super::answer::{self, Answer, text_of};
use crate::{
    view::{self, Column},
    visitor::Visitor,
};

const COLUMNS: &str = "SELECT table, name, type, comment FROM system.columns \
                       WHERE database = 'millrace' ORDER BY table, position";

/// The views with their columns.
pub(super) async fn card(visitor: &Visitor) -> Markup {
    let rows = match answer::ask(visitor, COLUMNS).await {
        Ok(Answer::Rows(rows)) => rows.values,
        Ok(Answer::Text(_)) => Vec::new(),
        Err(failure) => return failure.card("Views"),
    };
    let columns = [Column::text("Column"), Column::text("Type"), Column::text("What it is")];
    let views = rows.chunk_by(|one, other| one.first() == other.first());
    view::card(
        "Views",
        &html! {
            @for rows in views {
                @let name = rows.first().and_then(|row| row.first()).map(text_of).unwrap_or_default();
                @let cells: Vec<Vec<Markup>> = rows
                    .iter()
                    .map(|row| row.iter().skip(1).map(|value| html! { (text_of(value)) }).collect())
                    .collect();
                details { summary { code { (name) } } (view::table(&name, &columns, &cells)) }
            }
        },
    )
}
