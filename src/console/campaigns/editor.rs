//! Making and changing a campaign by a form that works without scripts.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::{
    Campaign, ENTRY, NEW_TYPED, NEW_UPCOMING, Whole, conflict,
    draft::{AUDIENCE, Change, Draft},
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
    let draft = match to_save(&form) {
        ToSave::Body(mut body) => {
            // A time alone would schedule it; the page of the launch does that.
            body.insert("status".to_owned(), json!("draft"));
            let call = visitor.call(Method::POST, "/campaigns").json(&body)?;
            match call.read::<Campaign>().await {
                Ok(made) => {
                    return Ok(visitor.done(&made.path(), &format!("{} was saved.", made.name)));
                }
                Err(failure) if failure.is_of_fields() => {
                    return Ok(new_page(&visitor, &Draft::of_form(&form), Some(&failure)).await);
                }
                Err(failure) => return Err(failure),
            }
        }
        ToSave::Faulty(failure) => {
            return Ok(new_page(&visitor, &Draft::of_form(&form), Some(&failure)).await);
        }
        ToSave::Changed(draft) => draft,
    };
    Ok(new_page(&visitor, &draft, None).await)
}

async fn new_page(visitor: &Visitor, draft: &Draft, failure: Option<&Failure>) -> Response {
    let (names, occurrences) =
        futures_util::future::join(names(visitor, draft), upcoming::of(visitor, draft, None)).await;
    let form = CampaignForm {
        visitor,
        draft,
        names: &names,
        action: ENTRY.path,
        failure,
        conflict: None,
        is_open: true,
        is_fixed: false,
        occurrences: &occurrences,
        upcoming: NEW_UPCOMING,
        preview: NEW_TYPED,
    };
    let content = html! {
        p { a href=(ENTRY.path) { "Campaigns" } }
        h1 { "New campaign" }
        p class="quiet" { "Saving makes a draft. Nothing is sent before it is launched." }
        (form.form())
    };
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    visitor.page_with(status, &ENTRY, "New campaign", &content)
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
    let whole = find(&visitor, &id).await?;
    let failure = match to_save(&form) {
        ToSave::Body(body) => match save(&visitor, &id, &form, &body).await {
            Ok(saved) => return Ok(visitor.done(&saved.path(), saved_notice(&saved))),
            Err(failure) if failure.is_of_fields() => failure,
            Err(failure) => return Err(failure),
        },
        ToSave::Faulty(failure) => failure,
        ToSave::Changed(draft) => return Ok(page(&visitor, &whole, Some(&draft), None).await),
    };
    let draft = Draft::of_form(&form);
    if failure.status == StatusCode::CONFLICT {
        // Others may have changed it after it was read here.
        let whole = find(&visitor, &id).await?;
        let expected = expected(&form);
        if expected.is_some_and(|expected| expected != whole.etag) {
            let message = conflict::message(&visitor, &whole, draft.text(conflict::LOADED)).await;
            let state = FormState {
                typed: Some(&draft),
                failure: Some(&failure),
                conflict: Some(&message),
            };
            return Ok(page_with(&visitor, &whole, state).await);
        }
    }
    Ok(page(&visitor, &whole, Some(&draft), Some(&failure)).await)
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
    #[derive(Deserialize)]
    struct Page {
        data: Vec<Choosable>,
    }
    let mut names = Names::default();
    // Without the scopes, ids are shown in their stead.
    if draft.text(AUDIENCE) == "segment" && visitor.may(ScopeName::UsersRead) {
        let page: PageResult<Page> = visitor.get("/segments").query("limit", "200").read().await;
        names.segments = page.map(|page| page.data).unwrap_or_default();
    }
    if visitor.may(ScopeName::SettingsRead) {
        names.lists = visitor.get("/lists").read().await.unwrap_or_default();
    }
    names
}
