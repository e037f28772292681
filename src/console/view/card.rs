//! Cards, alerts, badges, empty states, dialogs and other pieces without a state.

use maud::{Markup, html};
use serde_json::Value;

/// Grey lines where a part is being loaded.
const LATER_LINES: usize = 4;

/// How a badge or a figure is coloured; the text says it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Neutral,
    Good,
    Warning,
    Bad,
    Info,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
            Self::Info => "info",
        }
    }
}

/// A titled part of a page.
pub fn card(title: &str, content: &Markup) -> Markup {
    html! {
        section class="card" {
            h2 { (title) }
            (content)
        }
    }
}

/// A problem, read out at once by screen readers.
pub fn alert(text: &str) -> Markup {
    html! { p class="alert" role="alert" { (text) } }
}

/// A short state, such as that of a campaign.
pub fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class={ "badge " (tone.class()) } { (text) } }
}

/// One large number with what it counts, and where it leads.
pub fn figure(label: &str, value: &Markup, href: Option<&str>, tone: Tone) -> Markup {
    let content = html! {
        span class="figure-value" { (value) }
        span class="figure-label" { (label) }
    };
    html! {
        @match href {
            Some(href) => a class={ "figure " (tone.class()) } href=(href) { (content) },
            None => div class={ "figure " (tone.class()) } { (content) },
        }
    }
}

/// What a page shows while there is nothing to show: it teaches how something comes there.
pub fn empty(title: &str, content: &Markup) -> Markup {
    html! {
        div class="empty" {
            p class="empty-title" { (title) }
            (content)
        }
    }
}

/// A text to copy, such as a command.
pub fn copyable(text: &str) -> Markup {
    html! {
        div class="copyable" {
            pre tabindex="0" { code { (text) } }
            button class="button quiet" type="button" data-copies hidden { "Copy" }
        }
    }
}

/// Names and values, such as those of a profile.
pub fn facts<'f>(pairs: impl IntoIterator<Item = (&'f str, Markup)>) -> Markup {
    html! {
        dl class="facts" {
            @for (name, value) in pairs {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// A value as indented JSON.
pub fn json(value: &Value) -> Markup {
    // A value that was read as JSON can be written as such.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    html! { pre class="json" tabindex="0" { code { (text) } } }
}

/// A dialog, opened by a button with `data-opens` and its id. Its first heading names it.
pub fn dialog(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        dialog id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
            form method="dialog" class="dialog-close" {
                button class="button quiet" type="submit" { "Close" }
            }
        }
    }
}

/// Grey lines in the stead of a part that is still being loaded.
pub fn skeleton(lines: usize) -> Markup {
    html! {
        div class="skeleton" aria-hidden="true" { @for _ in 0..lines { span {} } }
    }
}

/// The place of a part that takes long, which is loaded once the page is there. The page at `address` has the part, in an
/// element with the same id.
pub fn later(id: &str, address: &str, what: &str) -> Markup {
    html! {
        div id=(id) hx-get=(address) hx-trigger="load" hx-select={ "#" (id) } hx-swap="outerHTML" {
            (skeleton(LATER_LINES))
            noscript { p { a href=(address) { "Show " (what) } } }
        }
    }
}
