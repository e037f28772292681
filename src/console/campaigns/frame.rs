//! What the pages of a campaign have in common: the head with its actions, the tabs, and words for its state.

use axum::response::Response;
use maud::{Markup, html};

use super::{Campaign, ENTRY, offers};
use crate::{
    failure::Failure,
    view::{self, Tab, Tone},
    visitor::Visitor,
};

/// A page of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Edit,
    Test,
    Launch,
    Report,
    Recipients,
    Versions,
}

impl Page {
    const ALL: [Self; 6] =
        [Self::Edit, Self::Test, Self::Launch, Self::Report, Self::Recipients, Self::Versions];

    const fn label(self) -> &'static str {
        match self {
            Self::Edit => "Edit",
            Self::Test => "Preview and test",
            Self::Launch => "Launch",
            Self::Report => "Report",
            Self::Recipients => "Recipients",
            Self::Versions => "Versions",
        }
    }

    fn path(self, campaign: &Campaign) -> String {
        match self {
            Self::Edit => campaign.path(),
            Self::Test => campaign.path_of("test"),
            Self::Launch => campaign.path_of("launch"),
            Self::Report => campaign.path_of("report"),
            Self::Recipients => campaign.path_of("recipients"),
            Self::Versions => campaign.path_of("versions"),
        }
    }

    /// Whether a campaign has this page in its state.
    fn is_open(self, campaign: &Campaign) -> bool {
        self != Self::Launch || matches!(campaign.status.as_str(), "draft" | "scheduled")
    }
}

/// A whole page of a campaign, and why a change was refused.
pub(super) fn page(
    visitor: &Visitor,
    campaign: &Campaign,
    page: Page,
    failure: Option<&Failure>,
    content: &Markup,
) -> Response {
    let open = Page::ALL.into_iter().filter(|it| it.is_open(campaign) || *it == page);
    let tabs: Vec<Tab<'_>> = open
        .map(|it| Tab { label: it.label(), href: it.path(campaign), is_current: it == page })
        .collect();
    let body = html! {
        p { a href=(ENTRY.path) { "Campaigns" } }
        (head(visitor, campaign, page == Page::Report, false))
        (view::tabs("Pages of the campaign", &tabs))
        (content)
        (offers::confirmations(visitor, campaign, false))
    };
    visitor.page_after(failure, &ENTRY, &campaign.name, &body)
}

/// What a page shows of the state of a campaign beside its progress, for a script that puts it into the page.
pub(super) fn state_anew(visitor: &Visitor, campaign: &Campaign, is_report: bool) -> Markup {
    html! {
        (head(visitor, campaign, is_report, true))
        (offers::confirmations(visitor, campaign, true))
    }
}

/// The name, the state and the buttons; `is_anew` where a script puts it in place of what the page has.
fn head(visitor: &Visitor, campaign: &Campaign, is_report: bool, is_anew: bool) -> Markup {
    html! {
        div id="campaign-head" hx-swap-oob=[is_anew.then_some("true")] {
            div class="head" {
                h1 { bdi { (campaign.name) } }
                (status_badge(&campaign.status))
                (offers::buttons(visitor, campaign, is_report))
            }
            @if let Some(reason) = &campaign.failure_reason { (view::alert(&format!("It failed: {reason}"))) }
        }
    }
}

/// Why a change was refused, with every fault.
pub(super) fn refusal(failure: &Failure) -> Markup {
    html! {
        (view::alert(&failure.text()))
        @if !failure.errors.is_empty() {
            ul { @for error in &failure.errors { li { (error) } } }
        }
    }
}

/// A status as a badge.
pub(super) fn status_badge(status: &str) -> Markup {
    let tone = match status {
        "active" => Tone::Info,
        "completed" => Tone::Good,
        "paused" | "scheduled" => Tone::Warning,
        "failed" => Tone::Bad,
        _ => Tone::Neutral,
    };
    view::badge(tone, status)
}

/// A send type as people read it.
pub(super) fn send_type_label(send_type: &str) -> &str {
    match send_type {
        "immediate" => "Once, at launch",
        "scheduled" => "Once, at a time",
        "triggered" => "At an event",
        "intelligent" => "At each person's best hour",
        "recurring" => "Again and again",
        "ai_optimized" => "While learning",
        other => other,
    }
}

/// A count as a share of another; a dash where that is none.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "a share that is shown with one decimal")]
    view::percent(part as f64 / whole as f64)
}

/// A word of the API as people read it: `no_address` as `no address`.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}
