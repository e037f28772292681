//! The supported tags and filters, and the translation of the library's errors.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use liquid_core::{Error, Language, Renderable, parser};
use liquid_lib::stdlib;

use super::{SyntaxFault, capture::Capture, escape, filters, loops::Loop, scan::Scan};

static LANGUAGE: LazyLock<Language> = LazyLock::new(language);

fn language() -> Language {
    let mut language = Language::empty();
    let tags = &mut language.tags;
    tags.register("assign".to_owned(), stdlib::AssignTag.into());
    tags.register("break".to_owned(), stdlib::BreakTag.into());
    tags.register("continue".to_owned(), stdlib::ContinueTag.into());
    tags.register("cycle".to_owned(), stdlib::CycleTag.into());
    tags.register("increment".to_owned(), stdlib::IncrementTag.into());
    tags.register("decrement".to_owned(), stdlib::DecrementTag.into());
    let blocks = &mut language.blocks;
    blocks.register("raw".to_owned(), stdlib::RawBlock.into());
    blocks.register("comment".to_owned(), stdlib::CommentBlock.into());
    blocks.register("if".to_owned(), stdlib::IfBlock.into());
    blocks.register("unless".to_owned(), stdlib::UnlessBlock.into());
    blocks.register("case".to_owned(), stdlib::CaseBlock.into());
    blocks.register("for".to_owned(), Loop::For.into());
    blocks.register("tablerow".to_owned(), Loop::TableRow.into());
    blocks.register("capture".to_owned(), Capture.into());
    filters::register(&mut language);
    escape::register(&mut language);
    language
}

pub(super) type Renderables = Vec<Box<dyn Renderable>>;

/// Parses a source that has been scanned.
pub(super) fn parse(source: &str, scan: &Scan) -> Result<Renderables, SyntaxFault> {
    let parsed = catch_unwind(AssertUnwindSafe(|| parser::parse(source, &LANGUAGE)));
    parsed.map_or_else(
        // The library's only panic on a source that the grammar accepts.
        |_| {
            let at = scan.first_number_too_large().unwrap_or_default();
            Err(SyntaxFault::at(source, at, "a number is too large".to_owned()))
        },
        |parsed| parsed.map_err(|error| fault_of(source, scan, &error)),
    )
}

/// The library's error is a drawing: ` --> line:column`, the line itself, and ` = problem`. For a filter it
/// names only the filter, so its position is searched.
fn fault_of(source: &str, scan: &Scan, error: &Error) -> SyntaxFault {
    let text = error.to_string();
    let named = |key: &str| {
        text.lines().find_map(|line| line.trim_start().strip_prefix(key)).map(str::to_owned)
    };
    let unknown = named("requested filter=");
    let message = named("= ").unwrap_or_else(|| first_line(error));
    let problem = match unknown.clone().or_else(|| named("requested=")) {
        Some(name) => format!("{}: {name}", message.trim().trim_end_matches('.')),
        None => message.trim().trim_end_matches('.').to_owned(),
    };
    // Inside tags it does not even name the filter.
    if problem.ends_with("expected FilterChain")
        && let Some((at, name)) = scan.filters().find(|(_, name)| !is_filter(name))
    {
        return SyntaxFault::at(source, at, format!("Unknown filter: {name}"));
    }
    if let Some((line, column)) = drawn(&text) {
        return SyntaxFault { line, column, problem };
    }
    let filter = unknown.or_else(|| named("filter="));
    let at = filter.and_then(|call| scan.first_filter(&call)).unwrap_or_default();
    SyntaxFault::at(source, at, problem)
}

fn is_filter(name: &str) -> bool {
    LANGUAGE.filters.get(name).is_some()
}

/// The position in the drawing.
fn drawn(text: &str) -> Option<(usize, usize)> {
    let (_, place) = text.split_once("--> ")?;
    let (line, column) = place.lines().next()?.trim().split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// The problem without the values involved.
pub(super) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("liquid:").unwrap_or(line).trim().to_owned()
}
