//! The page of an id that leads to no profile, while events name it.

use axum::response::Response;
use http::StatusCode;
use maud::html;
use serde_json::json;
use web::auth::ScopeName;

use super::{ENTRY, bin, timeline};
use crate::{
    failure::{Failure, PageResult},
    view,
    visitor::Visitor,
};

/// The page, or the failure where no event names the id either.
pub(super) async fn page(visitor: &Visitor, user: &str, failure: Failure) -> PageResult<Response> {
    if !failure.is_not_found() || !visitor.may(ScopeName::EventsRead) {
        return Err(failure);
    }
    let Ok(Some(events)) = timeline::without_profile(visitor, user).await else {
        return Err(failure);
    };
    let body = view::shell_quoted(&json!({"externalId": user}).to_string());
    let command = format!(
        "curl -s {}/users -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -d {body}",
        visitor.server_url()
    );
    let how = html! {
        p {
            "Events name this id, and no profile has it. One is made by an app that identifies its user, by an import or by \
             the API, and has these events then:"
        }
        (view::copyable(&command))
        p class="quiet" { "Profiles that were deleted are in the " a href=(bin::PATH) { "recycle bin" } "." }
    };
    let content = html! {
        p { a href=(ENTRY.path) { "People" } }
        h1 { bdi { (user) } }
        (view::empty("No profile yet", &how))
        (view::card("Its newest events", &events))
    };
    Ok(visitor.page_with(StatusCode::NOT_FOUND, &ENTRY, user, &content))
}
