//! Taking identifiers from a person.

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use web::auth::ScopeName;

use super::{Profile, frame, tabs};
use crate::{
    failure::{self, Failure, PageResult},
    in_process::path,
    view::{self, Confirmation, Field},
    visitor::{Form, Visitor},
};

/// The field of an identifier, and where the API reports it.
const FIELD: &str = "identifier";
const REPORTED: &str = "ids[0]";

/// What was typed of a removal that was refused, and why.
#[derive(Debug)]
pub(super) struct Refused<'r> {
    typed: &'r str,
    failure: &'r Failure,
}

#[derive(Deserialize)]
struct Removed {
    removed: u64,
}

/// The forms that remove one identifier, and all that SDK keys linked.
pub(super) fn forms(visitor: &Visitor, profile: &Profile, refused: Option<&Refused<'_>>) -> Markup {
    if !visitor.may(ScopeName::UsersWrite) && refused.is_none() {
        return html! {};
    }
    let typed = refused.map_or("", |it| it.typed);
    let fault = refused.and_then(|it| it.failure.at(REPORTED));
    let elsewhere = refused.and_then(|it| it.failure.elsewhere(&[REPORTED]));
    let address = |does: &str| format!("{}/identifiers/{does}", profile.path());
    let content = html! {
        p {
            "An anonymous id or alias that is not this person's. Its events without a user are no one's then, and it can be linked again."
        }
        @if let Some(text) = elsewhere { (view::alert(&text)) }
        form method="post" action=(address("remove")) {
            (visitor.csrf_field())
            (view::field(&Field::text(FIELD, "Identifier", typed).required().fault(fault.as_deref())
                .hint("In full, as it is listed")))
            button class="button danger" type="submit" { "Remove" }
        }
        div class="actions" {
            (view::confirm_by_name(&Confirmation {
                id: "remove-linked",
                button: "Remove what SDK keys linked…",
                title: "Remove every anonymous id that an SDK key linked?",
                explanation: "Also those of the person's own devices, until they identify again.",
                name: view::confirmable(&profile.name(), &profile.id),
                action: &address("remove-linked"),
                hidden: &visitor.csrf_field(),
            }))
        }
    };
    view::card("Remove identifiers", &content)
}

/// Removes what a body names, and says how many identifiers that were.
async fn ask(visitor: &Visitor, profile: &Profile, body: &Value) -> PageResult<u64> {
    let call = visitor.call(Method::DELETE, path(["users", &profile.id, "identities"]));
    let Removed { removed } = call.json(body)?.read().await?;
    Ok(removed)
}

fn done(visitor: &Visitor, profile: &Profile, notice: &str) -> Response {
    visitor.done(&format!("{}?tab=identifiers", profile.path()), notice)
}

pub(super) async fn remove(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let typed = form.text(FIELD).unwrap_or_default();
    let failure = match ask(&visitor, &profile, &json!({"ids": [typed]})).await {
        Ok(0) => {
            let text = "The person has no such anonymous id or alias: nothing was removed";
            Failure::new(StatusCode::BAD_REQUEST, text)
        }
        Ok(_) => return Ok(done(&visitor, &profile, &format!("{typed} was removed."))),
        Err(failure) if failure.keeps_form() => failure,
        Err(failure) => return Err(failure),
    };
    let forms = forms(&visitor, &profile, Some(&Refused { typed, failure: &failure }));
    let content = tabs::identifiers(&visitor, &profile, &forms).await;
    let refused = Some(failure::Refused::Form(&failure));
    Ok(frame::page(&visitor, &profile, "identifiers", refused, &content))
}

pub(super) async fn remove_linked(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let removed = async {
        let otherwise = "The name that was typed is not that of the person: nothing was removed";
        form.confirmed(view::confirmable(&profile.name(), &profile.id), otherwise)?;
        ask(&visitor, &profile, &json!({"linkedBy": "sdkKey"})).await
    };
    match removed.await {
        Ok(1) => Ok(done(&visitor, &profile, "1 identifier was removed.")),
        Ok(removed) => {
            let notice = format!("{} identifiers were removed.", view::count(removed));
            Ok(done(&visitor, &profile, &notice))
        }
        Err(failure) if failure.keeps_form() => {
            let forms = forms(&visitor, &profile, None);
            let content = tabs::identifiers(&visitor, &profile, &forms).await;
            let refused = Some(failure::Refused::Change(&failure));
            Ok(frame::page(&visitor, &profile, "identifiers", refused, &content))
        }
        Err(failure) => Err(failure),
    }
}
