//! The members of a list, and putting people on it or off it.

use http::{Method, StatusCode};
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{CHANNELS, List, form::Draft};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Choice, Column, Field, Kind, Tone},
    visitor::{Form, Visitor},
};

/// Memberships of one page.
const PAGE: u64 = 50;
/// People who can be named in one form.
const NAMED_MAX: usize = 100;

/// A change of memberships as it is typed.
#[derive(Debug, Clone)]
pub(super) struct Change {
    people: String,
    channel: String,
    removes: bool,
}

impl Change {
    pub(super) fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self {
            people: text("people"),
            channel: text("onChannel"),
            removes: form.text("do") == Some("remove"),
        }
    }

    /// The people who are named, one a line or between commas.
    fn named(&self) -> Vec<&str> {
        let names = self.people.split([',', '\n']).map(str::trim);
        names.filter(|name| !name.is_empty()).collect()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    pub(super) tab: String,
    pub(super) channel: String,
    pub(super) status: String,
    pub(super) offset: u64,
}

impl Asked {
    pub(super) fn settings() -> Self {
        Self { tab: "settings".to_owned(), ..Self::default() }
    }
}

/// What was typed before the page is shown again, and why it was refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Typed<'t> {
    pub(super) settings: Option<&'t Draft>,
    pub(super) change: Option<&'t Change>,
    pub(super) failure: Option<&'t Failure>,
}

#[derive(Deserialize)]
struct Members {
    members: Vec<Member>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Member {
    contact_id: String,
    channel: String,
    status: String,
    updated_at: Timestamp,
}

/// The tab of members, with the form that changes them.
pub(super) async fn tab(visitor: &Visitor, list: &List, asked: &Asked, typed: Typed<'_>) -> Markup {
    html! {
        @if visitor.may(ScopeName::ComplianceRead) {
            (members(visitor, list, asked).await)
        } @else {
            (Failure::missing_scope(ScopeName::ComplianceRead.as_str()).card("Members"))
        }
        @if visitor.may(ScopeName::SettingsWrite) || typed.change.is_some() {
            (form(visitor, &list.path(), typed))
        }
    }
}

async fn members(visitor: &Visitor, list: &List, asked: &Asked) -> Markup {
    let call = visitor
        .get(path(["lists", &list.id, "members"]))
        .query_if("channel", Some(&asked.channel))
        .query_if("status", Some(&asked.status))
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let members: PageResult<Members> = call.read().await;
    let mut channels = vec![Choice { value: "", label: "All" }];
    channels.extend(view::choices(&CHANNELS));
    let mut statuses = vec![Choice { value: "", label: "All" }];
    statuses.extend(view::choices(&["subscribed", "unsubscribed"]));
    html! {
        form class="filters" method="get" action=(list.path()) autocomplete="off" {
            (view::select("channel", "Channel", &asked.channel, &channels))
            (view::select("status", "Status", &asked.status, &statuses))
            button class="button primary" type="submit" { "Filter" }
        }
        @match &members {
            Ok(members) => (found(visitor, list, asked, members)),
            Err(failure) => (view::alert(&failure.text())),
        }
    }
}

fn found(visitor: &Visitor, list: &List, asked: &Asked, members: &Members) -> Markup {
    if members.members.is_empty() {
        return view::empty(
            "No members",
            &html! { p { "People subscribe on the preference page, by the API, or are added below." } },
        );
    }
    let columns = [
        Column::text("Person"),
        Column::text("Channel"),
        Column::text("Status"),
        Column::text("Changed"),
    ];
    let row = |member: &Member| {
        let tone = if member.status == "subscribed" { Tone::Good } else { Tone::Neutral };
        vec![
            html! {
                a href=(path(["console", "people", &member.contact_id])) { code { (member.contact_id) } }
            },
            html! { (member.channel) },
            view::badge(tone, &member.status),
            view::ago(member.updated_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = members.members.iter().map(row).collect();
    let last = asked.offset + rows.len() as u64;
    let before =
        (asked.offset > 0).then(|| address(list, asked, asked.offset.saturating_sub(PAGE)));
    let after = (last < members.total).then(|| address(list, asked, asked.offset + PAGE));
    html! {
        p class="quiet" { (view::count(members.total)) " memberships" }
        (view::table("Members", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn address(list: &List, asked: &Asked, offset: u64) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("channel", &asked.channel)
        .append_pair("status", &asked.status)
        .append_pair("offset", &offset.to_string())
        .finish();
    format!("{}?{query}", list.path())
}

/// The form of the list whose page has this address.
pub(super) fn form(visitor: &Visitor, page: &str, typed: Typed<'_>) -> Markup {
    let failure = typed.failure.filter(|_| typed.change.is_some());
    let (people, channel) =
        typed.change.map_or(("", ""), |it| (it.people.as_str(), it.channel.as_str()));
    let fault =
        failure.and_then(|failure| failure.at("people").or_else(|| failure.at("contactIds")));
    let content = html! {
        @if let Some(rest) =
            failure.and_then(|failure| failure.elsewhere(&["people", "contactIds"])) {
            (view::alert(&rest))
        }
        form method="post" action={ (page) "/members" } data-keep="fields" data-typed[failure.is_some()] {
            (visitor.csrf_field())
            (view::field(&Field::text("people", "People", people).of(Kind::Lines(4)).required()
                .hint("Ids of profiles, your own or internal ones, one a line").fault(fault.as_deref())))
            (view::select("onChannel", "On channel", channel, &view::choices(&CHANNELS)))
            div class="actions" {
                button class="button primary" type="submit" name="do" value="add" { "Add to the list" }
                button class="button" type="submit" name="do" value="remove" { "Remove from the list" }
            }
        }
        p class="quiet" { "Who has opted out stays out, and removing leaves the membership as unsubscribed." }
    };
    view::card("Add or remove people", &content)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    #[serde(default)]
    added: u64,
    #[serde(default)]
    skipped_unsubscribed: u64,
    #[serde(default)]
    removed: u64,
}

pub(super) async fn changed(visitor: &Visitor, list: &List, change: &Change) -> PageResult<String> {
    let ids = internal_ids(visitor, &change.named()).await?;
    let method = if change.removes { Method::DELETE } else { Method::POST };
    let body = json!({"contactIds": ids, "channel": change.channel, "source": "console"});
    let call = visitor.call(method, path(["lists", &list.id, "members", "bulk"])).json(&body)?;
    let changed: Changed = call.read().await?;
    Ok(if change.removes {
        format!("{} removed.", view::count(changed.removed))
    } else {
        let Changed { added, skipped_unsubscribed: skipped, .. } = changed;
        format!("{} added, {} opted out and stay out.", view::count(added), view::count(skipped))
    })
}

#[derive(Deserialize)]
struct Person {
    id: String,
}

/// The internal ids of people who are named by them or by the caller's own.
async fn internal_ids(visitor: &Visitor, names: &[&str]) -> PageResult<Vec<String>> {
    let refused = |problem: String| {
        let errors = vec![format!("people {problem}")];
        Failure { errors, ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request") }
    };
    if names.is_empty() || names.len() > NAMED_MAX {
        return Err(refused(format!("must name between 1 and {NAMED_MAX} people")));
    }
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let by_id = visitor.get(path(["users", name])).read::<Person>().await;
        let found = match by_id {
            Err(failure) if failure.is_not_found() || failure.is_of_fields() => {
                visitor.get(path(["users", "by-user-id", name])).read::<Person>().await
            }
            found => found,
        };
        match found {
            Ok(person) => ids.push(person.id),
            Err(failure) if failure.is_not_found() || failure.is_of_fields() => {
                return Err(refused(format!("must be there: no profile has the id {name}")));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(ids)
}
