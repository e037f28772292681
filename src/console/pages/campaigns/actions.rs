//! Doing what a page of a campaign offers.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};

use super::{
    Campaign, ENTRY, Whole, editor, find, launch,
    offers::{self, Action},
    report,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    visitor::{Form, Visitor},
};

pub(super) async fn act(
    visitor: Visitor,
    Path((id, name)): Path<(String, String)>,
    form: Form,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    if name == "schedule" {
        return schedule(&visitor, &whole).await;
    }
    if name == "rollback" {
        return roll_back(&visitor, &whole, &form).await;
    }
    let campaign = &whole.campaign;
    let action = offers::named(campaign, &name).ok_or_else(Failure::not_found)?;
    if action.confirmed.is_some() && form.filled("confirm") != Some(campaign.name.trim()) {
        let text = "The name that was typed is not that of the campaign: nothing was changed";
        let failure = Failure::new(StatusCode::BAD_REQUEST, text);
        return Ok(refused(&visitor, &whole, &form, &failure).await);
    }
    match call(&visitor, campaign, action).await {
        Ok(to) => {
            let is_of_report = form.text("from") == Some("report") && to == campaign.path();
            let to = if is_of_report { campaign.path_of("report") } else { to };
            Ok(visitor.done(&to, action.notice))
        }
        Err(failure) if failure.is_of_fields() && matches!(action.name, "send" | "launch-rl") => {
            Ok(launch::page(&visitor, &whole, Some(&failure)).await)
        }
        Err(failure) if failure.is_of_fields() => {
            Ok(refused(&visitor, &whole, &form, &failure).await)
        }
        Err(failure) => Err(failure),
    }
}

/// Calls the API. The answer is the address of what there is afterwards.
async fn call(visitor: &Visitor, campaign: &Campaign, action: &Action) -> PageResult<String> {
    let own = path(["campaigns", &campaign.id]);
    if action.name == "delete" {
        visitor.call(Method::DELETE, own).done().await?;
        return Ok(ENTRY.path.to_owned());
    }
    let call = visitor.call(Method::POST, format!("{own}/{}", action.name));
    let after: Campaign = call.read().await?;
    Ok(after.path())
}

async fn refused(visitor: &Visitor, whole: &Whole, form: &Form, failure: &Failure) -> Response {
    if form.text("from") == Some("report") {
        return report::page(visitor, whole, &report::Asked::default(), Some(failure)).await;
    }
    editor::page(visitor, whole, None, Some(failure)).await
}

/// Has a draft sent at its time.
async fn schedule(visitor: &Visitor, whole: &Whole) -> PageResult<Response> {
    let campaign = &whole.campaign;
    let call = visitor.call(Method::PUT, path(["campaigns", &campaign.id]));
    match call.json(&serde_json::json!({"status": "scheduled"}))?.done().await {
        Ok(()) => Ok(visitor.done(&campaign.path_of("launch"), "The campaign is scheduled.")),
        Err(failure) if failure.is_of_fields() => {
            Ok(launch::page(visitor, whole, Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}

/// Brings an older version back.
async fn roll_back(visitor: &Visitor, whole: &Whole, form: &Form) -> PageResult<Response> {
    let campaign = &whole.campaign;
    let version = form.filled("version").unwrap_or_default();
    let api = path(["campaigns", &campaign.id, "versions", version, "rollback"]);
    match visitor.call(Method::POST, api).done().await {
        Ok(()) => {
            let notice = format!("Version {version} is back.");
            Ok(visitor.done(&campaign.path(), &notice))
        }
        Err(failure) if failure.is_of_fields() => {
            Ok(editor::page(visitor, whole, None, Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}
