//! The frame of a person's page: who it is, and the tabs.

use axum::response::Response;
use maud::{Markup, html};
use web::auth::ScopeName;

use super::{ENTRY, Profile};
use crate::{
    failure::Refused,
    in_process::path,
    view::{self, Confirmation, Tab},
    visitor::Visitor,
};

/// The tabs of the page: the name in the address, and the label.
pub(super) const TABS: [(&str, &str); 7] = [
    ("timeline", "Timeline"),
    ("attributes", "Attributes"),
    ("consent", "Consent"),
    ("campaigns", "Campaigns"),
    ("identifiers", "Identifiers"),
    ("edit", "Edit"),
    ("privacy", "Privacy"),
];

/// The page with one of its tabs.
pub(super) fn page(
    visitor: &Visitor,
    profile: &Profile,
    current: &str,
    refused: Option<Refused<'_>>,
    tab: &Markup,
) -> Response {
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
            @if visitor.may(ScopeName::UsersDelete) { (deletion(visitor, profile, &name)) }
        }
        @if let Some(refused) = refused { (refused.above()) }
        (view::card("Profile", &facts(visitor, profile)))
        (view::tabs("Parts of the profile", &tab_links))
        (tab)
    };
    visitor.page_after(refused.map(Refused::failure), &ENTRY, &name, &content)
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
        name: view::confirmable(name, &profile.id),
        action: &format!("{}/delete", profile.path()),
        hidden: &visitor.csrf_field(),
    })
}
