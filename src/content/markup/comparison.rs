//! The links that [`HtmlOutline`] finds, beside those of `lol_html`.
//!
//! `lol_html` needs 1.7 times as long for a mail of 45 links. It reads `noscript` as text, since it takes scripts for
//! enabled; mail programs run none and show those links, which have to be tracked.

use std::{cell::RefCell, ops::Range};

use lol_html::{
    HtmlRewriter, Settings, element,
    html_content::{Attribute, Element},
};
use proptest::prelude::*;

use super::HtmlOutline;

/// The byte ranges of addresses, by `lol_html`.
fn library(html: &str) -> Vec<Range<usize>> {
    let found = RefCell::new(Vec::new());
    let links = element!("a[href], area[href]", |element: &mut Element<'_, '_>| {
        let href = element.attributes().iter().find(|it| it.name() == "href");
        let place = href.and_then(Attribute::value_source_location).map(|it| it.bytes());
        found.borrow_mut().extend(place.filter(|place| !place.is_empty()));
        Ok(())
    });
    let settings = Settings::new().append_element_content_handler(links).with_strict(false);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html.as_bytes()).unwrap();
    rewriter.end().unwrap();
    found.into_inner()
}

fn outline(html: &str) -> Vec<Range<usize>> {
    HtmlOutline::read(html).anchors.into_iter().map(|anchor| anchor.value).collect()
}

#[test]
fn links_are_where_the_library_finds_them() {
    for html in [
        "<a href='x'>",
        "<A CLASS=b HREF = \"x\" >",
        "<a/href=x>",
        "<a title='<a href=no>' href=x>",
        "<a href=a href=b>",
        "<a href=x&amp;y=1&copy=2&lt;&#x41;>",
        "<!-- <a href=x> --><a href=y>",
        "<!--[if mso]><a href=x><![endif]--><a href=y>",
        "<!--><a href=y>-->",
        "<style><a href=x></style><a href=y>",
        "<script>'<a href=x>'</script ><a href=y>",
        "<title><a href=x></title/><a href=y>",
        "<textarea><a href=x></textarea><a href=y>",
        "<iframe><a href=x></iframe><noembed><a href=y></noembed>",
        "<a href=\"x",
        "< a href=x><area href=y>",
        "</a href=x><a\thref\n=\n'y'>",
        "<table><a href=x>1<a href=y>2",
        "<template><a href=x></template>",
    ] {
        assert_eq!(outline(html), library(html), "{html}");
    }
}

#[test]
fn links_without_scripts_are_found_by_the_outline_only() {
    let html = "<noscript><a href=x>";
    assert_eq!(outline(html).len(), 1);
    assert!(library(html).is_empty());
}

proptest! {
    #[test]
    fn links_of_generated_mails_are_where_the_library_finds_them(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<p>", "</p>", "text", "<a href=\"https://x.test/?a=1&amp;b=2\">", "</a>", "<a href='y'>",
                "<a class=b href=z >", "<img alt='>' src=i>", "<table><tr><td>", "</td></tr></table>",
                "<!-- <a href=no> -->", "<br/>", "<area href=w>", "<b>", "</b>", "&lt;a href=q&gt;",
                "<style>a{color:red}</style>", "<a name=n>", "<div style=\"display:none\">", "</div>",
            ]),
            0..40,
        ),
    ) {
        let html = pieces.concat();
        prop_assert_eq!(outline(&html), library(&html), "{}", html);
    }
}
