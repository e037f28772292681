//! The page of a segment: its rules, its members, and whom it shares with another.

use axum::{extract::Path, response::Response};
use futures_util::future;
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{
    ENTRY, Reach, Segment,
    draft::Draft,
    editor::{self, FormTarget},
    names::{self, Named},
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Confirmation, Tab, Tone},
    visitor::{Form, Visitor},
};

/// Members of one page.
const PAGE: u64 = 50;
/// The ids of what takes long: the figures, and the members or the overlap.
const SIZE: &str = "segment-size";
const TAB: &str = "segment-tab";
/// The tabs of the page: the name in the address, and the label.
const TABS: [(&str, &str); 3] =
    [("rules", "Rules"), ("members", "Members"), ("overlap", "Overlap")];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    tab: String,
    offset: u64,
    /// The id of the segment to compare with.
    with: String,
    /// The part that takes long and is on the page: `size` or `tab`.
    part: String,
}

impl Asked {
    fn has(&self, part: &str) -> bool {
        self.part == part
    }

    /// The address of the page with a part that takes long.
    fn address_with(&self, segment: &Segment, part: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("tab", &self.tab).append_pair("offset", &self.offset.to_string());
        query.append_pair("with", &self.with).append_pair("part", part);
        format!("{}?{}", segment.path(), query.finish())
    }
}

pub(super) async fn show(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let segment = find(&visitor, &id, asked.has("size")).await?;
    if let Some(part) = part(&visitor, &segment, &asked).await {
        return Ok(view::part(StatusCode::OK, &part));
    }
    Ok(page(&visitor, &segment, &asked, None).await)
}

/// The part that a script asks for.
async fn part(visitor: &Visitor, segment: &Segment, asked: &Asked) -> Option<Markup> {
    match asked.part.as_str() {
        _ if !visitor.asks_for_part() => None,
        "size" => Some(size(segment)),
        "tab" => Some(tab(visitor, segment, asked, current(asked)).await),
        _ => None,
    }
}

/// The tab that is open.
fn current(asked: &Asked) -> &'static str {
    let found = TABS.into_iter().find(|(name, _)| *name == asked.tab);
    found.unwrap_or(TABS[0]).0
}

/// The content of a tab.
async fn tab(visitor: &Visitor, segment: &Segment, asked: &Asked, name: &str) -> Markup {
    match name {
        "rules" => rules(visitor, segment).await,
        "overlap" => html! { div id=(TAB) { (overlap(visitor, segment, &asked.with).await) } },
        _ => html! { div id=(TAB) { (members(visitor, segment, asked.offset).await) } },
    }
}

async fn find(visitor: &Visitor, id: &str, is_counted: bool) -> PageResult<Segment> {
    let call = visitor.get(path(["segments", id]));
    let call = call.query_if("counted", (!is_counted).then_some("false"));
    if is_counted { call.shared().read().await } else { call.read().await }
}

async fn page(
    visitor: &Visitor,
    segment: &Segment,
    asked: &Asked,
    failure: Option<&Failure>,
) -> Response {
    let current = current(asked);
    let tab = if current == "rules" || asked.has("tab") {
        tab(visitor, segment, asked, current).await
    } else {
        view::later(TAB, &asked.address_with(segment, "tab"), current)
    };
    let tab_links = TABS.map(|(name, label)| Tab {
        label,
        href: format!("{}?tab={name}", segment.path()),
        is_current: name == current,
    });
    let content = html! {
        p { a href=(ENTRY.path) { "Segments" } }
        div class="head" {
            h1 { bdi { (segment.name) } }
            @if visitor.may(ScopeName::UsersWrite) { (deletion(visitor, segment)) }
        }
        @if let Some(failure) = failure { (view::alert(&failure.text())) }
        @if asked.has("size") {
            (size(segment))
        } @else {
            (view::later(SIZE, &asked.address_with(segment, "size"), "the number of members"))
        }
        (view::tabs("Parts of the segment", &tab_links))
        (tab)
    };
    visitor.page_after(failure, &ENTRY, &segment.name, &content)
}

/// The number of members, and of those that a message can reach.
fn size(segment: &Segment) -> Markup {
    let of = |label: &str, number: u64| {
        view::figure(label, &html! { (view::count(number)) }, None, Tone::Neutral)
    };
    html! {
        div id=(SIZE) class="figures" {
            @if let Some(count) = segment.count { (of("Members", count)) }
            @if let Some(Reach { email, sms, whatsapp, push, viber }) = segment.reach {
                (of("By email", email))
                (of("By SMS", sms))
                (of("By WhatsApp", whatsapp))
                (of("By push", push))
                (of("By Viber", viber))
            }
        }
    }
}

async fn rules(visitor: &Visitor, segment: &Segment) -> Markup {
    if !visitor.may(ScopeName::UsersWrite) {
        return view::card("Targeting", &view::json(&segment.targeting));
    }
    let draft = Draft::of(&segment.name, &segment.description, &segment.targeting);
    let target = FormTarget { title: segment.name.clone(), action: segment.path() };
    editor::form(visitor, &target, &draft, None).await
}

#[derive(Deserialize)]
struct Members {
    data: Vec<Member>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Member {
    id: String,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
}

async fn members(visitor: &Visitor, segment: &Segment, offset: u64) -> Markup {
    let call = visitor
        .get(path(["segments", &segment.id, "members"]))
        .query("limit", PAGE.to_string())
        .query("offset", offset.to_string());
    let members: Members = match call.shared().read().await {
        Ok(members) => members,
        Err(failure) => return failure.card("Members"),
    };
    if members.data.is_empty() {
        return view::empty("No members", &html! { p { "No one matches the rules now." } });
    }
    let columns = [Column::text("Person"), Column::text("Email"), Column::text("Phone")];
    let text = |text: &Option<String>| html! { (text.as_deref().unwrap_or("–")) };
    let row = |member: &Member| {
        let name = member.external_id.as_deref().or(member.email.as_deref());
        let name = name.unwrap_or(&member.id);
        vec![
            html! { a href=(path(["console", "people", &member.id])) { bdi { (name) } } },
            text(&member.email),
            text(&member.phone),
        ]
    };
    let rows: Vec<Vec<Markup>> = members.data.iter().map(row).collect();
    let address = |offset: u64| format!("{}?tab=members&offset={offset}", segment.path());
    let before = (offset > 0).then(|| address(offset.saturating_sub(PAGE)));
    let after = members.pagination.has_more.then(|| address(offset + PAGE));
    html! {
        p class="quiet" { (view::count(members.pagination.total)) " people" }
        (view::table("Members", &columns, &rows))
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

/// How many people are in this segment, in another, and in both.
async fn overlap(visitor: &Visitor, segment: &Segment, with: &str) -> Markup {
    if !visitor.may(ScopeName::CampaignsRead) {
        return Failure::missing_scope(ScopeName::CampaignsRead.as_str()).card("Overlap");
    }
    let others = match names::all_segments(visitor, &[with]).await {
        Ok(others) => others,
        Err(failure) => return failure.card("Overlap"),
    };
    let others: Vec<Named> = others.into_iter().filter(|it| it.id != segment.id).collect();
    if others.is_empty() {
        return view::empty("No other segment", &html! { p { "Two can be compared here." } });
    }
    let choices: Vec<Choice<'_>> =
        others.iter().map(|it| Choice { value: &it.id, label: &it.name }).collect();
    let other = others.iter().find(|it| it.id == with);
    html! {
        form class="filters" method="get" action=(segment.path()) autocomplete="off" {
            (view::hidden("tab", "overlap"))
            (view::select("with", "With", with, &choices))
            button class="button primary" type="submit" { "Compare" }
        }
        @if let Some(other) = other { (shared(visitor, segment, other).await) }
    }
}

async fn shared(visitor: &Visitor, segment: &Segment, other: &Named) -> Markup {
    let of = |ids: &[&str]| {
        let filter = |id: &&str| json!({"type": "segment", "field": id, "operator": "member"});
        let filters: Vec<Value> = ids.iter().map(filter).collect();
        json!({"filterGroups": [{"filters": filters}]})
    };
    let asked = [of(&[&segment.id]), of(&[&other.id]), of(&[&segment.id, &other.id])];
    let [own, theirs, both] =
        match future::try_join_all(asked.iter().map(|it| editor::number(visitor, it))).await {
            Ok(numbers) => numbers.try_into().unwrap_or_default(),
            Err(failure) => return failure.card("Overlap"),
        };
    let columns = [Column::text("People in"), Column::number("Number")];
    let row = |name: Markup, number: u64| vec![name, html! { (view::count(number)) }];
    let rows = [
        row(html! { bdi { (segment.name) } }, own),
        row(html! { bdi { (other.name) } }, theirs),
        row(html! { "Both" }, both),
        row(html! { "Only " bdi { (segment.name) } }, own.saturating_sub(both)),
        row(html! { "Only " bdi { (other.name) } }, theirs.saturating_sub(both)),
    ];
    view::table("Overlap", &columns, &rows)
}

fn deletion(visitor: &Visitor, segment: &Segment) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: "delete-segment",
        button: "Delete…",
        title: "Delete this segment?",
        explanation: "Its people stay. A segment that a campaign or another segment uses is not deleted.",
        name: view::confirmable(&segment.name, &segment.id),
        action: &format!("{}/delete", segment.path()),
        hidden: &visitor.csrf_field(),
    })
}

pub(super) async fn delete(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let segment = find(&visitor, &id, false).await?;
    let deleted = async {
        let otherwise = "The name that was typed is not that of the segment: nothing was deleted";
        form.confirmed(view::confirmable(&segment.name, &segment.id), otherwise)?;
        visitor.call(Method::DELETE, path(["segments", &id])).done().await
    };
    match deleted.await {
        Ok(()) => Ok(visitor.done(ENTRY.path, &format!("{} was deleted.", segment.name))),
        // It may be in use; the text names by what.
        Err(failure) if failure.keeps_form() => {
            Ok(page(&visitor, &segment, &Asked::default(), Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}
