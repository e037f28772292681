//! Splits a source into text and markup before it is parsed: depth and length are limited here, and escaping
//! needs to distinguish output from the text around it.

use std::ops::Range;

use super::{MARKUP_BYTES_MAX, NESTING_MAX, SyntaxFault};

/// Nested brackets in one markup.
const BRACKETS_MAX: usize = 16;

/// A part of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    /// Its position in bytes; markup without its braces.
    pub(super) range: Range<usize>,
}

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text outside of `{{ }}` and `{% %}`.
    Text,
    /// All that is between `{% comment %}` and its end.
    Comment,
    Output,
    Tag,
}

/// A source in parts.
#[derive(Debug)]
pub(super) struct Scan {
    /// The source, with spaces for the braces inside comments: so the parser finds no markup there, and the end of a
    /// comment is where it was found here.
    pub(super) source: String,
    pub(super) pieces: Vec<Piece>,
}

impl Scan {
    pub(super) fn of(source: &str) -> Result<Self, SyntaxFault> {
        let pieces = Scanner { source, at: 0, pieces: Vec::new(), nesting: 0 }.run()?;
        let mut cleaned = String::with_capacity(source.len());
        for comment in pieces.iter().filter(|piece| piece.kind == PieceKind::Comment) {
            cleaned.push_str(source.get(cleaned.len()..comment.range.start).unwrap_or_default());
            let inner = source.get(comment.range.clone()).unwrap_or_default();
            cleaned.push_str(&inner.replace(['{', '}'], " "));
        }
        cleaned.push_str(source.get(cleaned.len()..).unwrap_or_default());
        Ok(Self { source: cleaned, pieces })
    }

    /// The text of a part.
    pub(super) fn text(&self, piece: &Piece) -> &str {
        self.source.get(piece.range.clone()).unwrap_or_default()
    }

    /// Whether the variable `name` is output outside of comments, without filters.
    pub(super) fn writes(&self, name: &str) -> bool {
        self.pieces
            .iter()
            .any(|piece| piece.kind == PieceKind::Output && bare(self.text(piece)) == name)
    }

    /// The position of the first call of this filter, including its arguments.
    pub(super) fn first_filter(&self, call: &str) -> Option<usize> {
        let is_it = |at: usize, name: &str| {
            let written = self.source.get(at..).unwrap_or_default();
            call.starts_with(name) && written.starts_with(call.trim())
        };
        self.filters().find(|(at, name)| is_it(*at, name)).map(|(at, _)| at)
    }

    /// Every filter's name, and its position.
    pub(super) fn filters(&self) -> impl Iterator<Item = (usize, &str)> {
        self.markup().flat_map(|(start, inner)| {
            inner.match_indices('|').map(move |(bar, _)| {
                let rest = inner.get(bar + 1..).unwrap_or_default();
                let call = rest.trim_start();
                let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                let name: &str = call.split(ends).next().unwrap_or_default();
                (start + bar + 1 + rest.len() - call.len(), name)
            })
        })
    }

    /// The position of the first integer that exceeds 64 bits.
    pub(super) fn first_number_too_large(&self) -> Option<usize> {
        let is_digit = |c: char| c.is_ascii_digit();
        self.markup().find_map(|(start, inner)| {
            inner.match_indices(is_digit).map(|(at, _)| at).find_map(|at| {
                let goes_on = inner.get(..at).is_some_and(|before| before.ends_with(is_digit));
                let digits = inner.get(at..).unwrap_or_default();
                let digits = digits.split(|c| !is_digit(c)).next().unwrap_or_default();
                (!goes_on && digits.parse::<i64>().is_err()).then_some(start + at)
            })
        })
    }

    /// The markup outside of comments, and its positions.
    fn markup(&self) -> impl Iterator<Item = (usize, &str)> {
        self.pieces
            .iter()
            .filter(|piece| matches!(piece.kind, PieceKind::Output | PieceKind::Tag))
            .map(|piece| (piece.range.start, self.text(piece)))
    }
}

/// Markup without the hyphens that strip space around it.
pub(super) fn bare(inner: &str) -> &str {
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    inner.strip_suffix('-').unwrap_or(inner).trim()
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
    pieces: Vec<Piece>,
    nesting: usize,
}

impl<'s> Scanner<'s> {
    fn run(mut self) -> Result<Vec<Piece>, SyntaxFault> {
        while let Some((start, kind)) = self.opening() {
            let inner_start = start + 2;
            let Some(len) = closing(self.rest(inner_start), kind) else { break };
            if len > MARKUP_BYTES_MAX {
                let problem = format!("markup is longer than {MARKUP_BYTES_MAX} bytes");
                return Err(self.fault(start, problem));
            }
            self.push(PieceKind::Text, self.at..start);
            let range = inner_start..inner_start + len;
            let inner = self.source.get(range.clone()).unwrap_or_default();
            if brackets(inner) > BRACKETS_MAX {
                return Err(self.fault(start, "brackets are nested too deep".to_owned()));
            }
            self.push(kind, range);
            self.at = inner_start + len + 2;
            if kind == PieceKind::Tag {
                self.tag(bare(inner), start)?;
            }
        }
        self.push(PieceKind::Text, self.at..self.source.len());
        Ok(self.pieces)
    }

    fn rest(&self, from: usize) -> &'s str {
        self.source.get(from..).unwrap_or_default()
    }

    fn fault(&self, at: usize, problem: String) -> SyntaxFault {
        SyntaxFault::at(self.source, at, problem)
    }

    fn push(&mut self, kind: PieceKind, range: Range<usize>) {
        if kind != PieceKind::Text || !range.is_empty() {
            self.pieces.push(Piece { kind, range });
        }
    }

    /// The next position where markup begins.
    fn opening(&self) -> Option<(usize, PieceKind)> {
        let rest = self.rest(self.at);
        rest.match_indices('{').find_map(|(at, _)| match rest.as_bytes().get(at + 1) {
            Some(b'{') => Some((self.at + at, PieceKind::Output)),
            Some(b'%') => Some((self.at + at, PieceKind::Tag)),
            _ => None,
        })
    }

    /// Follows blocks in and out.
    fn tag(&mut self, inner: &str, start: usize) -> Result<(), SyntaxFault> {
        match name_of(inner) {
            "raw" => {
                let end = end_of_raw(self.rest(self.at));
                self.push(PieceKind::Text, self.at..self.at + end);
                self.at += end;
            }
            "comment" => {
                let end = end_of_comment(self.rest(self.at));
                self.push(PieceKind::Comment, self.at..self.at + end);
                self.at += end;
            }
            "if" | "unless" | "case" | "for" | "tablerow" | "capture" => {
                self.nesting += 1;
            }
            "endif" | "endunless" | "endcase" | "endfor" | "endtablerow" | "endcapture" => {
                self.nesting = self.nesting.saturating_sub(1);
            }
            _ => {}
        }
        if self.nesting > NESTING_MAX {
            let problem = format!("blocks are nested deeper than {NESTING_MAX}");
            return Err(self.fault(start, problem));
        }
        Ok(())
    }
}

/// Bytes up to the end of the markup; quoted texts are skipped.
fn closing(rest: &str, kind: PieceKind) -> Option<usize> {
    let close: &[u8] = if kind == PieceKind::Output { b"}}" } else { b"%}" };
    let bytes = rest.as_bytes();
    let (mut at, mut quote) = (0, None);
    while let Some(&byte) = bytes.get(at) {
        match quote {
            Some(open) => quote = (byte != open).then_some(open),
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            None if bytes.get(at..at + 2) == Some(close) => return Some(at),
            None => {}
        }
        at += 1;
    }
    None
}

/// Bytes up to `{% endraw %}`; the whole text if it is missing.
fn end_of_raw(rest: &str) -> usize {
    tags_without_arguments(rest)
        .find_map(|(at, name)| (name == "endraw").then_some(at))
        .unwrap_or(rest.len())
}

/// Bytes up to the `{% endcomment %}` of a comment, which may have others inside; the whole text if it is missing.
fn end_of_comment(rest: &str) -> usize {
    let mut depth = 1_usize;
    for (at, name) in tags_without_arguments(rest) {
        match name {
            "comment" => depth += 1,
            "endcomment" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Names of tags that have nothing else, and where they begin. Other text need not be valid.
fn tags_without_arguments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("{%").filter_map(|(at, _)| {
        let inner = text.get(at + 2..)?;
        let inner = inner.strip_prefix('-').unwrap_or(inner).trim_start();
        let name = name_of(inner);
        let after = inner.get(name.len()..)?.trim_start();
        (after.starts_with("%}") || after.starts_with("-%}")).then_some((at, name))
    })
}

/// The name that a tag begins with.
fn name_of(inner: &str) -> &str {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    inner.split(ends).next().unwrap_or_default()
}

/// The depth of nested brackets outside quotes: the parser follows them by recursion.
fn brackets(inner: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in inner.bytes() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
