//! Of a key sent twice, the last value stays.

use std::collections::HashMap;

use crate::parse::{Kind, Nesting, Scanner, SyntaxError};

/// Rewrites canonical JSON of bounded depth so that no object holds a key twice. In canonical text
/// two keys are equal when their texts are.
///
/// The slow path: taken only when keys look alike at a glance. The standard `HashMap` is keyed, so
/// that chosen keys cost nothing special.
pub(super) fn keep_last(text: &str) -> Result<String, SyntaxError> {
    let mut out = String::with_capacity(text.len());
    value(text, &mut out, &mut Nesting::default())?;
    Ok(out)
}

fn value(text: &str, out: &mut String, nesting: &mut Nesting) -> Result<(), SyntaxError> {
    match Scanner::new(text).kind()? {
        Kind::Object => object(text, out, nesting),
        Kind::Array => array(text, out, nesting),
        _ => {
            out.push_str(text);
            Ok(())
        }
    }
}

fn object(text: &str, out: &mut String, nesting: &mut Nesting) -> Result<(), SyntaxError> {
    let mut places = HashMap::new();
    let mut entries = Vec::new();
    Scanner::new(text).members(|scanner, key| {
        let start = scanner.position();
        scanner.skip(nesting)?;
        let entry = (key.raw, scanner.since(start));
        let place = *places.entry(key.raw).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(earlier) => *earlier = entry,
            None => entries.push(entry),
        }
        Ok(())
    })?;
    out.push('{');
    for (index, (key, member)) in entries.into_iter().enumerate() {
        out.push_str(if index == 0 { "\"" } else { ",\"" });
        out.push_str(key);
        out.push_str("\":");
        value(member, out, nesting)?;
    }
    out.push('}');
    Ok(())
}

fn array(text: &str, out: &mut String, nesting: &mut Nesting) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(text);
    scanner.advance();
    out.push('[');
    while scanner.peek() != Some(b']') {
        let start = scanner.position();
        scanner.skip(nesting)?;
        value(scanner.since(start), out, nesting)?;
        if scanner.step_over(b',') {
            out.push(',');
        }
    }
    out.push(']');
    Ok(())
}
