//! Making and changing a campaign by a form that works without scripts.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::{
    Campaign, ENTRY, NEW_TYPED, NEW_UPCOMING, Whole, conflict,
    draft::{AUDIENCE, AUDIENCE_ID, Change, Draft},
    find,
    form::{CampaignForm, Choosable, Names},
    frame, progress, upcoming,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    visitor::{Form, Visitor},
};

pub(super) async fn new(visitor: Visitor) -> PageResult<Response> {
    let scope = ScopeName::CampaignsWrite;
    if !visitor.may(scope) {
        return Err(Failure::missing_scope(scope.as_str()));
    }
    Ok(new_page(&visitor, &Draft::new(), None).await)
}

pub(super) async fn create(visitor: Visitor, form: Form) -> PageResult<Response> {
    match to_save(&form) {
        ToSave::Body(body) => created(&visitor, &form, body).await,
        ToSave::Faulty(failure) => {
            Ok(new_page(&visitor, &Draft::of_form(&form), Some(&failure)).await)
        }
        ToSave::Changed(draft) => Ok(new_page(&visitor, &draft, None).await),
    }
}

async fn created(
    visitor: &Visitor,
    form: &Form,
    mut body: Map<String, Value>,
) -> PageResult<Response> {
    // A time alone would schedule it; the page of the launch does that.
    body.insert("status".to_owned(), json!("draft"));
    let call = visitor.call(Method::POST, "/campaigns").json(&body)?;
    match call.read::<Campaign>().await {
        Ok(made) => Ok(visitor.done(&made.path(), &format!("{} was saved.", made.name))),
        Err(failure) if failure.keeps_form() => {
            Ok(new_page(visitor, &Draft::of_form(form), Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}

/// Where a form stands whose campaign is not on the page: there is none yet, or it cannot be read.
struct FormPlace<'p> {
    title: &'p str,
    action: &'p str,
    upcoming: &'p str,
    preview: &'p str,
}

async fn new_page(visitor: &Visitor, draft: &Draft, failure: Option<&Failure>) -> Response {
    let place = FormPlace {
        title: "New campaign",
        action: ENTRY.path,
        upcoming: NEW_UPCOMING,
        preview: NEW_TYPED,
    };
    form_page(visitor, draft, failure, &place).await
}

/// The form of a campaign as it was typed, where the campaign cannot be read.
async fn typed_page(visitor: &Visitor, id: &str, draft: &Draft, failure: &Failure) -> Response {
    let of = |page: &str| path(["console", "campaigns", id, page]);
    let place = FormPlace {
        title: "Campaign",
        action: &path(["console", "campaigns", id]),
        upcoming: &of("upcoming"),
        preview: &of("typed"),
    };
    form_page(visitor, draft, Some(failure), &place).await
}

async fn form_page(
    visitor: &Visitor,
    draft: &Draft,
    failure: Option<&Failure>,
    place: &FormPlace<'_>,
) -> Response {
    let (names, occurrences) =
        futures_util::future::join(names(visitor, draft), upcoming::of(visitor, draft, None)).await;
    let form = CampaignForm {
        visitor,
        draft,
        names: &names,
        action: place.action,
        failure,
        conflict: None,
        is_open: true,
        is_fixed: false,
        occurrences: &occurrences,
        upcoming: place.upcoming,
        preview: place.preview,
    };
    let content = html! {
        p { a href=(ENTRY.path) { "Campaigns" } }
        h1 { (place.title) }
        p class="quiet" { "Saving makes a draft. Nothing is sent before it is launched." }
        (form.form())
    };
    visitor.page_after(failure, &ENTRY, place.title, &content)
}

pub(super) async fn show(visitor: Visitor, Path(id): Path<String>) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    Ok(page(&visitor, &whole, None, None).await)
}

pub(super) async fn update(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    match to_save(&form) {
        ToSave::Body(body) => updated(&visitor, &id, &form, &body).await,
        ToSave::Faulty(failure) => again(&visitor, &id, &form, &failure).await,
        ToSave::Changed(draft) => match find(&visitor, &id).await {
            Ok(whole) => Ok(page(&visitor, &whole, Some(&draft), None).await),
            // A script leaves the page as it is.
            Err(away) if away.keeps_form() && !visitor.asks_for_part() => {
                Ok(typed_page(&visitor, &id, &draft, &away).await)
            }
            Err(failure) => Err(failure),
        },
    }
}

async fn updated(
    visitor: &Visitor,
    id: &str,
    form: &Form,
    body: &Map<String, Value>,
) -> PageResult<Response> {
    match save(visitor, id, form, body).await {
        Ok(saved) => Ok(visitor.done(&saved.path(), saved_notice(&saved))),
        Err(failure) if failure.keeps_form() => again(visitor, id, form, &failure).await,
        Err(failure) => Err(failure),
    }
}

/// The form once more, as it was typed, with what refused it.
async fn again(
    visitor: &Visitor,
    id: &str,
    form: &Form,
    failure: &Failure,
) -> PageResult<Response> {
    let draft = Draft::of_form(form);
    let whole = match find(visitor, id).await {
        Ok(whole) => whole,
        Err(away) if away.keeps_form() => {
            return Ok(typed_page(visitor, id, &draft, failure).await);
        }
        Err(missing) => return Err(missing),
    };
    if failure.status == StatusCode::CONFLICT {
        // Others may have changed it.
        let expected = expected(form);
        if expected.is_some_and(|expected| expected != whole.etag) {
            let message = conflict::message(visitor, &whole, draft.text(conflict::LOADED)).await;
            let state =
                FormState { typed: Some(&draft), failure: Some(failure), conflict: Some(&message) };
            return Ok(page_with(visitor, &whole, state).await);
        }
    }
    Ok(page(visitor, &whole, Some(&draft), Some(failure)).await)
}

fn expected(form: &Form) -> Option<&str> {
    conflict::expected(form, Change::of(form) == Change::SaveOver)
}

/// Saves a form if the campaign still is what the form was opened with.
async fn save(
    visitor: &Visitor,
    id: &str,
    form: &Form,
    body: &Map<String, Value>,
) -> PageResult<Campaign> {
    let mut call = visitor.call(Method::PUT, path(["campaigns", id])).json(body)?;
    if let Some(etag) = expected(form) {
        call = call.if_match(etag)?;
    }
    call.read().await
}

fn saved_notice(saved: &Campaign) -> &'static str {
    if saved.has_pending_draft {
        "The edits were saved. They have an effect when they are published."
    } else {
        "The campaign was saved."
    }
}

/// What a form that was sent asks for.
enum ToSave {
    /// It is to be saved.
    Body(Map<String, Value>),
    /// It is to be saved and has JSON that cannot be read.
    Faulty(Failure),
    /// A button only changed the form.
    Changed(Draft),
}

fn to_save(form: &Form) -> ToSave {
    let mut draft = Draft::of_form(form);
    let change = Change::of(form);
    if !matches!(change, Change::Save | Change::SaveOver) {
        draft.apply(change);
        return ToSave::Changed(draft);
    }
    match draft.body() {
        Ok(body) => ToSave::Body(body),
        Err(errors) => ToSave::Faulty(Failure {
            errors,
            ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request")
        }),
    }
}

/// The page of a campaign with its form: as it is saved, or as it was typed.
pub(super) async fn page(
    visitor: &Visitor,
    whole: &Whole,
    typed: Option<&Draft>,
    failure: Option<&Failure>,
) -> Response {
    page_with(visitor, whole, FormState { typed, failure, conflict: None }).await
}

/// What the page shows beside the campaign.
#[derive(Clone, Copy)]
struct FormState<'s> {
    /// The form as it was typed.
    typed: Option<&'s Draft>,
    failure: Option<&'s Failure>,
    /// What others changed meanwhile.
    conflict: Option<&'s Markup>,
}

async fn page_with(visitor: &Visitor, whole: &Whole, state: FormState<'_>) -> Response {
    let FormState { typed, failure, conflict } = state;
    let campaign = &whole.campaign;
    let saved = Draft::of_saved(whole.latest(), &whole.etag, visitor.zone());
    let draft = typed.unwrap_or(&saved);
    let (names, occurrences, progress) = futures_util::future::join3(
        names(visitor, draft),
        upcoming::of(visitor, draft, Some(whole)),
        progress::card(visitor, campaign, &progress::Asked::default()),
    )
    .await;
    let is_over = matches!(campaign.status.as_str(), "archived" | "cancelled");
    let form = CampaignForm {
        visitor,
        draft,
        names: &names,
        action: &campaign.path(),
        failure: failure.filter(|_| typed.is_some()),
        conflict,
        is_open: visitor.may(ScopeName::CampaignsWrite) && !is_over,
        is_fixed: campaign.started_at.is_some(),
        occurrences: &occurrences,
        upcoming: &campaign.path_of("upcoming"),
        preview: &campaign.path_of("typed"),
    };
    let content = html! {
        @if let Some(failure) = failure.filter(|_| typed.is_none()) { (frame::refusal(failure)) }
        (progress)
        @if campaign.has_pending_draft {
            p { "The form has edits that are not published: what is sent is still what was before." }
        }
        @if is_over { p class="quiet" { "The campaign is " (campaign.status) ": it cannot be changed any more." } }
        (form.form())
    };
    frame::page(visitor, campaign, frame::Page::Edit, failure, &content)
}

/// The names that the form chooses from.
async fn names(visitor: &Visitor, draft: &Draft) -> Names {
    let mut names = Names::default();
    // Without the scopes, ids are shown in their stead.
    if draft.text(AUDIENCE) == "segment" && visitor.may(ScopeName::UsersRead) {
        names.segments = segments(visitor, draft.text(AUDIENCE_ID)).await;
    }
    if visitor.may(ScopeName::SettingsRead) {
        names.lists = visitor.get("/lists").read().await.unwrap_or_default();
    }
    names
}

/// Every segment by name, and the chosen one although it is not among them.
async fn segments(visitor: &Visitor, chosen: &str) -> Vec<Choosable> {
    let mut found: Vec<Choosable> = visitor.all("/segments").await.unwrap_or_default();
    if !chosen.is_empty() && found.iter().all(|it| it.id != chosen) {
        let call = visitor.get(path(["segments", chosen])).query("counted", "false");
        found.extend(call.read::<Choosable>().await.ok());
    }
    found
}
