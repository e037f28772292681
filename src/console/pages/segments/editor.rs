//! Making and changing a segment, and counting its people beforehand.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{
    ENTRY, Segment,
    builder::Builder,
    draft::{Action, Draft},
    names::Names,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Column},
    visitor::{Form, Visitor},
};

/// People who are shown of those that match.
const SAMPLE: u32 = 10;

/// Where a form stands: that of a new segment, or that of a saved one.
#[derive(Debug, Clone)]
pub(super) struct FormTarget {
    pub(super) title: String,
    pub(super) action: String,
}

impl FormTarget {
    fn new() -> Self {
        Self { title: "New segment".to_owned(), action: ENTRY.path.to_owned() }
    }

    /// Where the form of a saved segment stands. What was typed is shown again although the segment cannot be read.
    async fn of(visitor: &Visitor, id: &str, form: &Form) -> PageResult<Self> {
        #[derive(Deserialize)]
        struct Saved {
            name: String,
        }
        let call = visitor.get(path(["segments", id])).query("counted", "false");
        let title = match call.read::<Saved>().await {
            Ok(saved) => saved.name,
            Err(failure) if failure.keeps_form() => Draft::of_form(form).name,
            Err(failure) => return Err(failure),
        };
        Ok(Self { title, action: path(["console", "segments", id]) })
    }
}

/// Refuses those who may look at segments and not save them.
fn check(visitor: &Visitor) -> PageResult<()> {
    let scope = ScopeName::UsersWrite;
    if visitor.may(scope) { Ok(()) } else { Err(Failure::missing_scope(scope.as_str())) }
}

pub(super) async fn new(visitor: Visitor) -> PageResult<Response> {
    check(&visitor)?;
    Ok(page(&visitor, &FormTarget::new(), &Draft::new(), None).await)
}

pub(super) async fn create(visitor: Visitor, form: Form) -> PageResult<Response> {
    let target = FormTarget::new();
    let Some(body) = body_to_save(&form) else {
        return Ok(changed_page(&visitor, &target, &form).await);
    };
    let call = visitor.call(Method::POST, "/segments").json(&body)?;
    match call.read::<Segment>().await {
        Ok(segment) => Ok(visitor.done(&segment.path(), &format!("{} was saved.", segment.name))),
        Err(failure) => refused(&visitor, &target, &form, failure).await,
    }
}

pub(super) async fn update(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let target = FormTarget::of(&visitor, &id, &form).await?;
    let Some(body) = body_to_save(&form) else {
        return Ok(changed_page(&visitor, &target, &form).await);
    };
    let call = visitor.call(Method::PUT, path(["segments", &id])).json(&body)?;
    match call.done().await {
        Ok(()) => Ok(visitor.done(&target.action, "The segment was saved.")),
        Err(failure) => refused(&visitor, &target, &form, failure).await,
    }
}

/// The body to send where the form is to be saved; nothing where a button only changes the form, or its JSON is none.
fn body_to_save(form: &Form) -> Option<Value> {
    if Action::of(form) != Action::Save {
        return None;
    }
    let draft = Draft::of_form(form);
    let targeting = draft.targeting().ok()?;
    Some(json!({"name": draft.name, "description": draft.description, "targeting": targeting}))
}

/// The form after one of its buttons, or with JSON that cannot be read.
async fn changed_page(visitor: &Visitor, target: &FormTarget, form: &Form) -> Response {
    let mut draft = Draft::of_form(form);
    let applied = draft.apply(Action::of(form));
    let problem = applied.and_then(|()| draft.targeting().map(drop)).err();
    let fault = problem.map(|problem| {
        let errors = vec![format!("targeting {problem}")];
        Failure { errors, ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request") }
    });
    let failure = check(visitor).err().or(fault);
    page(visitor, target, &draft, failure.as_ref()).await
}

async fn refused(
    visitor: &Visitor,
    target: &FormTarget,
    form: &Form,
    failure: Failure,
) -> PageResult<Response> {
    if !failure.keeps_form() {
        return Err(failure);
    }
    Ok(page(visitor, target, &Draft::of_form(form), Some(&failure)).await)
}

/// The page of a form, with the people who match as far as it can be evaluated.
async fn page(
    visitor: &Visitor,
    target: &FormTarget,
    draft: &Draft,
    failure: Option<&Failure>,
) -> Response {
    let form = form(visitor, target, draft, failure).await;
    let content = html! {
        p { a href=(ENTRY.path) { "Segments" } }
        h1 { bdi { (target.title) } }
        (form)
    };
    visitor.page_after(failure, &ENTRY, &target.title, &content)
}

/// The form with its number of people.
pub(super) async fn form(
    visitor: &Visitor,
    target: &FormTarget,
    draft: &Draft,
    failure: Option<&Failure>,
) -> Markup {
    let (names, count) =
        futures_util::future::join(Names::of(visitor, draft), counted(visitor, draft)).await;
    let action = &target.action;
    Builder { visitor, draft, names: &names, action, failure, count: &count }.form()
}

#[derive(Deserialize)]
struct Preview {
    total: u64,
    users: Vec<Match>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Match {
    id: String,
    external_id: Option<String>,
    email: Option<String>,
}

/// The people of the form that was sent, for the script that asks while it changes.
pub(super) async fn count(visitor: Visitor, form: Form) -> Response {
    view::part(StatusCode::OK, &counted(&visitor, &Draft::of_form(&form)).await)
}

async fn counted(visitor: &Visitor, draft: &Draft) -> Markup {
    let scope = ScopeName::CampaignsRead;
    if !visitor.may(scope) {
        return html! {
            p class="quiet" { "Counting before saving needs the scope " code { (scope.as_str()) } "." }
        };
    }
    let Ok(targeting) = draft.targeting() else { return html! {} };
    match preview(visitor, &targeting, SAMPLE).await {
        Ok(preview) => matches(&preview),
        Err(failure) if failure.is_of_fields() => {
            html! { p class="quiet" { "The number of people comes when every filter is complete." } }
        }
        Err(failure) => view::alert(&failure.text()),
    }
}

async fn preview(visitor: &Visitor, targeting: &Value, limit: u32) -> PageResult<Preview> {
    let body = json!({"targeting": targeting, "limit": limit});
    visitor.call(Method::POST, "/campaigns/preview").json(&body)?.shared().read().await
}

/// The number of people who match a targeting.
pub(super) async fn number(visitor: &Visitor, targeting: &Value) -> PageResult<u64> {
    preview(visitor, targeting, 1).await.map(|preview| preview.total)
}

fn matches(preview: &Preview) -> Markup {
    let columns = [Column::text("Person"), Column::text("Email")];
    let row = |user: &Match| {
        let name = user.external_id.as_deref().or(user.email.as_deref()).unwrap_or(&user.id);
        vec![
            html! { a href=(path(["console", "people", &user.id])) { bdi { (name) } } },
            html! { (user.email.as_deref().unwrap_or("–")) },
        ]
    };
    let rows: Vec<Vec<Markup>> = preview.users.iter().map(row).collect();
    html! {
        p role="status" { strong { (view::count(preview.total)) } " people match" }
        @if !rows.is_empty() {
            details {
                summary { "Some of them" }
                (view::table("People who match, those changed last first", &columns, &rows))
            }
        }
    }
}
