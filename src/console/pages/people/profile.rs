//! The page of a person: who it is, and in tabs what is known.

use axum::{
    extract::{Path, Query},
    response::{IntoResponse as _, Redirect, Response},
};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::{ENTRY, Profile, privacy, tabs};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Confirmation, Tab},
    visitor::{Form, Visitor},
};

/// The tabs of the page: the name in the address, and the label.
const TABS: [(&str, &str); 5] = [
    ("timeline", "Timeline"),
    ("attributes", "Attributes"),
    ("consent", "Consent"),
    ("identifiers", "Identifiers"),
    ("privacy", "Privacy"),
];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    tab: String,
    offset: u64,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(user): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let profile = match find(&visitor, &user).await? {
        Found::Here(profile) => profile,
        // Links by the caller's own id lead to the one address of the person.
        Found::ByExternalId(profile) => {
            return Ok(Redirect::to(&profile.path()).into_response());
        }
    };
    let (current, _) = TABS.into_iter().find(|(name, _)| *name == asked.tab).unwrap_or(TABS[0]);
    let tab = match current {
        "attributes" => tabs::attributes(&profile),
        "consent" => tabs::consent(&visitor, &profile).await,
        "identifiers" => tabs::identifiers(&visitor, &profile).await,
        "privacy" => privacy::tab(&visitor, &profile),
        _ => tabs::timeline(&visitor, &profile, asked.offset).await,
    };
    let tab_links = TABS.map(|(name, label)| Tab {
        label,
        href: format!("{}?tab={name}", profile.path()),
        is_current: name == current,
    });
    let name = profile.name();
    let content = html! {
        p { a href=(ENTRY.path) { "People" } }
        div class="head" {
            h1 { bdi { (name) } }
            @if visitor.may(ScopeName::UsersDelete) { (deletion(&visitor, &profile, &name)) }
        }
        (view::card("Profile", &facts(&visitor, &profile)))
        (view::tabs("Parts of the profile", &tab_links))
        (tab)
    };
    Ok(visitor.page(&ENTRY, &name, &content))
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

fn facts(visitor: &Visitor, profile: &Profile) -> Markup {
    let text = |text: &Option<String>| html! { (text.as_deref().unwrap_or("–")) };
    let at = |at| view::ago(at, visitor.now(), visitor.zone());
    let segments = html! {
        @match &profile.segments {
            None => span class="quiet" { "Not evaluated in time" },
            Some(segments) if segments.is_empty() => "–",
            Some(segments) => {
                @for (index, segment) in segments.iter().enumerate() {
                    @if index > 0 { ", " }
                    a href=(path(["console", "segments", &segment.id])) { (segment.name) }
                }
            }
        }
    };
    view::facts([
        ("Email", text(&profile.email)),
        ("Phone", text(&profile.phone)),
        ("External id", text(&profile.external_id)),
        ("Internal id", html! { code { (profile.id) } }),
        ("Segments", segments),
        ("Created", at(profile.created_at)),
        ("Changed", at(profile.updated_at)),
    ])
}

fn deletion(visitor: &Visitor, profile: &Profile, name: &str) -> Markup {
    view::confirm_by_name(&Confirmation {
        id: "delete-person",
        button: "Delete…",
        title: "Delete this person?",
        explanation: "The profile goes into the recycle bin and gets no more messages. Its events stay.",
        name,
        action: &format!("{}/delete", profile.path()),
        csrf: visitor.csrf(),
    })
}

pub(super) async fn delete(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let profile: Profile = visitor.get(path(["users", &user])).read().await?;
    if form.filled("confirm") != Some(profile.name().trim()) {
        let text = "The name that was typed is not that of the person: nothing was deleted";
        return Err(Failure::new(StatusCode::BAD_REQUEST, text));
    }
    let call = visitor.call(Method::DELETE, path(["users", &profile.id]));
    call.query("reason", "console").done().await?;
    Ok(visitor.done(ENTRY.path, &format!("{} was deleted.", profile.name())))
}
