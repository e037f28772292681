//! Tags taken apart where they stand, as browsers do
//! ([HTML 13.2.5](https://html.spec.whatwg.org/multipage/parsing.html#tokenization)): by byte, without
//! copying, so that a document can be changed where it matters and stay as it is elsewhere.

use std::ops::Range;

/// What begins with a `<`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Markup {
    /// A tag that begins an element.
    Start(Tag),
    /// A tag that ends one: its name.
    End(Range<usize>),
    /// A comment, a doctype, or what is taken for a comment.
    Comment,
    /// No markup: the character itself.
    Text,
    /// A tag that the document's end cuts off.
    Cut,
}

/// A tag that begins an element, by places in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: Range<usize>,
    /// Its attributes as they stand, each name once.
    pub(super) attributes: Range<usize>,
}

/// An attribute, by places in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) is_quoted: bool,
}

fn byte(html: &str, at: usize) -> Option<u8> {
    html.as_bytes().get(at).copied()
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// Where the first byte is, from a place on, that is one of these; the document's end where none is.
fn find(html: &str, from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = html.as_bytes().get(from..).unwrap_or_default();
    rest.iter().position(|byte| wanted(*byte)).map_or(html.len(), |at| from + at)
}

fn find_text(html: &str, from: usize, wanted: &str) -> Option<usize> {
    html.get(from..).and_then(|rest| rest.find(wanted)).map(|at| from + at)
}

/// Reads what begins with the `<` at a place: what it is, and where it ends.
pub(super) fn read(html: &str, at: usize) -> (Markup, usize) {
    let after = at + 1;
    match (byte(html, after), byte(html, after + 1)) {
        (Some(b'!'), _) => (Markup::Comment, comment_end(html, after + 1)),
        (Some(b'?'), _) => (Markup::Comment, past(html, after)),
        (Some(b'/'), Some(b'>')) => (Markup::Comment, after + 2),
        (Some(b'/'), Some(next)) if next.is_ascii_alphabetic() => {
            let name = name(html, after + 1);
            match attributes_end(html, name.end) {
                Some(end) => (Markup::End(name), end + 1),
                None => (Markup::Cut, html.len()),
            }
        }
        (Some(b'/'), Some(_)) => (Markup::Comment, past(html, after + 1)),
        (Some(next), _) if next.is_ascii_alphabetic() => {
            let name = name(html, after);
            match attributes_end(html, name.end) {
                Some(end) => {
                    let attributes = name.end..end;
                    (Markup::Start(Tag { name, attributes }), end + 1)
                }
                None => (Markup::Cut, html.len()),
            }
        }
        _ => (Markup::Text, after),
    }
}

fn past(html: &str, from: usize) -> usize {
    (find(html, from, |byte| byte == b'>') + 1).min(html.len())
}

/// Where a comment or doctype ends whose `<!` ends at a place.
fn comment_end(html: &str, from: usize) -> usize {
    let Some(rest) = html.get(from..).and_then(|rest| rest.strip_prefix("--")) else {
        // A doctype, too, ends at the first `>`, be it in quotes.
        return past(html, from);
    };
    let inner = from + 2;
    if rest.starts_with('>') {
        return inner + 1;
    }
    if rest.starts_with("->") {
        return inner + 2;
    }
    let mut at = inner;
    while let Some(dashes) = find_text(html, at, "--") {
        let after = html.get(dashes + 2..).unwrap_or_default();
        if after.starts_with('>') {
            return dashes + 3;
        }
        if after.starts_with("!>") {
            return dashes + 4;
        }
        at = dashes + 1;
    }
    html.len()
}

fn name(html: &str, from: usize) -> Range<usize> {
    from..find(html, from, |byte| is_space(byte) || matches!(byte, b'/' | b'>'))
}

/// Where the `>` is that ends a tag's attributes.
fn attributes_end(html: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = find(html, at, |byte| !is_space(byte) && byte != b'/');
        match byte(html, at)? {
            b'>' => return Some(at),
            _ => at = attribute(html, at)?.1,
        }
    }
}

/// The attribute at a place, and where to read on; nothing where the document's end cuts it off.
fn attribute(html: &str, at: usize) -> Option<(Attribute, usize)> {
    // A name may begin with `=`, but not go on with one.
    let ends = |byte: u8| is_space(byte) || matches!(byte, b'/' | b'>' | b'=');
    let name = at..find(html, at + 1, ends);
    let sign = find(html, name.end, |byte| !is_space(byte));
    if byte(html, sign)? != b'=' {
        let none = name.end..name.end;
        return Some((Attribute { name: name.clone(), value: none, is_quoted: false }, name.end));
    }
    let start = find(html, sign + 1, |byte| !is_space(byte));
    let (value, is_quoted, next) = match byte(html, start)? {
        quote @ (b'"' | b'\'') => {
            let end = find(html, start + 1, |byte| byte == quote);
            byte(html, end)?;
            (start + 1..end, true, end + 1)
        }
        b'>' => (start..start, false, start),
        _ => {
            let end = find(html, start, |byte| is_space(byte) || byte == b'>');
            byte(html, end)?;
            (start..end, false, end)
        }
    };
    Some((Attribute { name, value, is_quoted }, next))
}

/// The attributes of a tag, in order.
pub(super) fn attributes(html: &str, tag: &Tag) -> impl Iterator<Item = Attribute> {
    let (mut at, end) = (tag.attributes.start, tag.attributes.end);
    std::iter::from_fn(move || {
        at = find(html, at, |byte| !is_space(byte) && byte != b'/');
        if at >= end {
            return None;
        }
        let (attribute, next) = attribute(html, at)?;
        at = next;
        Some(attribute)
    })
}

/// Where an element ends whose content is no markup: its end tag's place, or the document's end.
pub(super) fn raw_end(html: &str, from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(open) = find_text(html, at, "</") {
        let begin = open + 2;
        let is_it = html
            .get(begin..begin + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name));
        let next = byte(html, begin + name.len());
        if is_it && next.is_some_and(|next| is_space(next) || matches!(next, b'/' | b'>')) {
            return open;
        }
        at = begin;
    }
    html.len()
}
