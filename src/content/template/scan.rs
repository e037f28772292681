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
    /// Whether it is inside a comment.
    pub(super) hidden: bool,
}

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text outside of `{{ }}` and `{% %}`.
    Text,
    Output,
    Tag,
}

/// A source in parts.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) pieces: Vec<Piece>,
}

impl Scan {
    pub(super) fn of(source: &str) -> Result<Self, SyntaxFault> {
        Scanner { source, at: 0, scan: Self::default(), nesting: 0, comments: 0 }.run()
    }

    /// Whether the variable `name` is output outside of comments, without filters.
    pub(super) fn writes(&self, source: &str, name: &str) -> bool {
        self.pieces.iter().any(|piece| {
            let inner = source.get(piece.range.clone()).unwrap_or_default();
            piece.kind == PieceKind::Output && !piece.hidden && bare(inner) == name
        })
    }

    /// The position of the first call of this filter, including its arguments.
    pub(super) fn first_filter(&self, source: &str, call: &str) -> Option<usize> {
        let is_it = |at: usize, name: &str| {
            let written = source.get(at..).unwrap_or_default();
            call.starts_with(name) && written.starts_with(call.trim())
        };
        self.filters(source).find(|(at, name)| is_it(*at, name)).map(|(at, _)| at)
    }

    /// Every filter's name, and its position.
    pub(super) fn filters<'s>(&self, source: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
        self.markup(source).flat_map(|(start, inner)| {
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
    pub(super) fn first_number_too_large(&self, source: &str) -> Option<usize> {
        let is_digit = |c: char| c.is_ascii_digit();
        self.markup(source).find_map(|(start, inner)| {
            inner.match_indices(is_digit).map(|(at, _)| at).find_map(|at| {
                let goes_on = inner.get(..at).is_some_and(|before| before.ends_with(is_digit));
                let digits = inner.get(at..).unwrap_or_default();
                let digits = digits.split(|c| !is_digit(c)).next().unwrap_or_default();
                (!goes_on && digits.parse::<i64>().is_err()).then_some(start + at)
            })
        })
    }

    /// The markup outside of comments, and its positions.
    fn markup<'s>(&self, source: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
        self.pieces
            .iter()
            .filter(|piece| piece.kind != PieceKind::Text && !piece.hidden)
            .map(|piece| (piece.range.start, source.get(piece.range.clone()).unwrap_or_default()))
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
    scan: Scan,
    nesting: usize,
    comments: usize,
}

impl<'s> Scanner<'s> {
    fn run(mut self) -> Result<Scan, SyntaxFault> {
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
        Ok(self.scan)
    }

    fn rest(&self, from: usize) -> &'s str {
        self.source.get(from..).unwrap_or_default()
    }

    fn fault(&self, at: usize, problem: String) -> SyntaxFault {
        SyntaxFault::at(self.source, at, problem)
    }

    fn push(&mut self, kind: PieceKind, range: Range<usize>) {
        if kind != PieceKind::Text || !range.is_empty() {
            self.scan.pieces.push(Piece { kind, range, hidden: self.comments > 0 });
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
        let name = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        match name.unwrap_or_default() {
            "raw" => {
                let end = end_of_raw(self.rest(self.at));
                self.push(PieceKind::Text, self.at..self.at + end);
                self.at += end;
            }
            "comment" => self.comments += 1,
            "endcomment" => self.comments = self.comments.saturating_sub(1),
            "if" | "unless" | "case" | "for" | "tablerow" | "capture" => {
                self.nesting += 1;
            }
            "endif" | "endunless" | "endcase" | "endfor" | "endtablerow" | "endcapture" => {
                self.nesting = self.nesting.saturating_sub(1);
            }
            _ => {}
        }
        if self.nesting + self.comments > NESTING_MAX {
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
    let ends = |at: &usize| {
        let inner = rest.get(at + 2..).unwrap_or_default();
        let inner = inner.strip_prefix('-').unwrap_or(inner).trim_start();
        inner.strip_prefix("endraw").is_some_and(|after| {
            let after = after.trim_start();
            after.starts_with("%}") || after.starts_with("-%}")
        })
    };
    rest.match_indices("{%").map(|(at, _)| at).find(ends).unwrap_or(rest.len())
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
