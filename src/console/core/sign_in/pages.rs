//! The pages of people who are not signed in yet.

use axum::response::Response;
use http::{StatusCode, header::RETRY_AFTER};
use kernel::Error;
use maud::{Markup, html};
use members::{PASSWORD_CHARS, sign_in::Invited};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    state::ConsoleState,
    view::{self, Field, Kind},
};

/// What was typed into the form, the password excepted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Typed<'t> {
    pub(super) email: &'t str,
    pub(super) workspace: &'t str,
}

fn page(status: StatusCode, content: &Markup) -> Response {
    view::bare_page(status, "Sign in", content)
}

/// The answer to a peer that has failed too often.
pub(super) fn too_many(refused: &Error) -> Response {
    let wait_s = refused.retry_after().map_or(1, |wait| wait.as_secs().max(1));
    let content = html! {
        h1 { "Too many failed attempts" }
        p { "Try again in " (wait_s) " s. Only attempts that fail are counted." }
    };
    let mut response = page(StatusCode::TOO_MANY_REQUESTS, &content);
    response.headers_mut().insert(RETRY_AFTER, wait_s.into());
    response
}

/// Signs in by a link: for programs, which must not use it up.
pub(super) fn confirmation(token: &SecretString) -> Response {
    let content = html! {
        h1 { "Sign in" }
        p { "This link signs in once." }
        form method="post" action=(crate::SIGN_IN) {
            (view::hidden("token", token.expose_secret()))
            button class="button primary" type="submit" { "Sign in" }
        }
    };
    page(StatusCode::OK, &content)
}

/// The ways to sign in.
pub(super) fn login(
    state: &ConsoleState,
    status: StatusCode,
    typed: &Typed<'_>,
    problem: Option<&str>,
) -> Response {
    let content = html! {
        h1 { "Sign in" }
        @if let Some(problem) = problem { (view::alert(problem)) }
        @if let Some(provider) = state.openid() {
            p { a class="button" href=(crate::OPENID) { "Sign in with " (provider.host()) } }
        }
        form method="post" action=(crate::SIGN_IN) {
            (view::field(&Field::text("email", "Email address", typed.email).of(Kind::Email).required()))
            (view::field(&Field::text("password", "Password", "").of(Kind::Password).required()))
            (view::field(&Field::text("workspace", "Workspace", typed.workspace)
                .hint("Where you are a member of several")))
            button class="button primary" type="submit" { "Sign in" }
        }
        h2 { "Without a password" }
        p { "On the machine of the server, make a link that signs in once:" }
        pre { code { "millrace console link --workspace NAME" } }
        p class="quiet" {
            "With " code { "--scopes LIST" } " it may do less: for example "
            code { "events:read,users:read" } ". A new or forgotten password is set by a link that a colleague makes "
            "under Settings, Members."
        }
    };
    page(status, &content)
}

/// The form of an invited member.
pub(super) fn password(
    status: StatusCode,
    invited: &Invited,
    token: &SecretString,
    fault: Option<&str>,
) -> Response {
    let hint = format!("At least {} characters", PASSWORD_CHARS.start());
    let content = html! {
        h1 { "Set your password" }
        p { "For " bdi { (invited.email) } " in the workspace " bdi { (invited.workspace_name) } "." }
        form method="post" action=(members::SET_PASSWORD_PATH) {
            (view::hidden("token", token.expose_secret()))
            // For password managers, which remember both.
            input type="hidden" name="email" autocomplete="username" value=(invited.email);
            (view::field(&Field::text("password", "New password", "").of(Kind::NewPassword).required()
                .hint(&hint).fault(fault)))
            button class="button primary" type="submit" { "Set the password and sign in" }
        }
    };
    view::bare_page(status, "Set your password", &content)
}
