//! The tags and filters there are, and how the library's complaints read.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use liquid_core::{Error, Language, Renderable, parser};
use liquid_lib::stdlib;

use super::{SyntaxFault, capture::Capture, escape, filters, loops::Loop};

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

/// Reads a source that has been scanned.
pub(super) fn parse(source: &str) -> Result<Vec<Box<dyn Renderable>>, SyntaxFault> {
    let parsed = catch_unwind(AssertUnwindSafe(|| parser::parse(source, &LANGUAGE)));
    parsed.map_or_else(
        |_| Err(SyntaxFault { line: 1, problem: "a number is too large".to_owned() }),
        |parsed| parsed.map_err(|error| fault_of(source, &error)),
    )
}

/// The library draws a picture: ` --> line:column`, the line itself, and ` = what is wrong`. Of a filter it
/// only says the name, so its place is looked for.
fn fault_of(source: &str, error: &Error) -> SyntaxFault {
    let text = error.to_string();
    let named = |key: &str| {
        text.lines().find_map(|line| line.trim_start().strip_prefix(key)).map(str::to_owned)
    };
    let drawn = text
        .split_once("--> ")
        .and_then(|(_, place)| place.split(':').next())
        .and_then(|line| line.trim().parse().ok());
    let filter = named("requested filter=");
    let line = drawn
        .or_else(|| filter.as_deref().and_then(|name| line_of_filter(source, name)))
        .unwrap_or(1);
    let said = named("= ").unwrap_or_else(|| first_line(error));
    let problem = match filter.or_else(|| named("requested=")) {
        Some(name) => format!("{}: {name}", said.trim()),
        None => said.trim().to_owned(),
    };
    SyntaxFault { line, problem }
}

/// The line of the first `| name`.
fn line_of_filter(source: &str, name: &str) -> Option<usize> {
    let at = source.match_indices('|').map(|(at, _)| at).find(|at| {
        let call = source.get(at + 1..).unwrap_or_default().trim_start();
        call.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })?;
    Some(source.get(..at)?.matches('\n').count() + 1)
}

/// What is wrong, without the values it happened to.
pub(super) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("liquid:").unwrap_or(line).trim().to_owned()
}
