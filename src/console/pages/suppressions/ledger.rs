//! A channel's ledger: its rows, the search for an identifier, and taking one out.

use axum::response::Response;
use futures_util::future;
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{
    CHANNELS, ENTRY, IMPORT, REMOVE,
    add::{self, Added},
    channel_of,
    history::history,
    ledger_path,
    parts::{reach, reason_badge, search},
    to_read, to_write, writable,
};
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Confirmation, Field, Kind, Tab},
    visitor::{Form, Visitor},
};

/// Rows of one page.
const PAGE: u64 = 100;

/// What the address of the page names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    channel: String,
    reason: String,
    identifier: String,
    offset: u64,
}

impl Asked {
    /// The whole ledger of a channel.
    fn of(channel: &str) -> Self {
        Self { channel: channel.to_owned(), ..Self::default() }
    }
}

/// A row as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    identifier: String,
    reason: String,
    source: String,
    list_id: Option<String>,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct Rows {
    items: Vec<Row>,
    total: u64,
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> PageResult<Response> {
    page(&visitor, &asked, &Added::default(), None).await
}

/// Adds a row; faults of its fields are shown at the form.
pub(super) async fn create(visitor: Visitor, form: Form) -> PageResult<Response> {
    let channel = channel_of(&visitor, form.text("channel").unwrap_or_default())?;
    let added = Added::of(&form);
    match add::store(&visitor, channel, &added).await {
        Ok(()) => {
            let notice = format!("{} is suppressed.", added.identifier());
            Ok(visitor.done(&ledger_path(channel), &notice))
        }
        Err(failure) if failure.keeps_form() => {
            page(&visitor, &Asked::of(channel), &added, Some(Refused::Form(&failure))).await
        }
        Err(failure) => Err(failure),
    }
}

/// The page, with what was typed into its form.
async fn page(
    visitor: &Visitor,
    asked: &Asked,
    added: &Added,
    refused: Option<Refused<'_>>,
) -> PageResult<Response> {
    let failure = refused.and_then(Refused::at_form);
    let channel = channel_of(visitor, &asked.channel)?;
    let tabs = CHANNELS.map(|name| Tab {
        label: name,
        href: ledger_path(name),
        is_current: name == channel,
    });
    let content = html! {
        div class="head" {
            h1 { "Suppressions" }
            @if !writable(visitor).is_empty() { (view::button_link(IMPORT, "Import")) }
        }
        p class="quiet" { "Addresses and numbers that get no message, whatever a campaign asks for." }
        (view::tabs("Channels", &tabs))
        @if let Some(refused) = refused { (refused.above()) }
        @if visitor.may(to_read(channel)) {
            (rows(visitor, asked, channel).await)
        } @else {
            (Failure::missing_scope(to_read(channel).as_str()).card("Suppressions"))
        }
        @if visitor.may(to_write(channel)) || failure.is_some() { (add::form(visitor, channel, added, failure).await) }
    };
    Ok(visitor.page_after(refused.map(Refused::failure), &ENTRY, ENTRY.name, &content))
}

async fn rows(visitor: &Visitor, asked: &Asked, channel: &str) -> Markup {
    let reasons = [
        Choice { value: "", label: "All" },
        Choice { value: "unsubscribe", label: "Opted out" },
        Choice { value: "hard_bounce", label: "Does not exist" },
        Choice { value: "complaint", label: "Complained" },
        Choice { value: "manual", label: "Added by hand" },
    ];
    let filters = html! {
        form class="filters" method="get" action=(ENTRY.path) autocomplete="off" role="search" {
            (view::hidden("channel", channel))
            (view::field(&Field::text("identifier", "Search", asked.identifier.trim()).of(Kind::Search)
                .hint("A whole address or number")))
            (view::select("reason", "Reason", &asked.reason, &reasons))
            button class="button primary" type="submit" { "Search" }
        }
    };
    let found = match asked.identifier.trim() {
        "" => ledger(visitor, asked, channel).await,
        identifier => one(visitor, asked, channel, identifier).await,
    };
    html! { (filters) (found) }
}

async fn ledger(visitor: &Visitor, asked: &Asked, channel: &str) -> Markup {
    let call = visitor
        .get("/suppressions")
        .query("channel", channel)
        .query_if("reason", Some(&asked.reason))
        .query("limit", PAGE.to_string())
        .query("offset", asked.offset.to_string());
    let rows: Rows = match call.read().await {
        Ok(rows) => rows,
        Err(failure) => return view::alert(&failure.text()),
    };
    if rows.items.is_empty() {
        return empty(visitor, channel);
    }
    let columns = [
        Column::text("Identifier"),
        Column::text("Reason"),
        Column::text("For"),
        Column::text("Source"),
        Column::text("Since"),
    ];
    let cells = |row: &Row| {
        vec![
            html! { a href=(search(channel, &row.identifier)) { (row.identifier) } },
            reason_badge(&row.reason),
            reach(row.list_id.as_deref()),
            html! { (row.source) },
            view::ago(row.created_at, visitor.now(), visitor.zone()),
        ]
    };
    let cells: Vec<Vec<Markup>> = rows.items.iter().map(cells).collect();
    let last = asked.offset + cells.len() as u64;
    let address = |offset: u64| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("channel", channel)
            .append_pair("reason", &asked.reason)
            .append_pair("offset", &offset.to_string())
            .finish();
        format!("{}?{query}", ENTRY.path)
    };
    let before = (asked.offset > 0).then(|| address(asked.offset.saturating_sub(PAGE)));
    let after = (last < rows.total).then(|| address(asked.offset + PAGE));
    html! {
        p class="quiet" { (view::count(rows.total)) " rows" }
        (view::table("Suppressions", &columns, &cells))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

fn empty(visitor: &Visitor, channel: &str) -> Markup {
    let command = format!(
        "curl -s {}/suppressions -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\\n  \
         -d '{{\"channel\":\"{channel}\",\"identifier\":\"{}\"}}'",
        visitor.server_url(),
        if channel == "email" { "ann@example.test" } else { "+4915112345678" },
    );
    view::empty(
        "No suppressions",
        &html! {
            p { "Opt-outs, hard bounces and complaints come here by themselves. One can be added, too:" }
            (view::copyable(&command))
        },
    )
}

/// Whether an identifier is suppressed. The row is there only if it is.
#[derive(Deserialize)]
struct Status {
    suppressed: bool,
    #[serde(flatten)]
    row: Option<Row>,
}

#[derive(Deserialize)]
struct People {
    data: Vec<Person>,
}

#[derive(Deserialize)]
struct Person {
    id: String,
    email: Option<String>,
    phone: Option<String>,
}

/// The status of one identifier, with the people who have it, and its history.
async fn one(visitor: &Visitor, asked: &Asked, channel: &str, identifier: &str) -> Markup {
    let call = visitor.get(path(["suppressions", identifier])).query("channel", channel);
    let status: Status = match call.read().await {
        Ok(status) => status,
        Err(failure) => return view::alert(&failure.elsewhere(&[]).unwrap_or_default()),
    };
    let history = history(visitor, channel, identifier, asked.offset);
    let (people, history) = future::join(people(visitor, identifier), history).await;
    html! {
        @match status.row.filter(|_| status.suppressed) {
            Some(row) => {
                (view::facts([
                    ("Identifier", html! { (row.identifier) }),
                    ("Reason", reason_badge(&row.reason)),
                    ("For", reach(row.list_id.as_deref())),
                    ("Source", html! { (row.source) }),
                    ("Since", view::ago(row.created_at, visitor.now(), visitor.zone())),
                ]))
                @if visitor.may(to_write(channel)) { (removal(visitor, channel, &row.identifier)) }
            }
            None => (view::empty("Not suppressed", &html! {
                p { (identifier) " may get messages on " (channel) ", as far as suppressions go." }
            })),
        }
        (history)
        @for person in people {
            p {
                "Consent of "
                a href={ (path(["console", "people", &person.id])) "?tab=consent" } {
                    (person.email.or(person.phone).unwrap_or(person.id))
                }
            }
        }
    }
}

/// The people who have an identifier, where the session may look for them.
async fn people(visitor: &Visitor, identifier: &str) -> Vec<Person> {
    if !visitor.may(ScopeName::UsersRead) {
        return Vec::new();
    }
    let call = visitor.get("/users/search").query("query", identifier).query("limit", "5");
    let found: PageResult<People> = call.read().await;
    found.map(|people| people.data).unwrap_or_default()
}

fn removal(visitor: &Visitor, channel: &str, identifier: &str) -> Markup {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("channel", channel)
        .append_pair("identifier", identifier)
        .finish();
    view::confirm_by_name(&Confirmation {
        id: "remove-suppression",
        button: "Remove…",
        title: "Remove every row of this identifier?",
        explanation: "It may get messages again. A hard bounce or a complaint hurts the reputation of the sender \
                      when it is repeated.",
        name: identifier,
        action: &format!("{REMOVE}?{query}"),
        hidden: &visitor.csrf_field(),
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct ToRemove {
    channel: String,
    identifier: String,
}

#[derive(Deserialize)]
struct Removed {
    removed: u64,
}

pub(super) async fn remove(
    visitor: Visitor,
    Query(ToRemove { channel, identifier }): Query<ToRemove>,
    form: Form,
) -> PageResult<Response> {
    let channel = channel_of(&visitor, &channel)?;
    let removed = async {
        form.confirmed(&identifier, "What was typed is not the identifier: nothing was removed")?;
        let call = visitor.call(Method::DELETE, path(["suppressions", &identifier]));
        call.query("channel", channel).read().await
    };
    match removed.await {
        Ok(Removed { removed }) => {
            let notice = format!("{} removed for {identifier}.", view::count(removed));
            // Where it has its history.
            Ok(visitor.done(&search(channel, &identifier), &notice))
        }
        Err(failure) if failure.keeps_form() => {
            let asked = Asked { identifier, ..Asked::of(channel) };
            page(&visitor, &asked, &Added::default(), Some(Refused::Change(&failure))).await
        }
        Err(failure) => Err(failure),
    }
}
