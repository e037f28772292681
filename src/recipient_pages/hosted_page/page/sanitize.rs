//! Sanitizes authors' HTML: removes what could run, load resources or imitate the preference form.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use ammonia::Builder;

/// Elements allowed beyond the library's defaults, for the layout of emails and pages.
const ELEMENTS: &[&str] = &["style", "font", "section", "main", "address", "u", "big"];
const ATTRIBUTES: &[&str] = &[
    "class",
    "id",
    "style",
    "align",
    "valign",
    "bgcolor",
    "width",
    "height",
    "dir",
    "lang",
    "title",
    "role",
    "aria-label",
    "aria-hidden",
    "border",
    "cellpadding",
    "cellspacing",
    "color",
    "face",
];
/// Words that make a style run or load something.
const STYLE_REFUSED: &[&str] = &[
    "@import",
    "@charset",
    "@namespace",
    "expression(",
    "javascript:",
    "vbscript:",
    "-moz-binding",
    "behavior:",
    "<",
    "\\",
    "@font-face",
    "src(",
    "image-set(",
];

static BUILDER: LazyLock<Builder<'static>> = LazyLock::new(builder);

fn builder() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .add_tags(ELEMENTS)
        .rm_clean_content_tags(["style"])
        .add_generic_attributes(ATTRIBUTES)
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        // `data:` is allowed for pictures only; their addresses are checked below.
        .add_url_schemes(["data"])
        .link_rel(Some("noopener noreferrer"))
        .tag_attribute_values(HashMap::new())
        .attribute_filter(attribute_of);
    builder
}

fn attribute_of<'v>(element: &str, attribute: &str, value: &'v str) -> Option<Cow<'v, str>> {
    let is_data = value.trim_start().to_ascii_lowercase().starts_with("data:");
    match (element, attribute) {
        ("img", "src") if is_data => is_picture(value).then_some(value.into()),
        _ if is_data => None,
        (_, "style") => style_is_safe(value).then_some(value.into()),
        // Ids and classes of the form are reserved.
        (_, "id" | "class") if value.contains("mp-") => None,
        _ => Some(value.into()),
    }
}

/// Whether an address is an inline picture. SVG is excluded, since it can contain scripts.
fn is_picture(address: &str) -> bool {
    let address = address.trim_start().to_ascii_lowercase();
    ["png", "jpeg", "gif", "webp"].iter().any(|kind| {
        address
            .strip_prefix("data:image/")
            .and_then(|rest| rest.strip_prefix(kind))
            .is_some_and(|rest| rest.starts_with([';', ',']))
    })
}

/// Whether a style has no effect beyond appearance: it may load pictures over https or inline, and nothing
/// else.
fn style_is_safe(style: &str) -> bool {
    let plain = without_comments(style).to_ascii_lowercase();
    let dense: String = plain.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    if STYLE_REFUSED.iter().any(|word| dense.contains(word)) {
        // `scroll-behavior:` affects appearance only.
        return STYLE_REFUSED.iter().all(|word| !dense.replace("-behavior:", ":").contains(word));
    }
    dense.split("url(").skip(1).all(|address| {
        let address = address.trim_start_matches(['"', '\'']);
        address.starts_with("https://") || is_picture(address)
    })
}

/// Comments could split a forbidden word.
fn without_comments(style: &str) -> String {
    let mut plain = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

/// Sanitizes the HTML and inserts `form` where `marker` stands between tags, or at the end.
pub(super) fn with_form(html: &str, marker: &str, form: &str) -> String {
    let clean = BUILDER.clean(html).to_string();
    let mut page = String::with_capacity(clean.len() + form.len());
    let mut placed = false;
    for part in parts(&clean) {
        match part {
            Part::Tag(tag) => page.push_str(&tag.replace(marker, "")),
            Part::Style(style) if style_is_safe(style) => page.push_str(&style.replace(marker, "")),
            Part::Style(_) => {}
            Part::Text(text) => {
                let mut pieces = text.split(marker);
                page.push_str(pieces.next().unwrap_or_default());
                for piece in pieces {
                    if !placed {
                        page.push_str(form);
                        placed = true;
                    }
                    page.push_str(piece);
                }
            }
        }
    }
    if !placed {
        page.push_str(form);
    }
    page
}

/// A part of serialised HTML: the library closes every tag, quotes every attribute and escapes every `<` in
/// text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'h> {
    Tag(&'h str),
    Text(&'h str),
    /// The text of a `<style>`, which is not escaped.
    Style(&'h str),
}

fn parts(html: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = html;
    while let Some((text, _)) = rest.split_once('<') {
        parts.push(Part::Text(text));
        let (_, tag_on) = rest.split_at(text.len());
        let (tag, after) = tag_on.split_at(tag_len(tag_on));
        parts.push(Part::Tag(tag));
        rest = after;
        if tag.starts_with("<style>") || tag.starts_with("<style ") {
            let style = rest.split("</style").next().unwrap_or_default();
            parts.push(Part::Style(style));
            let (_, after) = rest.split_at(style.len());
            rest = after;
        }
    }
    parts.push(Part::Text(rest));
    parts
}

/// Bytes of the tag at the beginning; the whole text if the tag does not end.
fn tag_len(text: &str) -> usize {
    let mut quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORM: &str = "<form id=\"ours\"></form>";

    fn cleaned(html: &str) -> String {
        with_form(html, "PLACE", "")
    }

    #[test]
    fn scripts_and_remote_resources_are_removed() {
        for html in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<svg onload=alert(1)><style><img src=x onerror=alert(1)></style></svg>",
            "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<a href=\"data:text/html,alert(1)\">x</a>",
            "<img src=\"data:image/svg+xml,<svg onload=alert(1)>\">",
            "<iframe src=\"https://evil.test/alert(1)\"></iframe>",
            "<object data=\"alert(1)\"></object><embed src=\"alert(1)\">",
            "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
            "<base href=\"https://alert(1)\"><link rel=stylesheet href=\"https://alert(1)\">",
            "<style>@import url(https://evil.test/alert(1));</style>",
            "<style>@im/**/port 'https://evil.test/alert(1)';</style>",
            "<style>a{background:url(javascript:alert(1))}</style>",
            "<style>a{background:url(http://evil.test/alert(1))}</style>",
            "<style>a{background:u\\72l(javascript:alert(1))}</style>",
            "<style>a{width:expres/**/sion(alert(1))}</style>",
            "<div style=\"background:url('http://evil.test/alert(1)')\">x</div>",
            "<div style=\"behavior: url(https://evil.test/alert(1))\">x</div>",
            "<style>a{}</style><img title=\"</style><script>alert(1)</script>\" onload=alert(1)>",
        ] {
            let clean = cleaned(html);
            let harmless = clean
                .replace("title=\"</style><script>alert(1)</script>\"", "")
                .replace("title=\"&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;\"", "");
            assert!(!harmless.contains("alert(1)"), "{html}\n{clean}");
        }
    }

    #[test]
    fn foreign_forms_are_removed_and_the_preference_form_is_inserted() {
        let html = "<form action=\"https://evil.test\"><input name=password><button>Go</button>\
                    <select><option>x</option></select>PLACE</form>";
        let page = with_form(html, "PLACE", FORM);
        assert_eq!(page.matches("<form").count(), 1);
        assert!(page.contains(FORM), "{page}");
        for element in ["<input", "<button", "<select", "evil.test"] {
            assert!(!page.contains(element), "{element}: {page}");
        }
    }

    #[test]
    fn the_form_is_inserted_once_and_between_tags_only() {
        for (html, expected) in [
            ("<p>a PLACE b</p>", format!("<p>a {FORM} b</p>")),
            ("<p>PLACE</p><p>PLACE</p>", format!("<p>{FORM}</p><p></p>")),
            ("<p>none</p>", format!("<p>none</p>{FORM}")),
            ("<b title=\"PLACE\">x</b>", format!("<b title=\"\">x</b>{FORM}")),
            ("<style>PLACE</style>", format!("<style></style>{FORM}")),
            ("<!-- PLACE -->x", format!("x{FORM}")),
        ] {
            assert_eq!(with_form(html, "PLACE", FORM), expected);
        }
    }

    #[test]
    fn what_only_looks_stays() {
        for html in [
            "<style>a{color:red;background:url(https://example.test/a.png)} @media (max-width:600px){p{margin:0}}</style>",
            "<style>html{scroll-behavior: smooth}</style>",
            "<table width=\"600\" cellpadding=\"0\" bgcolor=\"#fff\"><tbody><tr><td align=\"center\">x</td></tr></tbody></table>",
            "<div style=\"padding: 4px; color: #333\" class=\"hero\">x</div>",
            "<img src=\"data:image/png;base64,AAAA\" alt=\"a\">",
            "<h1>ä &amp; ö</h1>",
        ] {
            let clean = cleaned(html);
            assert_eq!(clean, html);
        }
        let link = cleaned("<a href=\"https://example.test\">x</a>");
        assert!(link.contains("rel=\"noopener noreferrer\""), "{link}");
    }

    #[test]
    fn authored_html_cannot_imitate_the_form() {
        assert!(!cleaned("<div class=\"mp-primary\" id=\"mp-form\">x</div>").contains("mp-"));
    }

    proptest! {
        #[test]
        fn no_script_or_handler_survives_any_input(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[ -~]{0,8}", Just("<script>".to_owned()), Just("</style>".to_owned()),
                    Just("<style>".to_owned()), Just("<svg>".to_owned()), Just("<img src=x ".to_owned()),
                    Just("onerror=alert(1)".to_owned()), Just("\"".to_owned()), Just(">".to_owned()),
                    Just("<!--".to_owned()), Just("PLACE".to_owned()), Just("<form>".to_owned()),
                ],
                0..20,
            )
        ) {
            let page = with_form(&pieces.concat(), "PLACE", FORM);
            prop_assert_eq!(page.matches(FORM).count(), 1);
            for part in parts(&page.replace(FORM, "")) {
                if let Part::Tag(tag) = part {
                    let tag = tag.to_ascii_lowercase();
                    prop_assert!(!tag.starts_with("<script") && !tag.starts_with("<form"), "{}", tag);
                    let attributes = tag.split('"').step_by(2).collect::<Vec<_>>().join("");
                    prop_assert!(!attributes.contains(" on"), "{}", tag);
                }
            }
        }
    }
}
