//! What several pages of suppressions show.

use maud::{Markup, html};
use url::form_urlencoded;

use super::ENTRY;
use crate::{
    in_process::path,
    view::{self, Tone},
};

/// The address that searches for an identifier.
pub(super) fn search(channel: &str, identifier: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("channel", channel)
        .append_pair("identifier", identifier)
        .finish();
    format!("{}?{query}", ENTRY.path)
}

/// Why an identifier is suppressed, in a few words.
pub(super) fn reason_badge(reason: &str) -> Markup {
    let (tone, text) = match reason {
        "unsubscribe" => (Tone::Neutral, "opted out"),
        "hard_bounce" => (Tone::Bad, "does not exist"),
        "complaint" => (Tone::Bad, "complained"),
        "manual" => (Tone::Info, "added by hand"),
        other => (Tone::Neutral, other),
    };
    view::badge(tone, text)
}

/// What is suppressed: everything of the channel, or one list.
pub(super) fn reach(list: Option<&str>) -> Markup {
    html! {
        @if let Some(id) = list { a href=(path(["console", "lists", id])) { "one list" } } @else { "everything" }
    }
}
