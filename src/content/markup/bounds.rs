//! Limits on the shape of HTML, checked before it is parsed: some parsers compare all attributes of an
//! element with each other, or follow nesting by recursion.

/// Nested elements, not counting those whose end tag may be omitted.
pub const DEPTH_MAX: usize = 200;
/// Attributes of one element.
pub const ATTRIBUTES_MAX: usize = 200;

/// Elements without an end tag, or whose end tag may be omitted (HTML 13.1.2.4): they would seem to nest.
const NOT_NESTING: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "colgroup",
    "caption", "option", "optgroup", "rt", "rp", "html", "head", "body",
];
/// Elements whose content is not markup.
const RAW: &[&str] =
    &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Checks a document in one pass over its bytes.
///
/// # Errors
/// The limit that is exceeded.
pub fn is_bounded(html: &str) -> Result<(), String> {
    let (mut rest, mut depth) = (html, 0_usize);
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if let Some(end) = after.strip_prefix('/') {
            let nests = !NOT_NESTING.contains(&name_of(end).as_str());
            depth = depth.saturating_sub(usize::from(nests));
        } else if after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = name_of(after);
            let tag = Tag::at(after.get(name.len()..).unwrap_or_default());
            if tag.attributes > ATTRIBUTES_MAX {
                return Err(format!(
                    "must not have an element with more than {ATTRIBUTES_MAX} attributes"
                ));
            }
            rest = tag.rest;
            if RAW.contains(&name.as_str()) {
                rest = after_raw(rest, &name);
            } else if !NOT_NESTING.contains(&name.as_str()) && !tag.closed {
                depth += 1;
            }
        }
        if depth > DEPTH_MAX {
            return Err(format!("must not nest elements deeper than {DEPTH_MAX}"));
        }
    }
    Ok(())
}

/// The name at the start of a tag, in lower case; a long one is truncated, since it is no known name.
fn name_of(tag: &str) -> String {
    let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
    tag.split(ends).next().unwrap_or_default().to_ascii_lowercase()
}

/// The text after the end of an element whose content is not markup.
fn after_raw<'h>(rest: &'h str, name: &str) -> &'h str {
    let is_end = |at: &usize| {
        let tag = rest.get(at + 2..at + 2 + name.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name))
    };
    let end = rest.match_indices("</").map(|(at, _)| at).find(is_end);
    end.and_then(|at| rest.get(at..)).unwrap_or_default()
}

/// The rest of a tag after its name.
struct Tag<'h> {
    attributes: usize,
    closed: bool,
    rest: &'h str,
}

impl<'h> Tag<'h> {
    fn at(tag: &'h str) -> Self {
        let (mut attributes, mut quote, mut before) = (0, None, ' ');
        for (at, letter) in tag.char_indices() {
            match (quote, letter) {
                (Some(open), _) if letter == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if before == '=' => quote = Some(letter),
                (None, '>') => {
                    let rest = tag.get(at + 1..).unwrap_or_default();
                    return Self { attributes, closed: before == '/', rest };
                }
                (None, _) => {
                    let begins = before.is_ascii_whitespace() || matches!(before, '/' | '"' | '\'');
                    let is_name = !letter.is_ascii_whitespace() && !matches!(letter, '/' | '=');
                    attributes += usize::from(begins && is_name);
                }
            }
            // Space around `=` does not separate a value from its name.
            if !(before == '=' && letter.is_ascii_whitespace()) {
                before = letter;
            }
        }
        Self { attributes, closed: true, rest: "" }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::cpu_time::CpuTime;

    fn nested(name: &str, depth: usize) -> String {
        format!("{}x{}", format!("<{name}>").repeat(depth), format!("</{name}>").repeat(depth))
    }

    fn with_attributes(count: usize) -> String {
        let attributes: Vec<String> = (0..count).map(|n| format!("a{n}=\"{n} x\"")).collect();
        format!("<div {}>x</div>", attributes.join(" "))
    }

    #[test]
    fn depth_and_attributes_are_bounded() {
        assert_eq!(is_bounded(&nested("div", DEPTH_MAX)), Ok(()));
        assert!(is_bounded(&nested("div", DEPTH_MAX + 1)).unwrap_err().contains("200"));
        assert!(is_bounded(&nested("DIV class='a > b'", DEPTH_MAX + 1)).is_err());
        assert_eq!(is_bounded(&with_attributes(ATTRIBUTES_MAX)), Ok(()));
        assert!(is_bounded(&with_attributes(ATTRIBUTES_MAX + 1)).unwrap_err().contains("200"));
        let bare = format!("<div{}>", " a".repeat(ATTRIBUTES_MAX + 1));
        assert!(is_bounded(&bare).is_err());
        let dense = format!("<div {}>", "a='b'".repeat(ATTRIBUTES_MAX + 1));
        assert!(is_bounded(&dense).is_err());
    }

    #[test]
    fn elements_without_end_tags_do_not_count_as_nested() {
        for html in [
            "<p>a".repeat(1000),
            "<br>".repeat(1000),
            "<li>a".repeat(1000),
            "<div/>".repeat(1000),
            "<div></div>".repeat(1000),
            "<!-- <div> -->".repeat(1000),
            "a < b ".repeat(1000),
            format!("<style>{}</style>", "a<b ".repeat(1000)),
            format!("<script>{}</script>", "'<div>';".repeat(1000)),
            nested("table><tr><td", 60),
        ] {
            assert_eq!(is_bounded(&html), Ok(()), "{}", html.chars().take(60).collect::<String>());
        }
    }

    #[test]
    fn oversized_documents_are_checked_in_linear_time() {
        let size = 256 << 10;
        let began = CpuTime::start();
        for piece in
            ["<", "<a ", "<a", "<style>", "<!--", "</", "a=", "\"", "<div a='", "<a b=\"c\" "]
        {
            let _ = is_bounded(&piece.repeat(size / piece.len()));
            let _ = is_bounded(&format!("<div {}", piece.repeat(size / piece.len())));
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn any_text_is_checked_without_a_panic(html in "[<>/a-c!\"'= \\-é]{0,80}") {
            prop_assert_eq!(is_bounded(&html), Ok(()));
        }
    }
}
