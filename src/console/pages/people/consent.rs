//! A person's consent by channel and list, and changing it.

use std::collections::BTreeMap;

use axum::{extract::Path, response::Response};
use futures_util::future;
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::{Profile, frame};
use crate::{
    failure::{self, Failure, PageResult},
    in_process::path,
    view::{self, Choice, Column, Field, Kind, Moment, Tone},
    visitor::{Form, Visitor},
};

const CHANNELS: [&str; 5] = ["email", "sms", "whatsapp", "push", "viber"];
const STATUSES: [(&str, &str); 3] =
    [("subscribed", "Subscribed"), ("optedIn", "Opted in"), ("unsubscribed", "Unsubscribed")];
/// Entries of the history on one page.
const PAGE: u64 = 50;
/// The reason for which bounces are cleared; the form of consent has a reason of its own on the page.
const BOUNCE_REASON: &str = "bounceReason";
/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["channel", "status", "source", "reason", "consentText"];

/// A change of consent as it is typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    channel: String,
    status: String,
    source: String,
    reason: String,
    consent_text: String,
}

impl Draft {
    fn new() -> Self {
        Self { source: "console".to_owned(), ..Self::default() }
    }

    fn of_form(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().trim().to_owned();
        Self {
            channel: text("channel"),
            status: text("status"),
            source: text("source"),
            reason: text("reason"),
            consent_text: text("consentText"),
        }
    }

    /// The body of the API; what is empty is not given.
    fn body(&self) -> Value {
        let fields = [
            ("channel", &self.channel),
            ("status", &self.status),
            ("source", &self.source),
            ("reason", &self.reason),
            ("consentText", &self.consent_text),
        ];
        let given = fields.into_iter().filter(|(_, text)| !text.is_empty());
        given.map(|(name, text)| (name.to_owned(), json!(text))).collect::<Map<_, _>>().into()
    }
}

/// A change that was refused, and why.
#[derive(Debug)]
pub(super) struct Refused<'r> {
    draft: &'r Draft,
    failure: &'r Failure,
    /// Whether bounces were to be cleared: only the reason was typed.
    is_of_bounces: bool,
}

#[derive(Deserialize)]
struct Contact {
    channels: BTreeMap<String, ChannelConsent>,
    lists: Vec<Membership>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelConsent {
    status: Option<String>,
    opt_in_date: Option<Timestamp>,
    opt_out_date: Option<Timestamp>,
    opt_in_source: Option<String>,
    #[serde(default)]
    bounce_count: u32,
    is_valid: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Membership {
    list_id: String,
    channel: String,
    status: String,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct ListName {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct History {
    items: Vec<HistoryEntry>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryEntry {
    channel: String,
    action: String,
    source: String,
    actor: String,
    created_at: Timestamp,
    previous_status: Option<String>,
    new_status: Option<String>,
}

/// What a tab shows besides what is stored.
#[derive(Debug, Default)]
pub(super) struct Asked<'a> {
    /// Entries of the history that are left out.
    pub(super) offset: u64,
    /// What was typed of a change that was refused.
    pub(super) refused: Option<&'a Refused<'a>>,
}

/// Consent by channel and list, with its history; with what was typed of a change that was refused.
pub(super) async fn tab(visitor: &Visitor, profile: &Profile, asked: &Asked<'_>) -> Markup {
    let refused = asked.refused;
    if !visitor.may(ScopeName::ComplianceRead) {
        return instead(
            visitor,
            profile,
            refused,
            &Failure::missing_scope(ScopeName::ComplianceRead.as_str()),
        );
    }
    let contact = visitor.get(path(["subscriptions", "contacts", &profile.id])).read();
    let history = visitor.get(path(["subscriptions", "contacts", &profile.id, "history"]));
    let history =
        history.query("limit", PAGE.to_string()).query("offset", asked.offset.to_string()).read();
    let (contact, history, names) = future::join3(contact, history, list_names(visitor)).await;
    let (contact, history): (PageResult<Contact>, PageResult<History>) = (contact, history);
    html! {
        @match contact {
            Ok(contact) => {
                (view::card("Channels", &channels(visitor, &contact)))
                @if visitor.may(ScopeName::ComplianceWrite) || refused.is_some() {
                    (view::card("Change consent", &change(visitor, profile, refused.filter(|it| !it.is_of_bounces))))
                }
                (view::card("Lists", &memberships(visitor, &contact, &names)))
                @if contact.channels.values().any(|it| it.bounce_count > 0 || it.is_valid == Some(false)) {
                    (bounces(visitor, profile, refused.filter(|it| it.is_of_bounces)))
                }
            }
            Err(failure) => (instead(visitor, profile, refused, &failure)),
        }
        @match history {
            Ok(history) => (view::card("History", &entries(visitor, profile, asked.offset, &history))),
            Err(failure) => (failure.card("History")),
        }
    }
}

/// The failure in the place of what is stored, with what was typed.
fn instead(
    visitor: &Visitor,
    profile: &Profile,
    refused: Option<&Refused<'_>>,
    failure: &Failure,
) -> Markup {
    html! {
        (failure.card("Consent"))
        @if let Some(refused) = refused {
            @if refused.is_of_bounces { (bounces(visitor, profile, Some(refused))) }
            @else { (view::card("Change consent", &change(visitor, profile, Some(refused)))) }
        }
    }
}

/// The names of the lists, where the session may read them.
async fn list_names(visitor: &Visitor) -> BTreeMap<String, String> {
    if !visitor.may(ScopeName::SettingsRead) {
        return BTreeMap::new();
    }
    let call = visitor.get("/lists").query("includeArchived", "true");
    let lists: PageResult<Vec<ListName>> = call.read().await;
    lists.unwrap_or_default().into_iter().map(|list| (list.id, list.name)).collect()
}

fn channels(visitor: &Visitor, contact: &Contact) -> Markup {
    if contact.channels.is_empty() {
        return html! { p class="quiet" { "Nothing is recorded on any channel." } };
    }
    let columns = [
        Column::text("Channel"),
        Column::text("Status"),
        Column::text("Since"),
        Column::text("Source"),
        Column::number("Bounces"),
    ];
    let row = |(channel, consent): (&String, &ChannelConsent)| {
        let since = match consent.status.as_deref() {
            Some("unsubscribed") => consent.opt_out_date,
            _ => consent.opt_in_date,
        };
        let invalid = consent.is_valid == Some(false);
        vec![
            html! { (channel) },
            html! {
                @match consent.status.as_deref() {
                    Some(status) => (status_badge(status)),
                    None => "–",
                }
                @if invalid { " " (view::badge(Tone::Bad, "invalid address")) }
            },
            html! {
                @match since {
                    Some(at) => (view::ago(at, visitor.now(), visitor.zone())),
                    None => "–",
                }
            },
            html! { (consent.opt_in_source.as_deref().unwrap_or("–")) },
            html! { (consent.bounce_count) },
        ]
    };
    let rows: Vec<Vec<Markup>> = contact.channels.iter().map(row).collect();
    view::table("Consent by channel", &columns, &rows)
}

fn status_badge(status: &str) -> Markup {
    let (tone, text) = match status {
        "optedIn" => (Tone::Good, "opted in"),
        "subscribed" => (Tone::Good, "subscribed"),
        "unsubscribed" => (Tone::Bad, "unsubscribed"),
        other => (Tone::Neutral, other),
    };
    view::badge(tone, text)
}

fn memberships(visitor: &Visitor, contact: &Contact, names: &BTreeMap<String, String>) -> Markup {
    if contact.lists.is_empty() {
        return html! { p class="quiet" { "In no list." } };
    }
    let columns = [
        Column::text("List"),
        Column::text("Channel"),
        Column::text("Status"),
        Column::text("Changed"),
    ];
    let row = |membership: &Membership| {
        let name = names.get(&membership.list_id).unwrap_or(&membership.list_id);
        vec![
            html! { a href=(path(["console", "lists", &membership.list_id])) { (name) } },
            html! { (membership.channel) },
            status_badge(&membership.status),
            view::ago(membership.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = contact.lists.iter().map(row).collect();
    view::table("Lists", &columns, &rows)
}

fn entries(visitor: &Visitor, profile: &Profile, offset: u64, history: &History) -> Markup {
    if history.total == 0 {
        return html! { p class="quiet" { "No change yet." } };
    }
    let moments: Vec<Moment> = history
        .items
        .iter()
        .map(|entry| Moment {
            time: view::ago(entry.created_at, visitor.now(), visitor.zone()),
            tone: Tone::Neutral,
            kind: entry.channel.clone(),
            title: html! {
                (entry.action.replace('_', " ")) ": "
                (entry.previous_status.as_deref().unwrap_or("none")) " → "
                (entry.new_status.as_deref().unwrap_or("none"))
                span class="quiet" { " by " (entry.actor) " (" (entry.source) ")" }
            },
            details: None,
        })
        .collect();
    let address = |offset: u64| format!("{}?tab=consent&offset={offset}", profile.path());
    let before = (offset > 0).then(|| address(offset.saturating_sub(PAGE)));
    let last = offset + moments.len() as u64;
    let after = (last < history.total && !moments.is_empty()).then(|| address(offset + PAGE));
    html! {
        p class="quiet" { (view::count(history.total)) " changes, the newest first" }
        (view::timeline(&moments))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

/// The form that sets the consent on a channel.
fn change(visitor: &Visitor, profile: &Profile, refused: Option<&Refused<'_>>) -> Markup {
    let (draft, failure) =
        refused.map_or_else(|| (Draft::new(), None), |it| (it.draft.clone(), Some(it.failure)));
    let fault = |name: &str| failure.and_then(|failure| failure.at(name));
    let (source, reason, consent_text) = (fault("source"), fault("reason"), fault("consentText"));
    let channels: Vec<Choice<'_>> =
        CHANNELS.iter().map(|value| Choice { value, label: view::channel_label(value) }).collect();
    let statuses = STATUSES.map(|(value, label)| Choice { value, label });
    html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) { (view::alert(&rest)) }
        form method="post" action={ (profile.path()) "/consent" } {
            (visitor.csrf_field())
            div class="filters" {
                (view::select("channel", "Channel", &draft.channel, &channels))
                (view::select("status", "Status", &draft.status, &statuses))
                (view::field(&Field::text("source", "Source", &draft.source)
                    .hint("Where the person said so").fault(source.as_deref())))
            }
            (view::field(&Field::text("reason", "Reason", &draft.reason)
                .hint("Stored in the history").fault(reason.as_deref())))
            (view::field(&Field::text("consentText", "Consent text", &draft.consent_text).of(Kind::Lines(2))
                .hint("The words that the person agreed to").fault(consent_text.as_deref())))
            button class="button" type="submit" { "Set consent" }
        }
    }
}

fn bounces(visitor: &Visitor, profile: &Profile, refused: Option<&Refused<'_>>) -> Markup {
    if !visitor.may(ScopeName::ComplianceWrite) && refused.is_none() {
        return html! {};
    }
    let typed = refused.map_or("", |it| it.draft.reason.as_str());
    let fault = refused.and_then(|it| it.failure.at("reason"));
    let elsewhere = refused.and_then(|it| it.failure.elsewhere(&["reason"]));
    view::card(
        "Bounces",
        &html! {
            p class="quiet" { "Forgets the bounces, and lifts what they suppressed, so that the address gets messages again." }
            @if let Some(text) = elsewhere { (view::alert(&text)) }
            form method="post" action={ (profile.path()) "/clear-bounce" } {
                (visitor.csrf_field())
                (view::field(&Field::text(BOUNCE_REASON, "Reason", typed).fault(fault.as_deref())))
                button class="button" type="submit" { "Clear bounces" }
            }
        },
    )
}

/// Sets the consent on a channel.
pub(super) async fn save(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let draft = Draft::of_form(&form);
    let to = path(["subscriptions", "contacts", &profile.id, "channels", &draft.channel]);
    match visitor.call(Method::PUT, to).json(&draft.body())?.done().await {
        Ok(()) => {
            let notice = format!("{}: {}.", view::channel_label(&draft.channel), draft.status);
            Ok(visitor.done(&format!("{}?tab=consent", profile.path()), &notice))
        }
        Err(failure) => {
            let refused = Refused { draft: &draft, failure: &failure, is_of_bounces: false };
            let asked = Asked { refused: Some(&refused), ..Asked::default() };
            let content = tab(&visitor, &profile, &asked).await;
            let refused = Some(failure::Refused::Form(&failure));
            Ok(frame::page(&visitor, &profile, "consent", refused, &content))
        }
    }
}

/// Forgets the bounces of the person's addresses.
pub(super) async fn clear_bounce(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let reason = form.text(BOUNCE_REASON).unwrap_or_default().trim().to_owned();
    let body = if reason.is_empty() { json!({}) } else { json!({"reason": reason}) };
    let to = path(["subscriptions", "contacts", &profile.id, "clear-bounce"]);
    match visitor.call(Method::POST, to).json(&body)?.done().await {
        Ok(()) => {
            let address = format!("{}?tab=consent", profile.path());
            Ok(visitor.done(&address, "The bounces are forgotten."))
        }
        Err(failure) => {
            let draft = Draft { reason, ..Draft::new() };
            let refused = Refused { draft: &draft, failure: &failure, is_of_bounces: true };
            let asked = Asked { refused: Some(&refused), ..Asked::default() };
            let content = tab(&visitor, &profile, &asked).await;
            let refused = Some(failure::Refused::Form(&failure));
            Ok(frame::page(&visitor, &profile, "consent", refused, &content))
        }
    }
}
