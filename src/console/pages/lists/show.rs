//! The page of a list: its numbers, its settings and its members.

use axum::{extract::Path, response::Response};
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{
    ENTRY, List,
    form::Draft,
    members::{self, Asked, Change, Typed},
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Confirmation, Tab, Tone},
    visitor::{Form, Visitor},
};

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    match find(&visitor, &id).await? {
        list if list.archived_at.is_some() => Ok(archived(&visitor, &list)),
        list => Ok(page(&visitor, &list, &asked, Typed::default()).await),
    }
}

/// A list, archived or not: the API answers archived ones in the list of all alone.
pub(super) async fn find(visitor: &Visitor, id: &str) -> PageResult<List> {
    match visitor.get(path(["lists", id])).read().await {
        Err(failure) if failure.is_not_found() => {
            let call = visitor.get("/lists").query("includeArchived", "true");
            let lists: Vec<List> = call.read().await?;
            lists.into_iter().find(|list| list.id == id).ok_or(failure)
        }
        found => found,
    }
}

pub(super) async fn page(
    visitor: &Visitor,
    list: &List,
    asked: &Asked,
    typed: Typed<'_>,
) -> Response {
    let is_settings = asked.tab == "settings";
    let tabs = [("members", "Members", !is_settings), ("settings", "Settings", is_settings)];
    let tab_links = tabs.map(|(name, label, is_current)| Tab {
        label,
        href: format!("{}?tab={name}", list.path()),
        is_current,
    });
    let content = html! {
        p { a href=(ENTRY.path) { "Lists" } }
        div class="head" {
            h1 { bdi { (list.name) } }
            @if visitor.may(ScopeName::SettingsWrite) && !list.is_default { (archiving(visitor, list)) }
        }
        @if let Some(failure) = typed.failure.filter(|_| typed.settings.is_none() && typed.change.is_none()) {
            (view::alert(&failure.text()))
        }
        (stats(visitor, list).await)
        (view::tabs("Parts of the list", &tab_links))
        @if is_settings {
            @let draft = typed.settings.cloned().unwrap_or_else(|| Draft::of(list));
            (settings(visitor, &list.path(), &draft, typed.failure))
        } @else {
            (members::tab(visitor, list, asked, typed).await)
        }
    };
    visitor.page_after(typed.failure, &ENTRY, &list.name, &content)
}

/// A form as it was typed, where the list cannot be read.
fn alone(visitor: &Visitor, id: &str, typed: Typed<'_>) -> Response {
    let list = path(["console", "lists", id]);
    let content = html! {
        p { a href=(ENTRY.path) { "Lists" } }
        h1 { "A list" }
        @if let Some(draft) = typed.settings { (settings(visitor, &list, draft, typed.failure)) }
        @if typed.change.is_some() { (members::form(visitor, &list, typed)) }
    };
    visitor.page_after(typed.failure, &ENTRY, "A list", &content)
}

fn archived(visitor: &Visitor, list: &List) -> Response {
    let content = html! {
        p { a href=(ENTRY.path) { "Lists" } }
        h1 { bdi { (list.name) } }
        p { (view::badge(Tone::Neutral, "archived")) " Its memberships are kept. Nothing is sent to it." }
        @if visitor.may(ScopeName::SettingsWrite) {
            form method="post" action={ (list.path()) "/restore" } {
                (visitor.csrf_field())
                button class="button primary" type="submit" { "Restore" }
            }
        }
    };
    visitor.page(&ENTRY, &list.name, &content)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    total: u64,
    subscribed: u64,
    unsubscribed: u64,
    by_channel: std::collections::BTreeMap<String, u64>,
}

async fn stats(visitor: &Visitor, list: &List) -> Markup {
    let stats: Stats = match visitor.get(path(["lists", &list.id, "stats"])).read().await {
        Ok(stats) => stats,
        Err(failure) => return failure.card("Memberships"),
    };
    let of = |label: &str, number: u64| {
        view::figure(label, &html! { (view::count(number)) }, None, Tone::Neutral)
    };
    html! {
        div class="figures" {
            (of("Memberships", stats.total))
            (of("Subscribed", stats.subscribed))
            (of("Unsubscribed", stats.unsubscribed))
            @for channel in &list.channels {
                @if let Some(number) = stats.by_channel.get(channel) {
                    (of(&format!("Subscribed on {channel}"), *number))
                }
            }
        }
    }
}

/// The settings of the list whose page has this address.
fn settings(visitor: &Visitor, page: &str, draft: &Draft, failure: Option<&Failure>) -> Markup {
    html! {
        form method="post" action=(page) data-keep="fields" data-typed[failure.is_some()] {
            (visitor.csrf_field())
            fieldset disabled[!visitor.may(ScopeName::SettingsWrite)] {
                legend class="unseen" { "Settings of the list" }
                (draft.fields(failure))
                button class="button primary" type="submit" { "Save" }
            }
        }
    }
}

pub(super) async fn update(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let draft = Draft::of_form(&form);
    let list: List = match visitor.get(path(["lists", &id])).read().await {
        Ok(list) => list,
        Err(failure) if failure.keeps_form() => {
            let typed =
                Typed { settings: Some(&draft), failure: Some(&failure), ..Typed::default() };
            return Ok(alone(&visitor, &id, typed));
        }
        Err(failure) => return Err(failure),
    };
    let call = visitor.call(Method::PUT, path(["lists", &id])).json(&draft.body())?;
    match call.done().await {
        Ok(()) => {
            let to = format!("{}?tab=settings", list.path());
            Ok(visitor.done(&to, "The list was saved."))
        }
        Err(failure) if failure.keeps_form() => {
            let typed =
                Typed { settings: Some(&draft), failure: Some(&failure), ..Typed::default() };
            Ok(page(&visitor, &list, &Asked::settings(), typed).await)
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn change(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let change = Change::of(&form);
    let list: List = match visitor.get(path(["lists", &id])).read().await {
        Ok(list) => list,
        Err(failure) if failure.keeps_form() => {
            let typed =
                Typed { change: Some(&change), failure: Some(&failure), ..Typed::default() };
            return Ok(alone(&visitor, &id, typed));
        }
        Err(failure) => return Err(failure),
    };
    match members::changed(&visitor, &list, &change).await {
        Ok(notice) => Ok(visitor.done(&list.path(), &notice)),
        Err(failure) if failure.keeps_form() => {
            let typed =
                Typed { change: Some(&change), failure: Some(&failure), ..Typed::default() };
            Ok(page(&visitor, &list, &Asked::default(), typed).await)
        }
        Err(failure) => Err(failure),
    }
}

fn archiving(visitor: &Visitor, list: &List) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: "archive-list",
        button: "Archive…",
        title: "Archive this list?",
        explanation: "Nothing is sent to it any more. Its memberships are kept, and it can be restored.",
        name: view::confirmable(&list.name, &list.id),
        action: &format!("{}/archive", list.path()),
        hidden: &visitor.csrf_field(),
    })
}

pub(super) async fn archive(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let list: List = visitor.get(path(["lists", &id])).read().await?;
    let archived = async {
        let otherwise = "The name that was typed is not that of the list: nothing was archived";
        form.confirmed(view::confirmable(&list.name, &list.id), otherwise)?;
        visitor.call(Method::DELETE, path(["lists", &id])).done().await
    };
    match archived.await {
        Ok(()) => Ok(visitor.done(&list.path(), &format!("{} was archived.", list.name))),
        Err(failure) if failure.keeps_form() => {
            let typed = Typed { failure: Some(&failure), ..Typed::default() };
            Ok(page(&visitor, &list, &Asked::default(), typed).await)
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn restore(visitor: Visitor, Path(id): Path<String>) -> PageResult<Response> {
    let call = visitor.call(Method::POST, path(["lists", &id, "restore"]));
    let list: List = call.read().await?;
    Ok(visitor.done(&list.path(), &format!("{} was restored.", list.name)))
}
