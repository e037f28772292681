//! Pages with one question or one message: unsubscribe, confirm, done, and links that do not work.

use http::StatusCode;
use kernel::Channel;
use maud::{Markup, html};

use super::{form::masked_address, layout};
use crate::hosted_page::model::Contact;

/// What a link is about.
#[derive(Debug)]
pub(in crate::hosted_page) struct Subject {
    /// The list's name; none for the whole channel.
    pub(in crate::hosted_page) list: Option<String>,
    pub(in crate::hosted_page) channel: Channel,
}

impl Subject {
    fn messages(&self) -> &'static str {
        match self.channel {
            Channel::Email => "emails",
            Channel::Sms => "text messages",
            Channel::Whatsapp => "WhatsApp messages",
            Channel::Push => "push notifications",
            Channel::Viber => "Viber messages",
        }
    }

    /// `News emails`, or `emails`.
    fn named(&self) -> Markup {
        html! {
            @if let Some(list) = &self.list { bdi class="mp-subject" { (list) } " " }
            (self.messages())
        }
    }
}

fn button(name: &str, action: &str) -> Markup {
    html! {
        div class="mp-form" {
            form method="post" action="" {
                button class="mp-primary" type="submit" name="action" value=(action) { (name) }
            }
        }
    }
}

/// Asks before it unsubscribes from one list or channel.
pub(in crate::hosted_page) fn confirm_unsubscribe(
    workspace: &str,
    contact: &Contact,
    subject: &Subject,
) -> String {
    let content = html! {
        h1 { "Unsubscribe?" }
        p class="lead" {
            "You will get no more " (subject.named()) " from " bdi { (workspace) }
            @if let Some(address) = masked_address(contact) {
                " at " bdi class="address" { (address) }
            }
            "."
        }
        (button("Unsubscribe", "unsubscribe"))
    };
    layout::page(workspace, "Unsubscribe", &content)
}

pub(in crate::hosted_page) fn done_unsubscribe(workspace: &str, subject: &Subject) -> String {
    let content = html! {
        (done())
        h1 { "You are unsubscribed" }
        p class="lead" role="status" {
            "You will get no more " (subject.named()) " from " bdi { (workspace) } "."
        }
    };
    layout::page(workspace, "You are unsubscribed", &content)
}

/// Asks before it unsubscribes from everything.
pub(in crate::hosted_page) fn confirm_everything(workspace: &str) -> String {
    let content = html! {
        h1 { "Unsubscribe?" }
        p class="lead" { bdi { (workspace) } " will send you no more messages." }
        (button("Unsubscribe", "unsubscribe"))
    };
    layout::page(workspace, "Unsubscribe", &content)
}

/// Displayed if the redirect address is invalid.
pub(in crate::hosted_page) fn done_everything(workspace: &str) -> String {
    let content = html! {
        (done())
        h1 { "You are unsubscribed" }
        p class="lead" role="status" { bdi { (workspace) } " will send you no more messages." }
    };
    layout::page(workspace, "You are unsubscribed", &content)
}

/// Asks before it confirms.
pub(in crate::hosted_page) fn confirm_subscription(workspace: &str, subject: &Subject) -> String {
    let content = html! {
        h1 { "Confirm your subscription" }
        p class="lead" {
            "Yes, I would like to get " (subject.named()) " from " bdi { (workspace) } "."
        }
        (button("Confirm subscription", "confirm"))
        p class="small" { "You did not ask for this? Then close this page, and nothing is sent." }
    };
    layout::page(workspace, "Confirm your subscription", &content)
}

pub(in crate::hosted_page) fn done_subscription(workspace: &str, subject: &Subject) -> String {
    let content = html! {
        (done())
        h1 { "You are subscribed" }
        p class="lead" role="status" {
            "Thank you. From now on you get " (subject.named()) " from " bdi { (workspace) } "."
        }
    };
    layout::page(workspace, "You are subscribed", &content)
}

/// The page behind the links of a test message.
pub(in crate::hosted_page) fn of_test() -> String {
    let content = html! {
        h1 { "This is the link of a test message" }
        p class="lead" { "It works. In a real message its recipient chooses here; this one changes nothing." }
    };
    layout::nameless("Test message", &content)
}

fn done() -> Markup {
    html! { div class="tick" aria-hidden="true" { "✓" } }
}

/// The page for an error. It gives no details, so that links cannot be probed.
pub fn refusal(status: StatusCode) -> String {
    let (title, text) = match status {
        StatusCode::NOT_FOUND => (
            "This link does not work",
            "It may be incomplete, or too old. Please use the link in the latest message you got.",
        ),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => (
            "One moment, please",
            "This page is not available right now. Please try again in a minute.",
        ),
        status if status.is_server_error() => {
            ("Something went wrong", "That was our fault. Please try again in a minute.")
        }
        _ => ("That did not work", "Please go back, and try again from the page itself."),
    };
    let content = html! { h1 { (title) } p class="lead" { (text) } };
    layout::nameless(title, &content)
}
