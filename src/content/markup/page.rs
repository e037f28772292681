//! What the reader of an HTML document sees: its text, its links, its pictures.

use std::cell::RefCell;

use html5ever::{
    Attribute,
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, CharacterTokens, EndTag, StartTag, Tag, TagToken, Token, TokenSink,
        TokenSinkResult, Tokenizer,
        states::RawKind::{Rawtext, Rcdata, ScriptData},
    },
};

/// Open elements that are followed; further ones are read as text of the last.
const OPEN_MAX: usize = 512;
/// Open elements that an end is looked for in, from the innermost.
const ENDS_AMONG: usize = 64;
/// Links that are kept.
const LINKS_MAX: usize = 2_000;

/// What a document shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The text one can see, a line for each run of it.
    pub text: String,
    /// The text that styles hide.
    pub hidden_text: String,
    /// The links, in order.
    pub links: Vec<Link>,
    pub images: usize,
    /// Elements that run something or embed another document.
    pub active: usize,
    pub forms: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as it is written.
    pub href: String,
    pub text: String,
}

impl Page {
    /// Reads a document; none that is too deep or too wide to be read.
    pub fn read(html: &str) -> Option<Self> {
        super::is_bounded(html).ok()?;
        let tokenizer =
            Tokenizer::new(Reader::default(), html5ever::tokenizer::TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(html));
        // A script would stop it; what follows is read all the same.
        while !input.is_empty() {
            let _ = tokenizer.feed(&input);
        }
        tokenizer.end();
        Some(tokenizer.sink.0.into_inner().page)
    }
}

#[derive(Debug, Default)]
struct Reader(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    page: Page,
    open: Vec<Open>,
    /// Open elements whose text is not seen.
    hidden: usize,
    /// Open elements whose text is not the document's.
    silent: usize,
    /// Whether the last link is open.
    in_link: bool,
}

#[derive(Debug)]
struct Open {
    name: String,
    hides: bool,
    silences: bool,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            TagToken(tag) => return state.tag(&tag),
            CharacterTokens(text) => state.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if tag.kind == EndTag {
            self.end(name);
            return TokenSinkResult::Continue;
        }
        match name {
            "a" | "area" => self.link(&tag.attrs),
            "img" => self.page.images += 1,
            "script" | "iframe" | "object" | "embed" | "applet" => self.page.active += 1,
            "form" => self.page.forms += 1,
            _ => {}
        }
        if !matches!(name, "b" | "i" | "em" | "strong" | "span" | "font" | "u" | "a") {
            self.gap();
        }
        let is_void = matches!(
            name,
            "area"
                | "base"
                | "br"
                | "col"
                | "embed"
                | "hr"
                | "img"
                | "input"
                | "link"
                | "meta"
                | "param"
                | "source"
                | "track"
                | "wbr"
        );
        if !is_void && tag.kind == StartTag && self.open.len() < OPEN_MAX {
            let hides = hides(&tag.attrs);
            let silences = matches!(name, "style" | "script" | "title" | "noscript" | "template");
            self.hidden += usize::from(hides);
            self.silent += usize::from(silences);
            self.open.push(Open { name: name.to_owned(), hides, silences });
        }
        match name {
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                TokenSinkResult::RawData(Rawtext)
            }
            "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
            "script" => TokenSinkResult::RawData(ScriptData),
            _ => TokenSinkResult::Continue,
        }
    }

    fn end(&mut self, name: &str) {
        if name == "a" {
            self.in_link = false;
        }
        let from = self.open.len().saturating_sub(ENDS_AMONG);
        let inner = self.open.iter().skip(from).rposition(|open| open.name == name);
        let Some(at) = inner.map(|at| from + at) else { return };
        for closed in self.open.drain(at..) {
            self.hidden -= usize::from(closed.hides);
            self.silent -= usize::from(closed.silences);
        }
    }

    fn link(&mut self, attributes: &[Attribute]) {
        self.in_link = false;
        if let Some(href) = attribute(attributes, "href")
            && self.page.links.len() < LINKS_MAX
        {
            self.page.links.push(Link { href: href.to_owned(), text: String::new() });
            self.in_link = true;
        }
    }

    fn text(&mut self, text: &str) {
        if self.silent > 0 {
            return;
        }
        let seen = if self.hidden > 0 { &mut self.page.hidden_text } else { &mut self.page.text };
        append(seen, text);
        if self.in_link
            && let Some(link) = self.page.links.last_mut()
        {
            append(&mut link.text, text);
        }
    }

    fn gap(&mut self) {
        for text in [&mut self.page.text, &mut self.page.hidden_text] {
            if !text.is_empty() && !text.ends_with([' ', '\n']) {
                text.push('\n');
            }
        }
    }
}

/// Adds a text, runs of space as one.
fn append(to: &mut String, text: &str) {
    for letter in text.chars() {
        if !letter.is_whitespace() {
            to.push(letter);
        } else if !to.is_empty() && !to.ends_with([' ', '\n']) {
            to.push(' ');
        }
    }
}

fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| &*attribute.name.local == name).map(|found| &*found.value)
}

/// Whether an element's style keeps its text from being seen.
fn hides(attributes: &[Attribute]) -> bool {
    let style = attribute(attributes, "style").unwrap_or_default().to_ascii_lowercase();
    let dense: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
    let declared = |name: &str, values: &[&str]| {
        dense.split(';').filter_map(|one| one.split_once(':')).any(|(key, value)| {
            let value = value.trim_end_matches("!important");
            key == name && values.contains(&value)
        })
    };
    attribute(attributes, "hidden").is_some()
        || declared("display", &["none"])
        || declared("visibility", &["hidden"])
        || declared("opacity", &["0", "0.0"])
        || declared("font-size", &["0", "0px", "0pt", "0em", "1px"])
        || declared("max-height", &["0", "0px"])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::cpu_time::CpuTime;

    #[test]
    fn a_page_is_what_its_reader_sees() {
        let page = Page::read(
            "<html><head><title>no</title><style>p{color:red}</style></head><body>\
             <div style='DISPLAY: none'>pre<b>header</b></div><h1>Hi &amp; welcome</h1><p>to <b>our</b> shop\
             <a href=\"https://x.test/?a=1&amp;b=2\">go <i>on</i></a><br>bye<img src=a><img src=b>\
             <script>'<a href=x>'</script><form></form><a name=x>no link</a></body>",
        )
        .unwrap();
        assert_eq!(page.text, "Hi & welcome\nto our shopgo on\nbye\nno link");
        assert_eq!(page.hidden_text.trim(), "preheader");
        let link = Link { href: "https://x.test/?a=1&b=2".to_owned(), text: "go on".to_owned() };
        assert_eq!(page.links, [link]);
        assert_eq!((page.images, page.active, page.forms), (2, 1, 1));
    }

    #[test]
    fn what_hides_ends_with_its_element() {
        for (html, seen, hidden) in [
            ("<p hidden>a</p>b", "b", "a"),
            ("<div style='font-size:0'><p>a</div>b", "b", "a"),
            ("<div style='font-size: 10px'>a</div>", "a", ""),
            ("<span style='visibility:hidden !important'>a</span>b", "b", "a"),
            ("<br style='display:none'>a", "a", ""),
            ("</div></p>a", "a", ""),
        ] {
            let page = Page::read(html).unwrap();
            assert_eq!((page.text.trim(), page.hidden_text.trim()), (seen, hidden), "{html}");
        }
    }

    #[test]
    fn bombs_are_read_at_once_or_not_at_all() {
        let began = CpuTime::start();
        for piece in [
            "<p>",
            "<p><b>",
            "<li>a",
            "</b>",
            "<a href=x>",
            "<script>",
            "<!--",
            "&amp;",
            "<p ",
            "<",
        ] {
            let _ = Page::read(&piece.repeat((256 << 10) / piece.len()));
        }
        assert_eq!(Page::read(&"<div>".repeat(10_000)), None);
        assert_eq!(Page::read(&format!("<p {}>", "a ".repeat(10_000))), None);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn any_text_is_read(html in "(<[a-z/!]{0,3}|[ -~]|</(p|a|script)>|<script>|<textarea>|&[a-z#0-9]{0,4};?|é){0,60}") {
            let _ = Page::read(&html);
        }
    }
}
