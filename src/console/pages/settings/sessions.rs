//! The sessions of the console: who is signed in, and ending them.

use axum::{
    extract::{Path, State},
    response::Response,
};
use kernel::KeyId;
use maud::{Markup, html};
use web::auth::{ScopeName, SignedIn};

use super::Tab;
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    sign_in::{self, SessionRow},
    state::ConsoleState,
    view::{self, Column, Tone},
    visitor::Visitor,
};

/// The sessions of the workspace.
pub(super) async fn card(state: &ConsoleState, visitor: &Visitor) -> Markup {
    let workspace = visitor.person().tenant.workspace;
    match sign_in::list(state.services().db(), visitor.now(), workspace).await {
        Ok(sessions) => view::card("Sessions", &table(visitor, &sessions)),
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
        html! { (from.join(" · ")) },
        at(session.last_used_at),
        at(session.expires_at),
        action,
    ]
}

pub(super) async fn revoke(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> PageResult<Response> {
    let scope = ScopeName::SettingsWrite;
    if !visitor.may(scope) {
        return Err(Failure::missing_scope(scope.as_str()));
    }
    let services = state.services();
    let workspace = visitor.person().tenant.workspace;
    let sessions = sign_in::list(services.db(), visitor.now(), workspace).await?;
    let found = sessions.iter().find(|session| session.id == id);
    let actor = &found.ok_or_else(Failure::not_found)?.actor;
    let session: KeyId = id.parse().map_err(|_| Failure::not_found())?;
    let other = SignedIn { session, ..visitor.person().clone() };
    sign_in::end(services.db(), services.clock().now(), &other).await?;
    Ok(visitor.done(Tab::Members.path(), &format!("The session of {actor} was ended.")))
}
