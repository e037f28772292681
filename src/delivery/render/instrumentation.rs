//! What is done to the HTML of an email once it is written: links tagged and led through the service, the
//! preheader, the pixel, the way out; and the text made of it.

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use content::markup::{Anchor, HtmlOutline, escaped};
use web::links::{Click, Link, Open, TARGET_BYTES_MAX};

use super::{
    Around,
    utm::{self, Tags},
};

/// Links of one email that are led through the service; further ones stay as they are.
const TRACKED_MAX: usize = 500;
/// Bytes of the text made of the HTML.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Keeps what follows in the document out of the line that an inbox shows.
const PREHEADER_PADDING: &str = "&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;\
     &#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;";

/// Additions to an email's HTML.
pub(super) struct Instrumentation<'a> {
    pub(super) around: &'a Around<'a>,
    pub(super) tags: Tags,
    pub(super) preheader: Option<&'a str>,
    /// The link to unsubscribe, where the author's content has none.
    pub(super) footer: Option<&'a str>,
    pub(super) track_opens: bool,
    pub(super) track_clicks: bool,
}

pub(super) struct InstrumentedEmail {
    pub(super) html: String,
    pub(super) text: Option<String>,
}

/// A part of the document and the text that replaces it.
struct Replacement<'a> {
    range: Range<usize>,
    text: Cow<'a, str>,
}

/// The address of a link, and its position in the plain text.
struct TextLink<'a> {
    at: usize,
    url: Cow<'a, str>,
}

impl TextLink<'_> {
    fn into_owned<'o>(self) -> TextLink<'o> {
        TextLink { at: self.at, url: Cow::Owned(self.url.into_owned()) }
    }
}

/// The link to unsubscribe in a plain text.
pub(super) fn footer_text(url: &str) -> String {
    format!("Unsubscribe: {url}")
}

impl Instrumentation<'_> {
    /// Rewrites a document, and derives its plain text with `wants_text`.
    pub(super) fn apply(&self, html: &str, wants_text: bool) -> InstrumentedEmail {
        let outline = HtmlOutline::read(html);
        let mut changes: Vec<Replacement<'_>> = Vec::new();
        if let Some(preheader) = self.preheader {
            let at = outline.body_starts;
            changes.push(Replacement { range: at..at, text: hidden(preheader).into() });
        }
        let mut shown: Vec<TextLink<'_>> = Vec::new();
        let mut tracked = 0;
        for anchor in &outline.anchors {
            let Some(target) = self.target(anchor) else {
                shown.extend(in_text(anchor, &anchor.href));
                continue;
            };
            if let Some(written) = self.written(anchor, &target, &mut tracked) {
                changes.push(Replacement { range: anchor.value.clone(), text: written });
            }
            if wants_text {
                shown.extend(in_text(anchor, &target).map(TextLink::into_owned));
            }
        }
        let end = outline.body_ends;
        changes.push(Replacement { range: end..end, text: self.ending().into() });
        // A link may follow the end of the body.
        changes.sort_by_key(|change| change.range.start);
        let text = wants_text.then(|| self.text(&outline.text, &shown));
        InstrumentedEmail {
            html: spliced(html, &changes),
            text: text.filter(|text| !text.is_empty()),
        }
    }

    /// The tagged target of a link; none for links that stay unchanged: `mailto:` and `tel:`, within the document, and the
    /// service's own.
    fn target<'t>(&self, anchor: &'t Anchor<'_>) -> Option<Cow<'t, str>> {
        let href = anchor.href.trim();
        let scheme = href.split_once("://").map(|(scheme, _)| scheme)?;
        let of_the_web =
            scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
        let own = href.starts_with(self.around.signer.base());
        let one_line = !href.contains(|c: char| c.is_control());
        (of_the_web && !own && one_line).then(|| utm::tagged(href, &self.tags))
    }

    /// What is written for a link's address, where it changes.
    fn written<'t>(
        &self,
        anchor: &Anchor<'_>,
        target: &str,
        tracked: &mut usize,
    ) -> Option<Cow<'t, str>> {
        let Around { workspace, message, signer, .. } = *self.around;
        let leads_through = self.track_clicks
            && !anchor.no_track
            && target.len() <= TARGET_BYTES_MAX
            && *tracked < TRACKED_MAX;
        if leads_through {
            *tracked += 1;
            let (target, label) = (target.to_owned(), anchor.label.clone());
            let click = Link::Click(Click { workspace, message, target, label });
            return Some(signer.url(&click).into());
        }
        if target == anchor.href.trim() {
            return None;
        }
        let written = escaped(target).into_owned();
        Some(if anchor.is_quoted { written.into() } else { format!("\"{written}\"").into() })
    }

    /// What goes before the body's end.
    fn ending(&self) -> String {
        let mut ending = String::new();
        if let Some(url) = self.footer {
            let _ = write!(
                ending,
                "<p style=\"font-size:12px;color:#666;text-align:center\">\
                 <a href=\"{}\" style=\"color:#666\">Unsubscribe</a></p>",
                escaped(url)
            );
        }
        if self.track_opens {
            let Around { workspace, message, signer, .. } = *self.around;
            let pixel = signer.url(&Link::Open(Open { workspace, message }));
            let _ = write!(
                ending,
                "<img src=\"{pixel}\" width=\"1\" height=\"1\" alt=\"\" \
                 style=\"display:block;border:0;width:1px;height:1px\">"
            );
        }
        ending
    }

    /// The document's text with each link's address behind it.
    fn text(&self, text: &str, shown: &[TextLink<'_>]) -> String {
        let mut made = String::with_capacity(text.len() + 512);
        let mut copied = 0;
        for TextLink { at, url } in shown {
            made.push_str(text.get(copied..*at).unwrap_or_default());
            let _ = write!(made, " ({url})");
            copied = (*at).max(copied);
        }
        made.push_str(text.get(copied..).unwrap_or_default());
        let mut end = made.len().min(TEXT_BYTES_MAX);
        while !made.is_char_boundary(end) {
            end -= 1;
        }
        made.truncate(end);
        if let Some(url) = self.footer {
            let gap = if made.is_empty() { "" } else { "\n\n" };
            let _ = write!(made, "{gap}{}", footer_text(url));
        }
        made
    }
}

/// The address of a link in the plain text, unless the link's text is the address already, or the address is relative.
fn in_text<'t>(anchor: &Anchor<'_>, target: &'t str) -> Option<TextLink<'t>> {
    let at = anchor.text_end?;
    let target = target.trim();
    let address = target.strip_prefix("mailto:").or_else(|| target.strip_prefix("tel:"));
    let leads = address.is_some() || target.contains("://");
    let is_shown = anchor.label == target || Some(anchor.label.as_str()) == address;
    (leads && !is_shown && !anchor.label.is_empty())
        .then_some(TextLink { at, url: Cow::Borrowed(target) })
}

fn hidden(preheader: &str) -> String {
    format!(
        "<div style=\"display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;\
         overflow:hidden;mso-hide:all\">{}{PREHEADER_PADDING}</div>",
        escaped(preheader)
    )
}

/// The document with these ranges replaced, which are in order and do not overlap.
fn spliced(html: &str, changes: &[Replacement<'_>]) -> String {
    let more: usize = changes.iter().map(|change| change.text.len()).sum();
    let mut made = String::with_capacity(html.len() + more);
    let mut copied = 0;
    for Replacement { range, text } in changes {
        made.push_str(html.get(copied..range.start).unwrap_or_default());
        made.push_str(text);
        copied = range.end;
    }
    made.push_str(html.get(copied..).unwrap_or_default());
    made
}
