//! Things that happened, newest first.

use maud::{Markup, html};

use super::card::{Tone, badge};

/// Something that happened at one time.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) time: Markup,
    pub(crate) tone: Tone,
    /// The kind, such as `event` or `email`.
    pub(crate) kind: String,
    pub(crate) title: Markup,
    /// What is shown when it is opened.
    pub(crate) details: Option<Markup>,
}

/// A list of what happened.
pub(crate) fn timeline(moments: &[Moment]) -> Markup {
    html! {
        ol class="timeline" {
            @for moment in moments {
                li {
                    @let head = html! {
                        (badge(moment.tone, &moment.kind)) " "
                        span class="timeline-title" { (moment.title) } " "
                        span class="quiet" { (moment.time) }
                    };
                    @match &moment.details {
                        Some(details) => details { summary { (head) } (details) },
                        None => (head),
                    }
                }
            }
        }
    }
}
