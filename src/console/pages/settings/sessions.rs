//! The sessions of the console: who is signed in, and ending them.

use axum::{
    extract::{Path, State},
    response::Response,
};
use kernel::{KeyId, page::PageWindow};
use maud::{Markup, html};
use web::{audit_log::Author, auth::ScopeName, http::Requester};

use super::Tab;
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    sign_in::{self, SessionRow},
    state::ConsoleState,
    view::{self, Column, Tone},
    visitor::Visitor,
};

/// Sessions of one page.
const PAGE: u32 = 50;

/// The sessions of the workspace from an offset on, those of one page. `address` is that of the page from another offset on.
pub(super) async fn card(
    state: &ConsoleState,
    visitor: &Visitor,
    offset: u64,
    address: impl Fn(u64) -> String + Send,
) -> Markup {
    let workspace = visitor.person().tenant.workspace;
    let window = PageWindow { limit: PAGE, offset };
    match sign_in::list(state.services().db(), visitor.now(), workspace, window).await {
        Ok(page) => {
            let size = u64::from(PAGE);
            let before = (offset > 0).then(|| address(offset.saturating_sub(size)));
            let after = page.has_more.then(|| address(offset.saturating_add(size)));
            let content = html! {
                (table(visitor, &page.rows))
                (view::pager(before.as_deref(), after.as_deref()))
            };
            view::card("Sessions", &content)
        }
        Err(error) => Failure::from(error).card("Sessions"),
    }
}

fn table(visitor: &Visitor, sessions: &[SessionRow]) -> Markup {
    let columns = [
        Column::text("Who"),
        Column::text("Scopes"),
        Column::text("From"),
        Column::text("Last used"),
        Column::text("Ends"),
        Column::text("Action"),
    ];
    let own = visitor.person().session.to_string();
    let rows: Vec<Vec<Markup>> =
        sessions.iter().map(|session| row(visitor, session, session.id == own)).collect();
    view::table("Sessions", &columns, &rows)
}

fn row(visitor: &Visitor, session: &SessionRow, is_own: bool) -> Vec<Markup> {
    let at = |at| view::ago(at, visitor.now(), visitor.zone());
    let from = [session.address.as_deref(), session.user_agent.as_deref()];
    let from: Vec<&str> = from.into_iter().flatten().collect();
    let action = html! {
        @if is_own { (view::badge(Tone::Info, "this session")) }
        @else if visitor.session().lacks_to_end(session).is_some() {
            span class="quiet" { "may do more than you" }
        }
        @else if visitor.may(ScopeName::SettingsWrite) {
            form method="post" action=(path(["console", "settings", "sessions", &session.id, "revoke"])) {
                (visitor.csrf_field())
                button class="button danger" type="submit" { "End" }
            }
        }
    };
    vec![
        html! { bdi { (session.actor) } },
        html! { (session.scopes.join(", ")) },
        html! { bdi { (from.join(" · ")) } },
        at(session.last_used_at),
        at(session.expires_at),
        action,
    ]
}

pub(super) async fn revoke(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    requester: Requester,
    Path(id): Path<String>,
) -> PageResult<Response> {
    let scope = ScopeName::SettingsWrite;
    if !visitor.may(scope) {
        return Err(Failure::missing_scope(scope.as_str()));
    }
    let (services, person) = (state.services(), visitor.person());
    let session: KeyId = id.parse().map_err(|_| Failure::not_found())?;
    let author = Author { actor: person.audit_name(), requester, now: services.clock().now() };
    let actor = sign_in::end_of_another(services.db(), visitor.session(), &author, session).await?;
    Ok(visitor.done(Tab::Members.path(), &format!("The session of {actor} was ended.")))
}
