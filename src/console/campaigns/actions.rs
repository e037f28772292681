//! Doing what a page of a campaign offers.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::{
    Campaign, ENTRY, Whole,
    asked_report::Asked,
    confirmed, editor, find,
    offers::{self, Action},
    report,
};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view,
    visitor::{Form, Visitor},
};

/// The campaign and the action that an address names.
#[derive(Debug, Deserialize)]
pub(super) struct Addressed {
    #[serde(rename = "campaignId")]
    campaign: String,
    #[serde(rename = "action")]
    name: String,
}

pub(super) async fn act(
    visitor: Visitor,
    Path(addressed): Path<Addressed>,
    form: Form,
) -> PageResult<Response> {
    let Addressed { campaign, name } = addressed;
    let whole = find(&visitor, &campaign).await?;
    if name == "schedule" {
        return confirmed::schedule(&visitor, &whole, &form).await;
    }
    if name == "rollback" {
        return roll_back(&visitor, &whole, &form).await;
    }
    if name == "select-winner" {
        return select_winner(&visitor, &whole, &form).await;
    }
    let campaign = &whole.campaign;
    let action = offers::named(campaign, &name).ok_or_else(Failure::not_found)?;
    if matches!(action.name, "send" | "launch-rl") {
        return confirmed::launch(&visitor, &whole, &form, action).await;
    }
    if action.confirmed.is_some() && !form.confirms(view::confirmable(&campaign.name, &campaign.id))
    {
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
        return report::page(visitor, whole, &Asked::default(), Some(failure)).await;
    }
    editor::page(visitor, whole, None, Some(failure)).await
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

/// Selects the winner of an A/B test by hand.
async fn select_winner(visitor: &Visitor, whole: &Whole, form: &Form) -> PageResult<Response> {
    let campaign = &whole.campaign;
    let body = json!({"variantId": form.text("variant").unwrap_or_default()});
    let call = visitor.call(Method::POST, path(["campaigns", &campaign.id, "select-winner"]));
    match call.json(&body)?.done().await {
        Ok(()) => Ok(visitor.done(&campaign.path_of("report"), "The winner goes to the rest.")),
        Err(failure) if failure.is_of_fields() => {
            Ok(report::page(visitor, whole, &Asked::default(), Some(&failure)).await)
        }
        Err(failure) => Err(failure),
    }
}
