//! The outline of an HTML document: byte positions of its links and of its body, and its plain text. One pass
//! without recursion, in time linear in the document.
//!
//! The positions allow changing a document in a few places and leaving the rest byte for byte. Comments are
//! skipped, Outlook's conditional comments included.

use std::{borrow::Cow, ops::Range};

use super::{
    entity::decoded,
    tag::{self, Attribute, Markup, Tag},
};

/// Bytes of a link's label that are kept.
const LABEL_BYTES_MAX: usize = 256;
/// Elements whose content is no markup.
const RAW: &[&str] =
    &["style", "script", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];
/// Elements that have no end.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that do not end a line.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];
/// Elements around which a line stays empty.
const APART: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "pre",
    "hr",
    "section",
    "article",
    "header",
    "footer",
];

/// Links, body and plain text of an HTML document.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HtmlOutline<'h> {
    /// Its links, in order.
    pub anchors: Vec<Anchor<'h>>,
    /// Where the content of its body begins.
    pub body_starts: usize,
    pub body_ends: usize,
    /// Plain text of the document. Elements hidden by styles are left out.
    pub text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Anchor<'h> {
    /// Where its address is written, without quotes.
    pub value: Range<usize>,
    /// Whether there are quotes around it.
    pub is_quoted: bool,
    /// The address, its character references read.
    pub href: Cow<'h, str>,
    /// Whether it asks not to be followed (`data-no-track`).
    pub no_track: bool,
    /// What it says: its text, else what stands for its picture; cut at 256 bytes.
    pub label: String,
    /// Where in [`HtmlOutline::text`] the link ends; none where it is hidden.
    pub text_end: Option<usize>,
}

impl<'h> HtmlOutline<'h> {
    pub fn read(html: &'h str) -> Self {
        let mut reader = Reader::new(html);
        let mut at = 0;
        while let Some(open) = html.get(at..).and_then(|rest| rest.find('<')).map(|n| at + n) {
            reader.text(html.get(at..open).unwrap_or_default());
            at = reader.markup(open);
        }
        reader.text(html.get(at..).unwrap_or_default());
        reader.end()
    }
}

struct Reader<'h> {
    html: &'h str,
    found: HtmlOutline<'h>,
    /// Where the body would begin if it had no tag: behind the head.
    behind_head: usize,
    body_seen: bool,
    body_end: Option<usize>,
    html_end: Option<usize>,
    /// Whether the last anchor is open.
    in_anchor: bool,
    /// What stands for the picture in the open anchor.
    picture: Option<String>,
    /// The element that hides its content, and how many of its name are open in it.
    hiding: Option<(String, usize)>,
    /// Line ends that go before the next text.
    lines: usize,
    space: bool,
}

impl<'h> Reader<'h> {
    fn new(html: &'h str) -> Self {
        Self {
            html,
            found: HtmlOutline::default(),
            behind_head: 0,
            body_seen: false,
            body_end: None,
            html_end: None,
            in_anchor: false,
            picture: None,
            hiding: None,
            lines: 0,
            space: false,
        }
    }

    /// Reads what begins with the `<` at a place; gives where to read on.
    fn markup(&mut self, at: usize) -> usize {
        let (markup, end) = tag::read(self.html, at);
        match markup {
            Markup::Start(tag) => return self.start(&tag, end),
            Markup::End(name) => {
                let name = lower(self.html.get(name).unwrap_or_default());
                self.finish(&name, at..end);
            }
            Markup::Text => self.text("<"),
            Markup::Comment => {
                let is_doctype = self.html.get(at + 2..at + 4).is_some_and(|two| two != "--");
                if is_doctype && !self.body_seen && self.found.text.is_empty() {
                    self.behind_head = self.behind_head.max(end);
                }
            }
            Markup::Cut => {}
        }
        end
    }

    fn start(&mut self, tag: &Tag, end: usize) -> usize {
        let name = lower(self.html.get(tag.name.clone()).unwrap_or_default());
        let name = &*name;
        match name {
            "body" if !self.body_seen => {
                self.body_seen = true;
                self.found.body_starts = end;
            }
            "html" | "head" if !self.body_seen => self.behind_head = end,
            "a" | "area" => self.anchor(tag, name == "a"),
            "img" => self.picture(tag),
            _ => {}
        }
        self.gap(name);
        match name {
            "li" => self.put("- "),
            "hr" => self.put("---"),
            _ => {}
        }
        if name == "hr" {
            self.gap(name);
        }
        if RAW.contains(&name) {
            // The end tag is read like any other.
            return tag::raw_end(self.html, end, name);
        }
        if let Some((hidden, depth)) = &mut self.hiding {
            *depth += usize::from(hidden == name);
        } else if !VOID.contains(&name) && self.hides(tag) {
            self.hiding = Some((name.to_owned(), 1));
        }
        end
    }

    fn finish(&mut self, name: &str, end_tag: Range<usize>) {
        match name {
            "a" => self.close_anchor(),
            "head" if !self.body_seen => self.behind_head = end_tag.end,
            "body" => self.body_end = Some(end_tag.start),
            "html" => self.html_end = Some(end_tag.start),
            _ => {}
        }
        self.gap(name);
        if let Some((hidden, depth)) = &mut self.hiding
            && hidden == name
        {
            *depth -= 1;
            if *depth == 0 {
                self.hiding = None;
            }
        }
    }

    fn value(&self, tag: &Tag, wanted: &str) -> Option<Attribute> {
        tag::attributes(self.html, tag).find(|attribute| {
            let name = self.html.get(attribute.name.clone()).unwrap_or_default();
            name.eq_ignore_ascii_case(wanted)
        })
    }

    fn decoded(&self, attribute: &Attribute) -> Cow<'h, str> {
        decoded(self.html.get(attribute.value.clone()).unwrap_or_default(), true)
    }

    fn anchor(&mut self, tag: &Tag, has_content: bool) {
        self.close_anchor();
        let Some(href) = self.value(tag, "href").filter(|href| !href.value.is_empty()) else {
            return;
        };
        self.found.anchors.push(Anchor {
            href: self.decoded(&href),
            value: href.value,
            is_quoted: href.is_quoted,
            no_track: self.value(tag, "data-no-track").is_some(),
            label: String::new(),
            text_end: None,
        });
        self.in_anchor = has_content;
        if !has_content && let Some(alt) = self.value(tag, "alt") {
            let alt = self.decoded(&alt).into_owned();
            self.label(&alt);
        }
    }

    fn close_anchor(&mut self) {
        let picture = self.picture.take();
        if !std::mem::take(&mut self.in_anchor) {
            return;
        }
        let seen = self.hiding.is_none();
        let text_end = self.found.text.len();
        if let Some(anchor) = self.found.anchors.last_mut() {
            if let Some(picture) = picture.filter(|_| anchor.label.is_empty()) {
                append(&mut anchor.label, &picture);
            }
            anchor.label.truncate(anchor.label.trim_end().len());
            anchor.text_end = seen.then_some(text_end);
        }
    }

    fn picture(&mut self, tag: &Tag) {
        let Some(alt) = self.value(tag, "alt") else { return };
        let alt = self.decoded(&alt).trim().to_owned();
        if alt.is_empty() {
            return;
        }
        if self.hiding.is_none() {
            self.put(&alt);
            self.space = true;
        }
        if self.in_anchor {
            self.picture = Some(alt);
        }
    }

    /// What a piece of text adds.
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = decoded(text, false);
        if self.in_anchor {
            self.label(&text);
        }
        if self.hiding.is_some() {
            return;
        }
        let mut words = text.split(is_space);
        if let Some(first) = words.next() {
            self.put(first);
        }
        for word in words {
            self.space = true;
            self.put(word);
        }
    }

    fn label(&mut self, text: &str) {
        if let Some(anchor) = self.found.anchors.last_mut() {
            append(&mut anchor.label, text);
        }
    }

    /// Adds a word to the text, after the space that is due.
    fn put(&mut self, word: &str) {
        if word.is_empty() || self.hiding.is_some() {
            return;
        }
        let text = &mut self.found.text;
        if !text.is_empty() {
            match self.lines {
                0 if self.space => text.push(' '),
                0 => {}
                1 => text.push('\n'),
                _ => text.push_str("\n\n"),
            }
        }
        (self.lines, self.space) = (0, false);
        text.push_str(word);
    }

    /// What a tag of this name parts.
    fn gap(&mut self, name: &str) {
        if APART.contains(&name) {
            self.lines = 2;
        } else if name == "br" {
            self.lines = (self.lines + 1).min(2);
        } else if matches!(name, "td" | "th") {
            self.space = true;
        } else if !INLINE.contains(&name) {
            self.lines = self.lines.max(1);
        }
    }

    /// Whether an element's content is not seen.
    fn hides(&self, tag: &Tag) -> bool {
        if self.value(tag, "hidden").is_some() {
            return true;
        }
        let Some(style) = self.value(tag, "style") else { return false };
        let style = self.html.get(style.value).unwrap_or_default();
        let mut declared = style.split(';').filter_map(|one| one.split_once(':'));
        declared.any(|(name, value)| {
            let value = value.trim().trim_end_matches("!important").trim();
            name.trim().eq_ignore_ascii_case("display") && value.eq_ignore_ascii_case("none")
        })
    }

    fn end(mut self) -> HtmlOutline<'h> {
        self.close_anchor();
        if !self.body_seen {
            self.found.body_starts = self.behind_head;
        }
        let end = self.body_end.or(self.html_end).unwrap_or(self.html.len());
        self.found.body_ends = end.max(self.found.body_starts);
        self.found
    }
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace() && letter != '\u{a0}'
}

/// Adds a text, runs of space as one, up to the length that is kept.
fn append(to: &mut String, text: &str) {
    for letter in text.chars() {
        if to.len() + letter.len_utf8() > LABEL_BYTES_MAX {
            return;
        }
        if !letter.is_whitespace() {
            to.push(letter);
        } else if !to.is_empty() && !to.ends_with(' ') {
            to.push(' ');
        }
    }
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{super::Page, *};
    use crate::cpu_time::CpuTime;

    fn hrefs(html: &str) -> Vec<String> {
        HtmlOutline::read(html).anchors.into_iter().map(|anchor| anchor.href.into_owned()).collect()
    }

    #[test]
    fn links_are_where_browsers_find_them() {
        for (html, found) in [
            ("<a href='x'>", vec!["x"]),
            ("<A CLASS=b HREF = \"x\" >", vec!["x"]),
            ("<a/href=x>", vec!["x"]),
            ("<a title='<a href=no>' href=x>", vec!["x"]),
            ("<a href=a href=b>", vec!["a"]),
            ("<a href>", vec![]),
            ("<a href=''>", vec![]),
            ("<a name=href>", vec![]),
            ("<abbr href=x>", vec![]),
            ("<a href=x&amp;y=1&copy=2&lt;&#x41;>", vec!["x&y=1&copy=2<A"]),
            ("<!-- <a href=x> --><a href=y>", vec!["y"]),
            ("<!--[if mso]><a href=x><![endif]--><a href=y>", vec!["y"]),
            ("<!--><a href=y>-->", vec!["y"]),
            ("<!doctype html '><a href=y>", vec!["y"]),
            ("<style><a href=x></style><a href=y>", vec!["y"]),
            ("<script>'<a href=x>'</script ><a href=y>", vec!["y"]),
            ("<title><a href=x></title/><a href=y>", vec!["y"]),
            ("<a href=\"x", vec![]),
            ("< a href=x><area href=y>", vec!["y"]),
            ("</a href=x><a\thref\n=\n'y'>", vec!["y"]),
        ] {
            assert_eq!(hrefs(html), found, "{html}");
        }
    }

    #[test]
    fn the_body_is_found_or_taken_for_granted() {
        for (html, starts, ends) in [
            ("<p>x</p>", "<p>x</p>", ""),
            ("<html><body>x</body></html>", "x</body></html>", "</body></html>"),
            ("<BODY style='a>b'>x", "x", ""),
            ("<!doctype html><html><head><title>t</title></head>x</html>", "x</html>", "</html>"),
            ("<head><style></style></head>x", "x", ""),
        ] {
            let outline = HtmlOutline::read(html);
            assert_eq!(html.get(outline.body_starts..), Some(starts), "{html}");
            assert_eq!(html.get(outline.body_ends..), Some(ends), "{html}");
        }
    }

    #[test]
    fn a_label_is_what_the_link_says() {
        let html = "<a href=a> Go <b>on</b>&nbsp;&amp; on </a><a href=b><img alt='A dog'></a>\
                    <a href=c><img alt=x>text</a><a href=d></a><a href=e>open";
        let labels: Vec<String> =
            HtmlOutline::read(html).anchors.into_iter().map(|anchor| anchor.label).collect();
        assert_eq!(labels, ["Go on & on", "A dog", "text", "", "open"]);
        let long = format!("<a href=a>{}</a>", "ä".repeat(1000));
        assert_eq!(HtmlOutline::read(&long).anchors[0].label.len(), LABEL_BYTES_MAX);
    }

    #[test]
    fn bombs_are_read_at_once() {
        let began = CpuTime::start();
        for piece in [
            "<",
            "<a ",
            "<a href=x>",
            "<!--",
            "<!---",
            "--",
            "</",
            "<a href='",
            "<p a",
            "&",
            "&amp",
            "<style>",
            "<div hidden>",
            "<a a=b ",
            "</a",
            "<![",
            "<title",
            "=\"",
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            let _ = HtmlOutline::read(&text);
            let _ = HtmlOutline::read(&format!("<a {text}"));
            let _ = HtmlOutline::read(&format!("<!--{text}"));
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn it_finds_the_links_a_browser_finds(
            html in "(</?(a|area|p|div|title|textarea|style|body|b)( (href|hidden|HREF|title)(=('[a-c&;<>]{0,4}'|\"[a-c &=]{0,4}\"|[a-c&=/]{1,4}))?){0,3} ?/?>|<!--|-->|[a-c ]|&(amp|lt|copy|#65);?|<|>|'|\"|/|=|é){0,40}"
        ) {
            let outline = HtmlOutline::read(&html);
            let page = Page::read(&html).unwrap();
            // A link without an address is none here.
            let seen: Vec<&str> =
                page.links.iter().map(|link| link.href.as_str()).filter(|href| !href.is_empty()).collect();
            let found: Vec<&str> = outline.anchors.iter().map(|anchor| &*anchor.href).collect();
            prop_assert_eq!(found, seen);
            let mut last = 0;
            for anchor in &outline.anchors {
                prop_assert!(anchor.value.start >= last && html.get(anchor.value.clone()).is_some());
                last = anchor.value.end;
                prop_assert!(anchor.text_end.is_none_or(|at| outline.text.is_char_boundary(at)));
            }
            prop_assert!(outline.body_starts <= outline.body_ends);
            prop_assert!(html.is_char_boundary(outline.body_starts) && html.is_char_boundary(outline.body_ends));
        }
    }
}
