//! The preference form: channels, lists, and unsubscribing from everything. Works without a script.

use kernel::Channel;
use maud::{Markup, PreEscaped, html};

use super::{
    Filled,
    layout::{self, FORM_STYLE},
};
use crate::hosted_page::model::{Choices, Contact, ListChoice, State, channel_box, list_box};

/// The displayed name of a channel.
pub(super) const fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Email => "Email",
        Channel::Sms => "Text message",
        Channel::Whatsapp => "WhatsApp",
        Channel::Push => "Push notification",
        Channel::Viber => "Viber",
    }
}

pub(in crate::hosted_page) fn built_in(filled: &Filled) -> String {
    let choices = &filled.choices;
    let content = html! {
        h1 { "Your preferences" }
        p class="lead" {
            "Choose what " bdi { (choices.workspace) } " sends you"
            @if let Some(address) = masked_address(&choices.contact) {
                " at " bdi class="address" { (address) }
            }
            "."
        }
        (notice(filled))
        (form(choices, filled.action))
    };
    layout::page(&choices.workspace, "Your preferences", &content)
}

/// The form with its style, for a workspace's own page.
pub(super) fn slot(filled: &Filled) -> String {
    html! {
        style { (PreEscaped(FORM_STYLE)) }
        (notice(filled))
        (form(&filled.choices, filled.action))
    }
    .into_string()
}

fn notice(filled: &Filled) -> Markup {
    html! {
        @if filled.saved {
            div class="mp-notice mp-saved" role="status" {
                strong { "Saved." }
                @if filled.choices.waits() {
                    " What is marked “to be confirmed” does not start before you have confirmed it."
                } @else {
                    " Your choices are in effect."
                }
            }
        }
    }
}

fn form(choices: &Choices, action: &str) -> Markup {
    html! {
        div class="mp-form" {
            form method="post" action=(action) {
                @if !choices.lists.is_empty() {
                    fieldset {
                        legend { "What you get" }
                        @for list in &choices.lists { (list_row(list)) }
                    }
                }
                @if !choices.channels.is_empty() {
                    fieldset {
                        legend { "How we may reach you" }
                        p class="mp-hint" { "Nothing is sent on a channel that is off, whatever is chosen above." }
                        div class="mp-card" {
                            @for (channel, on) in &choices.channels {
                                (switch(&channel_box(*channel), channel_name(*channel), *on))
                            }
                        }
                    }
                }
                button class="mp-primary" type="submit" name="action" value="save" { "Save preferences" }
            }
            form class="mp-out" method="post" action=(action) {
                p { "Prefer to hear nothing at all?" }
                button class="mp-quiet" type="submit" name="action" value="unsubscribe" {
                    "Unsubscribe from everything"
                }
            }
        }
    }
}

fn switch(name: &str, label: &str, on: bool) -> Markup {
    html! {
        label class="mp-row" {
            span class="mp-label" { (label) }
            input type="hidden" name="shown" value=(name);
            input class="mp-switch" type="checkbox" role="switch" name="on" value=(name) checked[on];
        }
    }
}

/// A list: one switch if it has one channel, otherwise a checkbox for each.
fn list_row(list: &ListChoice) -> Markup {
    let describe = html! {
        span class="mp-name" dir="auto" { (list.name) }
        @if !list.description.is_empty() {
            span class="mp-about" dir="auto" { (list.description) }
        }
    };
    html! {
        @if let [(channel, state)] = list.channels[..] {
            label class="mp-card mp-row" {
                span class="mp-label" {
                    (describe)
                    @if channel != Channel::Email { span class="mp-about" { "by " (channel_name(channel)) } }
                    (waiting(state))
                }
                (tick(list, channel, state, "mp-switch"))
            }
        } @else {
            div class="mp-card" role="group" aria-label=(list.name) {
                div class="mp-label" { (describe) }
                div class="mp-chips" {
                    @for (channel, state) in &list.channels {
                        label class="mp-chip" {
                            (tick(list, *channel, *state, "mp-box"))
                            span { (channel_name(*channel)) (waiting(*state)) }
                        }
                    }
                }
            }
        }
    }
}

fn tick(list: &ListChoice, channel: Channel, state: State, class: &str) -> Markup {
    let name = list_box(list.id, channel);
    let role = (class == "mp-switch").then_some("switch");
    html! {
        input type="hidden" name="shown" value=(name);
        input class=(class) type="checkbox" role=[role] name="on" value=(name) checked[state != State::Off];
    }
}

fn waiting(state: State) -> Markup {
    html! {
        @if state == State::Pending { " " span class="mp-pending" { "to be confirmed" } }
    }
}

/// A part of the address that its owner recognises: links are forwarded.
pub(super) fn masked_address(contact: &Contact) -> Option<String> {
    let email = contact.email.as_deref().and_then(|email| {
        let (local, domain) = email.rsplit_once('@')?;
        Some(format!("{}•••@{domain}", local.chars().next()?))
    });
    email.or_else(|| {
        let phone = contact.phone.as_deref()?;
        let digits: Vec<char> = phone.chars().filter(char::is_ascii_digit).collect();
        let last: String = digits.get(digits.len().checked_sub(3)?..)?.iter().collect();
        Some(format!("•••{last}"))
    })
}
