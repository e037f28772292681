//! The page of a person: who it is, and in tabs what is known.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use http::Method;
use kernel::Timestamp;
use serde::Deserialize;

use super::{
    ENTRY, Profile, campaigns, consent, edit, frame, identifiers, privacy, tabs, timeline, unknown,
};
use crate::{
    failure::{PageResult, Refused},
    in_process::path,
    query::Query,
    view,
    visitor::{Form, Visitor},
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    tab: String,
    /// A part of the name of a campaign.
    q: String,
    /// The end of the timeline's part.
    until: Option<Timestamp>,
    /// How many entries of that moment are left out.
    skip: usize,
    /// Entries of the history of consent that are left out.
    offset: u64,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(user): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let (current, _) =
        frame::TABS.into_iter().find(|(name, _)| *name == asked.tab).unwrap_or(frame::TABS[0]);
    let profile = match find(&visitor, &user).await {
        Ok(Found::Here(profile)) => profile,
        // Links by the caller's own id lead to the one address of the person.
        Ok(Found::ByExternalId(profile)) if asked.tab.is_empty() => {
            return Ok(Redirect::to(&profile.path()).into_response());
        }
        Ok(Found::ByExternalId(profile)) => {
            let to = format!("{}?tab={current}", profile.path());
            return Ok(Redirect::to(&to).into_response());
        }
        Err(failure) => return unknown::page(&visitor, &user, failure).await,
    };
    let tab = match current {
        "attributes" => tabs::attributes(&profile),
        "consent" => {
            let asked = consent::Asked { offset: asked.offset, refused: None };
            consent::tab(&visitor, &profile, &asked).await
        }
        "campaigns" => campaigns::tab(&visitor, &profile, &asked.q).await,
        "identifiers" => {
            let removal = identifiers::forms(&visitor, &profile, None);
            tabs::identifiers(&visitor, &profile, &removal).await
        }
        "privacy" => privacy::tab(&visitor, &profile),
        "edit" => edit::tab(&visitor, &profile, None, None),
        _ => {
            let part = timeline::Part { until: asked.until, skip: asked.skip };
            timeline::tab(&visitor, &profile, &part).await
        }
    };
    Ok(frame::page(&visitor, &profile, current, None, &tab))
}

/// A profile, and by which id it was found.
enum Found {
    Here(Profile),
    ByExternalId(Profile),
}

async fn find(visitor: &Visitor, user: &str) -> PageResult<Found> {
    match visitor.get(path(["users", user])).read().await {
        Ok(profile) => Ok(Found::Here(profile)),
        Err(failure) if failure.is_not_found() || failure.is_of_fields() => {
            let call = visitor.get(path(["users", "by-user-id", user]));
            call.read().await.map(Found::ByExternalId)
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn delete(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    let deleted = async {
        let otherwise = "The name that was typed is not that of the person: nothing was deleted";
        form.confirmed(view::confirmable(&profile.name(), &profile.id), otherwise)?;
        let call = visitor.call(Method::DELETE, path(["users", &profile.id]));
        call.query("reason", "console").done().await
    };
    match deleted.await {
        Ok(()) => Ok(visitor.done(ENTRY.path, &format!("{} was deleted.", profile.name()))),
        Err(failure) if failure.keeps_form() => {
            let tab = timeline::tab(&visitor, &profile, &timeline::Part::default()).await;
            Ok(frame::page(&visitor, &profile, "timeline", Some(Refused::Change(&failure)), &tab))
        }
        Err(failure) => Err(failure),
    }
}
