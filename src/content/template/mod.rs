//! Liquid, the language of message and page templates, within limits that no template can leave.
//!
//! The language is Shopify's as marketers know it; four things differ from the library that parses it:
//!
//! - What is not there is empty: an unknown variable, a field of one, a null. Nothing fails for its absence.
//! - Output is escaped by where it stands (see [`Form`]); a template cannot forget to.
//! - Size of source, depth, turns of loops, memory and time are bounded (the constants below).
//! - No template includes another, and none reaches a file or a network.

mod capture;
mod escape;
mod filters;
mod language;
mod loops;
mod meter;
mod place;
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
/// Turns of all loops of one rendering together.
pub const TURNS_MAX: u64 = 10_000;
/// Bytes of one value that a filter makes, small values counting 32.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Bytes of all values kept by `assign` and `capture` in one rendering.
pub const KEPT_BYTES_MAX: usize = 4 << 20;
/// Time of one rendering.
pub const RENDER_MAX: Duration = Duration::from_secs(1);

/// What a template makes, which decides how its output is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// HTML: text and attributes as entities, addresses checked and percent-encoded, styles reduced to
    /// what cannot end them.
    Html,
    /// Text for a person: as it is.
    Text,
    /// One line of a message's head: line ends in it are a fault.
    Header,
    /// An address by itself: output is percent-encoded by its place, unless it is where the address
    /// begins. One line.
    Url,
    /// The text of a form (`application/x-www-form-urlencoded`): output is percent-encoded.
    Query,
    /// JSON: output is escaped as inside of a string.
    Json,
}

/// Why a source is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (line {line}, column {column})")]
pub struct SyntaxFault {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in that line, counted in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
}

/// Why a template gave no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderFault {
    /// It wrote more than it may.
    #[error("the template writes more than {0} bytes")]
    Output(usize),
    /// Its loops turned too often.
    #[error("the template's loops turn more than {TURNS_MAX} times")]
    Turns,
    /// A filter made too large a value.
    #[error("the template makes a value of more than {VALUE_BYTES_MAX} bytes")]
    Value,
    /// It kept too much.
    #[error("the template keeps more than {KEPT_BYTES_MAX} bytes")]
    Kept,
    /// It took too long.
    #[error("the template takes longer than {} s", RENDER_MAX.as_secs())]
    Time,
    /// A line end in a header.
    #[error("the template puts a line end into a header")]
    LineEnd,
    /// A filter cannot do what it is asked for.
    #[error("{0}")]
    Filter(String),
}

/// A template, ready to render as often as needed.
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

/// Judges a source without making anything of it: for texts that are kept and rendered later.
///
/// # Errors
/// The first thing that is wrong with it, and where.
pub fn check(source: &str) -> Result<(), SyntaxFault> {
    // Most texts have no markup, and the parser is not cheap.
    if has_markup(source) { written(source).map(drop) } else { fits(source) }
}

/// The source with `stand_in` in the place of every output, and without tags and comments: for who looks
/// at the text around them. What is no template stays as it is.
pub fn blanked(source: &str, stand_in: &str) -> String {
    let Ok(scan) = Scan::of(source) else { return source.to_owned() };
    let shown = scan.pieces.iter().filter(|piece| !piece.hidden);
    let texts = shown.map(|piece| match piece.kind {
        scan::Kind::Text => source.get(piece.range.clone()).unwrap_or_default(),
        scan::Kind::Output => stand_in,
        scan::Kind::Tag => "",
    });
    texts.collect()
}

/// Whether a text has markup at all, or what looks like its beginning.
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

/// Reads a source as it was written.
fn written(source: &str) -> Result<(Scan, language::Renderables), SyntaxFault> {
    fits(source)?;
    let scan = Scan::of(source)?;
    let parsed = language::parse(source, &scan)?;
    Ok((scan, parsed))
}

impl Template {
    /// Reads a source.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn parse(source: &str, form: Form) -> Result<Self, SyntaxFault> {
        // The source as it was written goes first: complaints are about that one.
        let (scan, as_written) = written(source)?;
        let parsed = match form {
            Form::Html | Form::Url | Form::Query | Form::Json => {
                language::parse(&escape::escaping(source, &scan, form), &scan)?
            }
            Form::Text | Form::Header => as_written,
        };
        Ok(Self { parsed: Parsed::new(parsed), form })
    }

    /// Renders with these variables into at most `output_bytes_max` bytes. Blocks the thread for up to
    /// [`RENDER_MAX`]: run it where that is allowed.
    ///
    /// # Errors
    /// A limit that was reached, or a filter that was asked for what it cannot do.
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

/// Whether the source writes the variable `name` somewhere, bare: `{{ name }}`, the space free.
pub fn writes(source: &str, name: &str) -> bool {
    Scan::of(source).is_ok_and(|scan| scan.writes(source, name))
}
