//! `/console/settings`: keys, channels, sender domains, members and the audit log, a tab each.

mod audit;
mod channels;
mod domains;
mod keys;
mod members;
mod sessions;
mod snippets;

use axum::{
    Router,
    response::Response,
    routing::{get, post},
};
use maud::{Markup, html};
use web::auth::ScopeName;

use crate::{
    failure::Refused,
    state::ConsoleState,
    view::{self, Entry},
    visitor::Visitor,
};

pub(super) const ENTRY: Entry =
    Entry { name: "Settings", path: "/console/settings", scopes: &[ScopeName::SettingsRead] };

/// A tab of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Keys,
    Channels,
    Domains,
    Members,
    Audit,
}

impl Tab {
    const ALL: [Self; 5] = [Self::Keys, Self::Channels, Self::Domains, Self::Members, Self::Audit];

    const fn label(self) -> &'static str {
        match self {
            Self::Keys => "Keys",
            Self::Channels => "Channels",
            Self::Domains => "Sender domains",
            Self::Members => "Members and sessions",
            Self::Audit => "Audit log",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Keys => "/console/settings/keys",
            Self::Channels => "/console/settings/channels",
            Self::Domains => "/console/settings/domains",
            Self::Members => "/console/settings/members",
            Self::Audit => "/console/settings/audit",
        }
    }

    /// The page with this tab, and with the status of what was refused.
    fn page(self, visitor: &Visitor, refused: Option<Refused<'_>>, content: &Markup) -> Response {
        let tabs = Self::ALL.map(|tab| view::Tab {
            label: tab.label(),
            href: tab.path().to_owned(),
            is_current: tab == self,
        });
        let content = html! {
            h1 { "Settings" }
            (view::tabs("Settings", &tabs))
            @if let Some(refused) = refused { (refused.above()) }
            (content)
        };
        let failure = refused.map(Refused::failure);
        visitor.page_after(failure, &ENTRY, &format!("{} · Settings", self.label()), &content)
    }
}

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(ENTRY.path, get(keys::show))
        .route(Tab::Keys.path(), get(keys::show).post(keys::create))
        .route("/console/settings/keys/{keyId}/revoke", post(keys::revoke))
        .route(Tab::Channels.path(), get(channels::show).post(channels::test))
        .route(Tab::Domains.path(), get(domains::show).post(domains::add))
        .route("/console/settings/domains/{domainId}/check", post(domains::check))
        .route("/console/settings/domains/{domainId}/delete", post(domains::delete))
        .route(Tab::Members.path(), get(members::show))
        .route("/console/settings/members/new", post(members::create))
        .route("/console/settings/members/{memberId}/role", post(members::change_role))
        .route("/console/settings/members/{memberId}/invite", post(members::invite))
        .route("/console/settings/members/{memberId}/delete", post(members::delete))
        .route("/console/settings/sessions/{sessionId}/revoke", post(sessions::revoke))
        .route(Tab::Audit.path(), get(audit::show))
}
