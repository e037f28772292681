//! Liquid, the language of message and page templates, within limits that templates cannot exceed.
//!
//! The language is Shopify's; four things differ from the library that parses it:
//!
//! - Missing values are empty: an unknown variable, a field of one, a null. Nothing fails because a value is
//!   missing.
//! - Output is escaped by its context (see [`Form`]); a template cannot forget to.
//! - Size of source, depth, iterations of loops, memory and time are limited (the constants below).
//! - Templates cannot include each other, and have no access to files or the network.

mod capture;
mod escape;
mod filters;
mod language;
mod loops;
mod meter;
mod output_context;
mod runtime;
mod scan;

#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use liquid_core::{Renderable as _, runtime::Template as Parsed};

use self::{meter::Meter, scan::Scan};

pub use liquid_core::{Object, Value, to_object};

/// Bytes of a template's source.
pub const SOURCE_BYTES_MAX: usize = 256 << 10;
/// Bytes between `{{` and `}}`, or `{%` and `%}`.
pub const MARKUP_BYTES_MAX: usize = 4 << 10;
pub const NESTING_MAX: usize = 32;
/// Iterations of all loops of one rendering together.
pub const ITERATIONS_MAX: u64 = 10_000;
/// Bytes of one value that a filter creates; a small value counts as 32.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Bytes of all values stored by `assign` and `capture` in one rendering.
pub const KEPT_BYTES_MAX: usize = 4 << 20;
/// Timeout of one rendering.
pub const RENDER_MAX: Duration = Duration::from_secs(1);

/// The kind of a template's output, which determines the escaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// HTML: text and attributes with entities, addresses checked and percent-encoded, styles restricted to
    /// characters that cannot end them.
    Html,
    /// Plain text, without escaping.
    Text,
    /// A line of a message's header: line breaks are a fault.
    Header,
    /// An address by itself: output is percent-encoded by its context, unless the address begins with it. One
    /// line.
    Url,
    /// Form data (`application/x-www-form-urlencoded`): output is percent-encoded.
    Query,
    /// JSON: output is escaped as inside a string.
    Json,
}

/// A syntax error of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (line {line}, column {column})")]
pub struct SyntaxFault {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    pub problem: String,
}

/// Why a rendering failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderFault {
    /// The output was too large.
    #[error("the template writes more than {0} bytes")]
    Output(usize),
    /// Its loops had too many iterations.
    #[error("the template's loops turn more than {ITERATIONS_MAX} times")]
    Iterations,
    /// A filter's result was too large.
    #[error("the template makes a value of more than {VALUE_BYTES_MAX} bytes")]
    Value,
    /// Stored values were too large.
    #[error("the template keeps more than {KEPT_BYTES_MAX} bytes")]
    Kept,
    /// It exceeded its timeout.
    #[error("the template takes longer than {} s", RENDER_MAX.as_secs())]
    Time,
    /// A line break in a header.
    #[error("the template puts a line end into a header")]
    LineEnd,
    /// A filter refused its input.
    #[error("{0}")]
    Filter(String),
}

/// A parsed template, which can be rendered repeatedly.
#[derive(Debug)]
pub struct Template {
    parsed: Parsed,
    form: Form,
}

impl SyntaxFault {
    /// A fault at this byte of a source.
    fn at(source: &str, byte: usize, problem: String) -> Self {
        let before = source.get(..byte).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column, problem }
    }
}

/// Checks a source that is stored and rendered later.
///
/// # Errors
/// The first syntax error.
pub fn check(source: &str) -> Result<(), SyntaxFault> {
    // Most texts have no markup, and the parser is not cheap.
    if has_markup(source) { written(source).map(drop) } else { fits(source) }
}

/// The source with `stand_in` for every output, and without tags and comments, for checks of the text around
/// them. An invalid template stays unchanged.
pub fn blanked(source: &str, stand_in: &str) -> String {
    let Ok(scan) = Scan::of(source) else { return source.to_owned() };
    let texts = scan.pieces.iter().map(|piece| match piece.kind {
        scan::PieceKind::Text => scan.text(piece),
        scan::PieceKind::Output => stand_in,
        scan::PieceKind::Tag | scan::PieceKind::Comment => "",
    });
    texts.collect()
}

/// Whether a text has markup, or a beginning of it.
pub fn has_markup(source: &str) -> bool {
    source.contains("{{") || source.contains("{%")
}

fn fits(source: &str) -> Result<(), SyntaxFault> {
    if source.len() > SOURCE_BYTES_MAX {
        let problem = format!("the template is larger than {SOURCE_BYTES_MAX} bytes");
        return Err(SyntaxFault::at(source, 0, problem));
    }
    Ok(())
}

/// Parses a source without escape filters.
fn written(source: &str) -> Result<(Scan, language::Renderables), SyntaxFault> {
    fits(source)?;
    let scan = Scan::of(source)?;
    let parsed = language::parse(&scan.source, &scan)?;
    Ok((scan, parsed))
}

impl Template {
    /// Parses a source.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse(source: &str, form: Form) -> Result<Self, SyntaxFault> {
        // The original source goes first, since errors must refer to it.
        let (scan, as_written) = written(source)?;
        let parsed = match form {
            Form::Html | Form::Url | Form::Query | Form::Json => {
                language::parse(&escape::escaping(&scan, form), &scan)?
            }
            Form::Text | Form::Header => as_written,
        };
        Ok(Self { parsed: Parsed::new(parsed), form })
    }

    /// Renders with these variables into at most `output_bytes_max` bytes. Blocks the thread for up to
    /// [`RENDER_MAX`].
    ///
    /// # Errors
    /// A limit that was reached, or a filter that refused its input.
    pub fn render(&self, globals: &Object, output_bytes_max: usize) -> Result<String, RenderFault> {
        let frame = runtime::Frame::new(globals, Meter::starting(RENDER_MAX));
        let mut output = meter::Output::new(output_bytes_max);
        // The library's arithmetic panics on some numbers.
        let ended = catch_unwind(AssertUnwindSafe(|| self.parsed.render_to(&mut output, &frame)));
        if output.is_over() {
            return Err(RenderFault::Output(output_bytes_max));
        }
        if let Some(fault) = frame.fault() {
            return Err(fault);
        }
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(RenderFault::Filter(language::first_line(&error))),
            Err(_) => {
                return Err(RenderFault::Filter("a number is too large to count with".to_owned()));
            }
        }
        let text = output.into_text();
        if matches!(self.form, Form::Header | Form::Url) && text.contains(['\r', '\n', '\0']) {
            return Err(RenderFault::LineEnd);
        }
        Ok(text)
    }
}

/// Whether the source outputs the plain variable `name`: `{{ name }}`, with or without spaces.
pub fn writes(source: &str, name: &str) -> bool {
    Scan::of(source).is_ok_and(|scan| scan.writes(name))
}
