//! The names that rows of the form choose from, or that its fields offer.

use std::time::Duration;

use futures_util::future;
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::draft::{Draft, Rows, Rules};
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Choice},
    visitor::Visitor,
};

/// Names that are offered of a kind.
const SHOWN_MAX: &str = "200";
/// Campaigns that are offered: as many as one page of the API has.
const CAMPAIGNS_MAX: &str = "100";
/// Longest wait for what is only offered: any name can be typed.
const OFFERS_WAIT_MAX: Duration = Duration::from_secs(2);

/// A name that can be chosen by its id.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
    pub(super) name: String,
}

/// What rows choose from, as far as there are rows of the kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) segments: Vec<Named>,
    /// None without the scope to read them.
    pub(super) lists: Option<Vec<Named>>,
    pub(super) events: Offers,
    pub(super) campaigns: Offers,
}

/// Values that a field offers while something is typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Offers {
    /// The id of the list on the page.
    id: &'static str,
    values: Vec<Offered>,
}

/// A value and what it stands for.
#[derive(Debug, Clone)]
struct Offered {
    value: String,
    label: String,
}

impl Offers {
    /// The id of the list, where it has values.
    pub(super) fn offered(&self) -> Option<&'static str> {
        (!self.values.is_empty()).then_some(self.id)
    }

    fn list(&self) -> Markup {
        let choices: Vec<Choice<'_>> =
            self.values.iter().map(|it| Choice { value: &it.value, label: &it.label }).collect();
        html! { @if let Some(id) = self.offered() { (view::offers(id, &choices)) } }
    }
}

impl Names {
    /// The lists of what fields offer.
    pub(super) fn offers(&self) -> Markup {
        html! { (self.events.list()) (self.campaigns.list()) }
    }

    /// Reads what the rows of a draft choose from.
    pub(super) async fn of(visitor: &Visitor, draft: &Draft) -> Self {
        let Rules::Rows(rows) = &draft.rules else { return Self::default() };
        let (segments, lists, events, campaigns) = future::join4(
            segments(visitor, rows),
            lists(visitor, rows),
            events(visitor, rows),
            campaigns(visitor, rows),
        )
        .await;
        Self { segments, lists, events, campaigns }
    }
}

/// The choices of names, with an id among them that is not theirs.
pub(super) fn choices<'n>(names: &'n [Named], chosen: &'n str) -> Vec<Choice<'n>> {
    let mut choices = vec![Choice { value: "", label: "Choose…" }];
    choices.extend(names.iter().map(|it| Choice { value: &it.id, label: &it.name }));
    if !chosen.is_empty() && names.iter().all(|it| it.id != chosen) {
        choices.push(Choice { value: chosen, label: chosen });
    }
    choices
}

/// What the rows of a kind are about; nothing where there is none.
fn subjects<'r>(rows: &'r Rows, kind: &str) -> Option<Vec<&'r str>> {
    let rows = rows.groups.iter().flat_map(|group| &group.rows).filter(|row| row.kind == kind);
    let fields: Vec<&str> = rows.map(|row| row.field.as_str()).collect();
    (!fields.is_empty()).then_some(fields)
}

#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
}

async fn segments(visitor: &Visitor, rows: &Rows) -> Vec<Named> {
    let Some(chosen) = subjects(rows, "segment") else { return Vec::new() };
    all_segments(visitor, &chosen).await.unwrap_or_default()
}

/// Every segment by name, and those that are chosen although they are not among them.
pub(super) async fn all_segments(visitor: &Visitor, chosen: &[&str]) -> PageResult<Vec<Named>> {
    let mut found: Vec<Named> = visitor.all("/segments").await?;
    let is_unnamed = |id: &&str| !id.is_empty() && found.iter().all(|it| it.id != *id);
    let others = chosen.iter().copied().filter(is_unnamed).map(async |id| {
        let call = visitor.get(path(["segments", id])).query("counted", "false");
        call.read::<Named>().await.ok()
    });
    let others: Vec<Option<Named>> = future::join_all(others).await;
    found.extend(others.into_iter().flatten());
    Ok(found)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    id: String,
    name: String,
    archived_at: Option<kernel::Timestamp>,
}

/// The lists, and those that are archived where they are chosen.
async fn lists(visitor: &Visitor, rows: &Rows) -> Option<Vec<Named>> {
    let chosen = subjects(rows, "list")?;
    visitor.may(ScopeName::SettingsRead).then_some(())?;
    let call = visitor.get("/lists").query("includeArchived", "true");
    let all: Vec<List> = call.read().await.unwrap_or_default();
    let named = |list: List| match list.archived_at {
        None => Some(Named { id: list.id, name: list.name }),
        Some(_) if chosen.contains(&list.id.as_str()) => {
            Some(Named { name: format!("{} (archived)", list.name), id: list.id })
        }
        Some(_) => None,
    };
    Some(all.into_iter().filter_map(named).collect())
}

#[derive(Deserialize)]
struct Event {
    name: String,
}

async fn events(visitor: &Visitor, rows: &Rows) -> Offers {
    if subjects(rows, "event").is_none() || !visitor.may(ScopeName::EventsRead) {
        return Offers::default();
    }
    let call = visitor.get("/insights/events").query("limit", SHOWN_MAX);
    let page: PageResult<Page<Event>> = call.within(OFFERS_WAIT_MAX).read().await;
    let events = page.map(|page| page.data).unwrap_or_default().into_iter();
    let values = events.map(|event| Offered { value: event.name, label: String::new() }).collect();
    Offers { id: "known-events", values }
}

async fn campaigns(visitor: &Visitor, rows: &Rows) -> Offers {
    if subjects(rows, "engagement").is_none() || !visitor.may(ScopeName::CampaignsRead) {
        return Offers::default();
    }
    let call = visitor.get("/campaigns").query("limit", CAMPAIGNS_MAX);
    let page: PageResult<Page<Named>> = call.within(OFFERS_WAIT_MAX).read().await;
    let campaigns = page.map(|page| page.data).unwrap_or_default().into_iter();
    let values = campaigns.map(|it| Offered { value: it.id, label: it.name }).collect();
    Offers { id: "known-campaigns", values }
}
