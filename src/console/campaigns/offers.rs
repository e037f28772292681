//! What can be done with a campaign in its state: buttons, and what is confirmed by name.

use maud::{Markup, html};
use web::auth::ScopeName;

use super::Campaign;
use crate::{
    in_process::path,
    view::{self, Confirmation},
    visitor::Visitor,
};

/// An action: a call of the API by its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Action {
    /// The last segment of the API's path; `delete` for the method.
    pub(super) name: &'static str,
    label: &'static str,
    /// What the next page says.
    pub(super) notice: &'static str,
    scope: ScopeName,
    /// Whether a campaign in this state has it.
    fits: fn(&Campaign) -> bool,
    /// The question and what will happen, where it is confirmed by name.
    pub(super) confirmed: Option<Question>,
}

/// What is asked before a change that cannot be undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    title: &'static str,
    explanation: &'static str,
}

const fn action(
    name: &'static str,
    label: &'static str,
    notice: &'static str,
    scope: ScopeName,
    fits: fn(&Campaign) -> bool,
) -> Action {
    Action { name, label, notice, scope, fits, confirmed: None }
}

const fn confirmed(action: Action, title: &'static str, explanation: &'static str) -> Action {
    Action { confirmed: Some(Question { title, explanation }), ..action }
}

/// The id of the actions that are confirmed.
const CONFIRMATIONS: &str = "campaign-confirmations";
const SEND: ScopeName = ScopeName::CampaignsSend;
const WRITE: ScopeName = ScopeName::CampaignsWrite;

/// The actions that the head of a page offers.
const ACTIONS: &[Action] = &[
    action("pause", "Pause", "The campaign is paused.", SEND, |it| {
        matches!(it.status.as_str(), "active" | "scheduled") && !it.is_learning()
    }),
    action("pause-rl", "Pause", "The campaign is paused.", SEND, |it| {
        it.status == "active" && it.is_learning()
    }),
    action("resume", "Resume", "The campaign goes on.", SEND, |it| {
        it.status == "paused" && !it.is_learning()
    }),
    action("resume-rl", "Resume", "The campaign goes on.", SEND, |it| {
        it.status == "paused" && it.is_learning()
    }),
    action("publish", "Publish edits", "The edits were published.", WRITE, |it| {
        it.has_pending_draft
    }),
    action("discard-draft", "Discard edits", "The edits were discarded.", WRITE, |it| {
        it.has_pending_draft
    }),
    confirmed(
        action("retry", "Retry…", "The campaign is scheduled again.", SEND, |it| {
            it.status == "failed"
        }),
        "Try this campaign again?",
        "It goes out at once to everyone of its audience who has not got it.",
    ),
    confirmed(
        action("resend", "Send again…", "The campaign is sent again.", SEND, |it| {
            it.status == "completed"
                && !matches!(it.send_type.as_str(), "triggered" | "recurring")
                && it.channel != "in_app"
        }),
        "Send this campaign again?",
        "It goes to people by its setting “Sent again to”.",
    ),
    action("duplicate", "Duplicate", "This is the copy.", WRITE, |_| true),
    action("archive", "Archive", "The campaign was archived.", WRITE, |it| {
        it.status != "archived" && !it.is_under_way()
    }),
    confirmed(
        action("archive", "Archive…", "The campaign was archived.", WRITE, Campaign::is_under_way),
        "Archive this campaign?",
        "It stops sending. Its history stays, and it can be restored as paused.",
    ),
    action("unarchive", "Restore", "The campaign was restored.", WRITE, |it| {
        it.status == "archived"
    }),
    confirmed(
        action(
            "stop-recurring",
            "Stop for good…",
            "There will be no more occurrences.",
            SEND,
            |it| it.send_type == "recurring" && matches!(it.status.as_str(), "active" | "paused"),
        ),
        "Stop this campaign?",
        "What is being sent goes out; there will be no more occurrences.",
    ),
    confirmed(
        action("cancel", "Cancel…", "The campaign was cancelled.", SEND, Campaign::is_under_way),
        "Cancel this campaign?",
        "Messages that have not left stay unsent. A cancelled campaign cannot be resumed.",
    ),
    confirmed(
        action(
            "delete",
            "Delete…",
            "The campaign was deleted.",
            ScopeName::CampaignsDelete,
            |_| true,
        ),
        "Delete this campaign?",
        "One that was never live is gone for good; any other is archived.",
    ),
];

/// Actions of other parts of the pages.
const ELSEWHERE: &[Action] = &[
    action("send", "Launch", "The campaign was launched.", SEND, |_| true),
    action("launch-rl", "Launch", "The campaign was launched.", SEND, |_| true),
];

impl Action {
    fn is_offered(&self, visitor: &Visitor, campaign: &Campaign) -> bool {
        visitor.may(self.scope) && (self.fits)(campaign)
    }

    fn address(&self, campaign: &Campaign) -> String {
        path(["console", "campaigns", &campaign.id, "do", self.name])
    }

    fn dialog_id(&self) -> String {
        format!("confirm-{}", self.name)
    }
}

/// The buttons of the head; those of the report lead back to it.
pub(super) fn buttons(visitor: &Visitor, campaign: &Campaign, is_report: bool) -> Markup {
    let offered = || ACTIONS.iter().filter(|it| it.is_offered(visitor, campaign));
    html! {
        div class="actions" {
            @for action in offered().filter(|it| it.confirmed.is_none()) {
                form method="post" action=(action.address(campaign)) {
                    (visitor.csrf_field())
                    @if is_report { (view::hidden("from", "report")) }
                    button class="button" type="submit" { (action.label) }
                }
            }
        }
    }
}

/// The actions that are confirmed, at the end of the page; `is_anew` where a script puts them in place of those of the page.
pub(super) fn confirmations(visitor: &Visitor, campaign: &Campaign, is_anew: bool) -> Markup {
    let offered: Vec<&Action> = ACTIONS
        .iter()
        .filter(|it| it.is_offered(visitor, campaign) && it.confirmed.is_some())
        .collect();
    let swap = is_anew.then_some("true");
    html! {
        @if offered.is_empty() {
            div id=(CONFIRMATIONS) hx-swap-oob=[swap] {}
        } @else {
            section id=(CONFIRMATIONS) hx-swap-oob=[swap] aria-label="Changes that are confirmed" class="actions" {
                @for action in offered {
                    @if let Some(question) = action.confirmed {
                        (view::confirm_by_name(&Confirmation {
                            id: &action.dialog_id(),
                            button: action.label,
                            title: question.title,
                            explanation: question.explanation,
                            name: view::confirmable(&campaign.name, &campaign.id),
                            action: &action.address(campaign),
                            hidden: &visitor.csrf_field(),
                        }))
                    }
                }
            }
        }
    }
}

/// The action of this name: of several the one of the campaign's state, else the first, so that the API refuses it.
pub(super) fn named(campaign: &Campaign, name: &str) -> Option<&'static Action> {
    let known = || ACTIONS.iter().chain(ELSEWHERE).filter(|it| it.name == name);
    known().find(|it| (it.fits)(campaign)).or_else(|| known().next())
}
