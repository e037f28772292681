//! Escapes output by its context in the document, with a final filter that no template can omit.

use std::fmt::{self, Write as _};

use liquid_core::{
    Error, Filter, Language, ParseFilter, Result, Runtime, Value, ValueView,
    parser::{FilterArguments, FilterReflection, ParameterReflection},
};

use super::{
    Form,
    output_context::{OutputContext, Reader},
    scan::{PieceKind, Scan, bare},
};

/// Allowed schemes of an address.
const SCHEMES: &[&str] = &["http", "https", "mailto", "tel", "sms"];
/// Replaces an address with another scheme.
const NO_ADDRESS: &str = "#";

impl OutputContext {
    const ALL: [Self; 9] = [
        Self::Text,
        Self::Bare,
        Self::Address,
        Self::Whole,
        Self::Path,
        Self::Query,
        Self::Style,
        Self::Name,
        Self::Json,
    ];

    /// The filter's name; the underscores keep templates from using it by accident.
    fn filter(self) -> &'static str {
        match self {
            Self::Text => "__text",
            Self::Bare => "__bare",
            Self::Address => "__address",
            Self::Whole => "__whole",
            Self::Path => "__path",
            Self::Query => "__query",
            Self::Style => "__style",
            Self::Name => "__name",
            Self::Json => "__json",
        }
    }

    fn escape(self, text: &str) -> String {
        match self {
            Self::Text => entities(text, false),
            Self::Bare => entities(text, true),
            Self::Address => address(text),
            Self::Whole => whole(text),
            Self::Path => percent(text, b"-._~/"),
            Self::Query => percent(text, b"-._~"),
            Self::Style => only(text, " #%.,_-"),
            Self::Name => only(text, "_-"),
            Self::Json => in_quotes(text),
        }
    }
}

/// Adds the filters to the language.
pub(super) fn register(language: &mut Language) {
    for context in OutputContext::ALL {
        language.filters.register(context.filter().to_owned(), Escape(context).into());
    }
}

/// Tracks the context of the next output.
enum Around {
    Html(Box<Reader>),
    /// In an address: its text so far.
    Url(String),
    /// The same context everywhere.
    Same(OutputContext),
}

impl Around {
    fn of(form: Form) -> Self {
        match form {
            Form::Html => Self::Html(Box::new(Reader::new())),
            Form::Url => Self::Url(String::new()),
            Form::Query => Self::Same(OutputContext::Query),
            Form::Json => Self::Same(OutputContext::Json),
            Form::Text | Form::Header => Self::Same(OutputContext::Text),
        }
    }

    fn read(&mut self, text: &str) {
        match self {
            Self::Html(reader) => reader.read(text),
            Self::Url(before) => before.push_str(text.trim_start()),
            Self::Same(_) => {}
        }
    }

    fn skip_output(&mut self) {
        match self {
            Self::Html(reader) => reader.skip_output(),
            Self::Url(before) => before.push('x'),
            Self::Same(_) => {}
        }
    }

    fn context(&self) -> OutputContext {
        match self {
            Self::Html(reader) => reader.context(),
            Self::Url(before) if before.is_empty() => OutputContext::Whole,
            Self::Url(before) if before.contains(['?', '#']) => OutputContext::Query,
            Self::Url(_) => OutputContext::Path,
            Self::Same(context) => *context,
        }
    }
}

/// The source with an escape filter on every output. Line numbers do not change.
pub(super) fn escaping(scan: &Scan, form: Form) -> String {
    let source = scan.source.as_str();
    let mut escaped = String::with_capacity(source.len() * 2);
    let mut reader = Around::of(form);
    let mut copied = 0;
    for piece in &scan.pieces {
        let inner = scan.text(piece);
        match piece.kind {
            PieceKind::Text => reader.read(inner),
            PieceKind::Tag | PieceKind::Comment => {}
            PieceKind::Output => {
                let at = piece.range.start + insertion(inner, reader.context());
                escaped.push_str(source.get(copied..at).unwrap_or_default());
                if let Some(filter) = needed(inner, reader.context()) {
                    let _ = write!(escaped, " | {filter} ");
                }
                copied = at;
                reader.skip_output();
            }
        }
    }
    escaped.push_str(source.get(copied..).unwrap_or_default());
    escaped
}

/// Where in the markup the filter goes: at its end, but before a filter that converts line breaks to HTML.
fn insertion(inner: &str, context: OutputContext) -> usize {
    let end = inner.strip_suffix('-').unwrap_or(inner).trim_end().len();
    let chain = inner.get(..end).unwrap_or_default();
    match last_filter(chain) {
        Some((at, "newline_to_br")) if context == OutputContext::Text => {
            chain.get(..at).unwrap_or_default().trim_end().len()
        }
        _ => end,
    }
}

/// The missing filter; none if the template escapes for this context itself.
fn needed(inner: &str, context: OutputContext) -> Option<&'static str> {
    let chain = inner.get(..insertion(inner, context)).unwrap_or_default();
    let own = last_filter(chain).map(|(_, name)| name);
    // Percent signs and letters are safe in every part of an address.
    let escaped = matches!(
        (own, context),
        (Some("escape" | "escape_once"), OutputContext::Text)
            | (Some("url_encode"), OutputContext::Path | OutputContext::Query)
    );
    (!escaped && !bare(chain).is_empty()).then(|| context.filter())
}

/// The last filter of a chain, and the position of its bar.
fn last_filter(chain: &str) -> Option<(usize, &str)> {
    let mut quote = None;
    let mut bar = None;
    for (at, letter) in chain.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|') => bar = Some(at),
            _ => {}
        }
    }
    let at = bar?;
    let call = chain.get(at + 1..)?.trim_start();
    let name = call.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    Some((at, name))
}

/// Text with entities; without quotes around the value more characters end it.
fn entities(text: &str, bare: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '=' | '`' | '/' if bare => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            _ if bare && letter.is_whitespace() => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            '\0' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// An address with an allowed scheme, or a relative one.
fn address(text: &str) -> String {
    let text = text.trim();
    let head = text.split(['/', '?', '#']).next().unwrap_or_default();
    let scheme = head.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    if scheme.is_some_and(|scheme| !SCHEMES.contains(&scheme.as_str())) {
        return NO_ADDRESS.to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Browsers drop control characters, and could find another scheme behind them.
            _ if letter.is_control() => {}
            '"' | '<' | '>' | '`' | '\'' | ' ' | '\\' => {
                let _ = write!(escaped, "%{:02X}", u32::from(letter));
            }
            '&' => escaped.push_str("&amp;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// An address that fills a field: unchanged except for characters that no address has.
fn whole(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.trim().chars() {
        match letter {
            _ if letter.is_control() => {}
            '"' | '<' | '>' | '`' | ' ' | '\\' => {
                let _ = write!(escaped, "%{:02X}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Text inside a JSON string (RFC 8259 7); numbers stay numbers.
fn in_quotes(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ if letter.is_control() => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

fn percent(text: &str, kept: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn only(text: &str, kept: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric() || kept.contains(*letter)).collect()
}

/// The filter of a context.
#[derive(Debug, Clone, Copy)]
struct Escape(OutputContext);

impl FilterReflection for Escape {
    fn name(&self) -> &str {
        self.0.filter()
    }

    fn description(&self) -> &'static str {
        "escapes for its context"
    }

    fn positional_parameters(&self) -> &'static [ParameterReflection] {
        &[]
    }

    fn keyword_parameters(&self) -> &'static [ParameterReflection] {
        &[]
    }
}

impl ParseFilter for Escape {
    fn parse(&self, mut arguments: FilterArguments<'_>) -> Result<Box<dyn Filter>> {
        if arguments.positional.next().is_some() || arguments.keyword.next().is_some() {
            return Err(Error::with_msg("this filter takes no arguments"));
        }
        Ok(Box::new(*self))
    }

    fn reflection(&self) -> &dyn FilterReflection {
        self
    }
}

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.filter())
    }
}

impl Filter for Escape {
    fn evaluate(&self, input: &dyn ValueView, _: &dyn Runtime) -> Result<Value> {
        Ok(Value::scalar(self.0.escape(&input.to_kstr())))
    }
}
