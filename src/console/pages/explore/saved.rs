//! Questions saved under a name.

use axum::{extract::RawQuery, response::Response};
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{
    ENTRY,
    address::{Address, Kind},
    fields, question,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Confirmation, Field},
    visitor::{Form, Visitor},
};

/// Saved questions that are shown at once; the others are folded up.
const SHOWN_MAX: usize = 200;

#[derive(Debug, Clone, Deserialize)]
struct Saved {
    id: String,
    name: String,
    kind: String,
    #[serde(default)]
    question: Value,
}

impl Saved {
    /// Whether the page shows all of it.
    fn is_whole(&self) -> bool {
        question::is_whole(Kind::of(&self.kind), &self.question)
    }

    /// The page of the question.
    fn opened(&self) -> Opened {
        let address = question::address(Kind::of(&self.kind), &self.question, &self.id);
        Opened { address, is_whole: self.is_whole() }
    }
}

/// A saved question as an address.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) address: Address,
    /// Whether the address has all of it: other programs may save what the page has no fields for.
    pub(super) is_whole: bool,
}

/// Why a question was not saved under the name that was typed, or not deleted.
#[derive(Debug)]
pub(super) struct Refused<'r> {
    /// The name that was typed for the question.
    name: Option<&'r str>,
    failure: &'r Failure,
}

/// The question that the address names by its id alone.
pub(super) async fn opened(visitor: &Visitor, asked: &Address) -> PageResult<Option<Opened>> {
    if !asked.is_of_insight_alone() {
        return Ok(None);
    }
    let saved: Saved = visitor.get(path(["insights", &asked.insight])).read().await?;
    Ok(Some(saved.opened()))
}

/// The saved questions, and the form that saves this one.
pub(super) async fn panel(
    visitor: &Visitor,
    asked: &Address,
    refused: Option<&Refused<'_>>,
) -> Markup {
    let all: PageResult<Vec<Saved>> = visitor.all("/insights").await;
    let (all, failure) = match all {
        Ok(all) => (all, None),
        Err(failure) if refused.is_some() => (Vec::new(), Some(failure)),
        Err(failure) => return failure.card("Saved questions"),
    };
    let opened = match all.iter().find(|saved| saved.id == asked.insight) {
        // A question that was opened by its link is not lost among too many others.
        None if !asked.insight.is_empty() => {
            visitor.get(path(["insights", &asked.insight])).read::<Saved>().await.ok()
        }
        found => found.cloned(),
    };
    let may_write = visitor.may(ScopeName::EventsWrite);
    let (shown, more) = all.split_at(all.len().min(SHOWN_MAX));
    view::card(
        "Saved questions",
        &html! {
            @if let Some(refused) = refused.filter(|it| it.name.is_none()) { (view::alert(&refused.failure.text())) }
            @match &failure {
                Some(failure) => (view::alert(&failure.text())),
                None if all.is_empty() => p class="quiet" { "None is saved yet." },
                None => (list(shown)),
            }
            @if !more.is_empty() {
                details { summary { (view::count(more.len() as u64)) " more" } (list(more)) }
            }
            @if may_write || refused.is_some_and(|it| it.name.is_some()) { (form(visitor, asked, opened.as_ref(), refused)) }
            @if let Some(saved) = opened.filter(|_| may_write) { (deletion(visitor, &saved)) }
        },
    )
}

fn list(all: &[Saved]) -> Markup {
    html! {
        ul {
            @for saved in all {
                li {
                    a href={ (ENTRY.path) "?insight=" (saved.id) } { bdi { (saved.name) } } " "
                    (view::badge(view::Tone::Neutral, &saved.kind))
                }
            }
        }
    }
}

/// The form that saves the question of the page: under a new name, or in place of the one that is opened.
fn form(
    visitor: &Visitor,
    asked: &Address,
    opened: Option<&Saved>,
    refused: Option<&Refused<'_>>,
) -> Markup {
    let refused = refused.filter(|it| it.name.is_some());
    let typed = refused.and_then(|it| it.name);
    let name = typed.or_else(|| opened.map(|saved| &*saved.name)).unwrap_or_default();
    let fault = refused.and_then(|it| it.failure.at("name"));
    html! {
        form method="post" action="/console/explore/save" {
            (visitor.csrf_field())
            (view::hidden("question", &asked.query()))
            @if let Some(refused) = refused { (fields::faults(refused.failure, |field| field == "name")) }
            (view::field(&Field::text("name", "Save this question as", name).required().fault(fault.as_deref())))
            @if let Some(saved) = opened {
                button class="button" type="submit" formaction={ "/console/explore/update?insight=" (saved.id) } {
                    @if saved.is_whole() { "Save" } @else { "Rename" }
                }
                " "
                button class="button quiet" type="submit" { "Save as a new question" }
            } @else {
                button class="button" type="submit" { "Save" }
            }
        }
    }
}

fn deletion(visitor: &Visitor, saved: &Saved) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: "delete-question",
        button: "Delete…",
        title: "Delete this question?",
        explanation: "Links to it will lead nowhere.",
        name: view::confirmable(&saved.name, &saved.id),
        action: &format!("/console/explore/delete?insight={}", saved.id),
        hidden: &visitor.csrf_field(),
    })
}

pub(super) async fn save(visitor: Visitor, form: Form) -> PageResult<Response> {
    let asked = Address::read(form.text("question").unwrap_or_default());
    let name = form.text("name").unwrap_or_default().trim();
    match create(&visitor, &asked, name).await {
        Ok(saved) => Ok(done(&visitor, &saved)),
        Err(failure) => {
            let refused = Refused { name: Some(name), failure: &failure };
            Ok(again(&visitor, &asked, true, &refused).await)
        }
    }
}

/// Saves the question of the page in place of an earlier one. One with parts that the page does not show is only renamed.
pub(super) async fn update(
    visitor: Visitor,
    RawQuery(query): RawQuery,
    form: Form,
) -> PageResult<Response> {
    let insight = Address::read(query.as_deref().unwrap_or_default()).insight;
    let asked = Address::read(form.text("question").unwrap_or_default());
    let name = form.text("name").unwrap_or_default().trim();
    match replace(&visitor, &insight, &asked, name).await {
        Ok(saved) => Ok(done(&visitor, &saved)),
        Err(failure) => {
            let refused = Refused { name: Some(name), failure: &failure };
            Ok(again(&visitor, &asked, true, &refused).await)
        }
    }
}

async fn create(visitor: &Visitor, asked: &Address, name: &str) -> PageResult<Saved> {
    let question = question::body(visitor, asked)?;
    let new = json!({"name": name, "kind": asked.kind.name(), "question": question});
    visitor.call(Method::POST, "/insights").json(&new)?.read().await
}

async fn replace(
    visitor: &Visitor,
    insight: &str,
    asked: &Address,
    name: &str,
) -> PageResult<Saved> {
    let saved: Saved = visitor.get(path(["insights", insight])).read().await?;
    let mut change = json!({"name": name});
    if saved.is_whole() {
        change["kind"] = json!(asked.kind.name());
        change["question"] = question::body(visitor, asked)?;
    }
    visitor.call(Method::PUT, path(["insights", insight])).json(&change)?.read().await
}

fn done(visitor: &Visitor, saved: &Saved) -> Response {
    let to = format!("{}?insight={}", ENTRY.path, saved.id);
    visitor.done(&to, &format!("{} was saved. Its address can be sent to others.", saved.name))
}

/// The page once more, with the name as it was typed.
async fn again(
    visitor: &Visitor,
    asked: &Address,
    is_whole: bool,
    refused: &Refused<'_>,
) -> Response {
    let href = asked.href();
    let answer = Box::pin(super::place(visitor, asked, &href, &href));
    let content = super::content(visitor, asked, is_whole, answer, Some(refused)).await;
    visitor.page_after(Some(refused.failure), &ENTRY, &asked.title(), &content)
}

pub(super) async fn delete(
    visitor: Visitor,
    RawQuery(query): RawQuery,
    form: Form,
) -> PageResult<Response> {
    let asked = Address::read(query.as_deref().unwrap_or_default());
    let saved: Saved = visitor.get(path(["insights", &asked.insight])).read().await?;
    let deleted = async {
        let otherwise = "The name that was typed is not that of the question: nothing was deleted";
        form.confirmed(view::confirmable(&saved.name, &saved.id), otherwise)?;
        visitor.call(Method::DELETE, path(["insights", &saved.id])).done().await
    };
    match deleted.await {
        Ok(()) => Ok(visitor.done(ENTRY.path, &format!("{} was deleted.", saved.name))),
        Err(failure) if failure.keeps_form() => {
            let Opened { address, is_whole } = saved.opened();
            let refused = Refused { name: None, failure: &failure };
            Ok(again(&visitor, &address, is_whole, &refused).await)
        }
        Err(failure) => Err(failure),
    }
}
