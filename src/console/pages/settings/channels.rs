//! Channels: their providers, and a test of one.

use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};
use web::auth::ScopeName;

use super::Tab;
use crate::{
    failure::{PageResult, Refused},
    in_process::path,
    view::{self, Choice, Column, Field, Tone},
    visitor::{Form, Visitor},
};

/// A channel that no test reaches: a campaign names its own addresses.
const WEBHOOK: &str = "webhook";
/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["userId", "to", "templateId"];

/// A channel as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Channel {
    #[serde(rename = "channel")]
    name: String,
    is_enabled: bool,
    provider: Option<String>,
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Channels {
    data: Vec<Channel>,
}

/// What became of a test.
#[derive(Debug, Deserialize)]
struct Tested {
    success: bool,
    to: String,
    status: String,
    code: Option<String>,
    reason: Option<String>,
}

/// A test as it is typed.
#[derive(Debug, Clone, Default)]
struct Draft {
    channel: String,
    user: String,
    to: String,
    template: String,
}

impl Draft {
    fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().trim().to_owned();
        Self {
            channel: text("channel"),
            user: text("userId"),
            to: text("to"),
            template: text("templateId"),
        }
    }

    fn body(&self) -> Value {
        let fields = [("userId", &self.user), ("to", &self.to), ("templateId", &self.template)];
        let filled = fields.into_iter().filter(|(_, text)| !text.is_empty());
        let fields: Map<String, Value> =
            filled.map(|(name, text)| (name.to_owned(), text.as_str().into())).collect();
        Value::Object(fields)
    }
}

pub(super) async fn show(visitor: Visitor) -> Response {
    page(&visitor, &Draft::default(), None).await
}

/// Sends a test, and shows what the provider answered.
pub(super) async fn test(visitor: Visitor, form: Form) -> PageResult<Response> {
    let draft = Draft::of(&form);
    let call = visitor.call(Method::POST, path(["channels", &draft.channel, "test"]));
    match call.json(&draft.body())?.read::<Tested>().await {
        Ok(tested) => {
            let (_, notice) = in_words(&tested);
            let page = page(&visitor, &draft, Some(&Ok(tested))).await;
            Ok(visitor.shown_once(page, Tab::Channels.path(), &notice))
        }
        refused => Ok(page(&visitor, &draft, Some(&refused)).await),
    }
}

async fn page(visitor: &Visitor, draft: &Draft, tested: Option<&PageResult<Tested>>) -> Response {
    let channels: PageResult<Channels> = visitor.get("/channels").read().await;
    let content = html! {
        @match &channels {
            Ok(channels) => {
                (view::card("Channels", &list(&channels.data)))
                @if visitor.may(ScopeName::CampaignsSend) || tested.is_some() {
                    (form(visitor, &channels.data, draft, tested))
                }
            }
            Err(failure) => (failure.card("Channels")),
        }
        (view::card("Settings", &html! {
            p {
                "Channels and their providers belong to the server: each has a section "
                code { "[channels.NAME]" } " of its settings file, and a change takes a restart."
            }
            p { "On the machine of the server, this checks them, credentials included:" }
            (view::copyable("millrace doctor"))
        }))
    };
    let refused = tested.and_then(|tested| tested.as_ref().err()).map(Refused::Form);
    Tab::Channels.page(visitor, refused, &content)
}

fn list(channels: &[Channel]) -> Markup {
    let columns = [Column::text("Channel"), Column::text("Provider"), Column::text("State")];
    let row = |channel: &Channel| {
        vec![
            html! { (view::channel_label(&channel.name)) },
            html! {
                @match &channel.provider {
                    Some(provider) => code { (provider) },
                    None if channel.is_enabled => span class="quiet" { "of another process" },
                    None => span class="quiet" { "none" },
                }
            },
            html! {
                @if channel.is_enabled {
                    (view::badge(Tone::Good, "enabled"))
                } @else {
                    (view::badge(Tone::Warning, "not enabled"))
                    " " (channel.problem.as_deref().unwrap_or_default())
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = channels.iter().map(row).collect();
    view::table("Channels and their providers", &columns, &rows)
}

fn form(
    visitor: &Visitor,
    channels: &[Channel],
    draft: &Draft,
    tested: Option<&PageResult<Tested>>,
) -> Markup {
    let testable = |channel: &&Channel| channel.is_enabled && channel.name != WEBHOOK;
    let choices: Vec<Choice<'_>> = channels
        .iter()
        .filter(testable)
        .map(|Channel { name, .. }| Choice { value: name, label: view::channel_label(name) })
        .collect();
    let failure = tested.and_then(|tested| tested.as_ref().err());
    let rest = failure.and_then(|failure| failure.elsewhere(FIELDS));
    if choices.is_empty() {
        let content = html! {
            @if let Some(rest) = &rest { (view::alert(rest)) }
            p { "No channel has a provider yet." }
        };
        return view::card("Send a test", &content);
    }
    let fault = |field: &str| failure.and_then(|failure| failure.at(field));
    let [user_fault, to_fault, template_fault] = ["userId", "to", "templateId"].map(fault);
    let content = html! {
        @if let Some(Ok(tested)) = tested { (outcome(tested)) }
        @if let Some(rest) = &rest { (view::alert(rest)) }
        form method="post" action=(Tab::Channels.path()) {
            (visitor.csrf_field())
            (view::select("channel", "Channel", &draft.channel, &choices))
            (view::field(&Field::text("to", "To", &draft.to).fault(to_fault.as_deref())
                .hint("An email address or a phone number; for push through a gateway, the id that it knows")))
            (view::field(&Field::text("userId", "Or to a person", &draft.user).fault(user_fault.as_deref())
                .hint("The internal id or your own: it goes to the address or the devices of the profile")))
            (view::field(&Field::text("templateId", "Template", &draft.template).fault(template_fault.as_deref())
                .hint("An approved template of Viber or WhatsApp")))
            button class="button primary" type="submit" { "Send a test" }
        }
    };
    view::card("Send a test", &content)
}

/// What became of a test, as people read it.
fn in_words(tested: &Tested) -> (Tone, String) {
    let Tested { to, status, code, .. } = tested;
    match status.as_str() {
        "sent" => (Tone::Good, format!("The provider accepted a test to {to}.")),
        "queued" | "sending" if code.is_none() => {
            (Tone::Warning, format!("The provider has not answered a test to {to} yet."))
        }
        "queued" => (Tone::Warning, format!("A test to {to} will be tried again.")),
        "skipped" => (Tone::Bad, format!("A test to {to} was not sent.")),
        _ => (Tone::Bad, format!("A test to {to} failed.")),
    }
}

fn outcome(tested: &Tested) -> Markup {
    let Tested { success, status, code, reason, .. } = tested;
    let (tone, text) = in_words(tested);
    html! {
        p role="status" {
            (view::badge(tone, status)) " " (text)
            @if !success {
                @if let Some(code) = code { " " code { (code) } }
                @if let Some(reason) = reason { " " (reason) }
            }
        }
    }
}
