//! Things that happened, newest first.

use maud::{Markup, html};

use super::card::{Tone, badge};

/// Something that happened at one time.
#[derive(Debug)]
pub struct Moment {
    pub time: Markup,
    pub tone: Tone,
    /// The kind, such as `event` or `email`.
    pub kind: String,
    /// Without links where there are details, since it opens them then.
    pub title: Markup,
    /// What is shown when it is opened.
    pub details: Option<Markup>,
}

/// A list of what happened.
pub fn timeline(moments: &[Moment]) -> Markup {
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
