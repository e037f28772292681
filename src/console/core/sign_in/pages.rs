//! The pages of people who are not signed in yet.

use axum::response::Response;
use http::{StatusCode, header::RETRY_AFTER};
use kernel::Error;
use maud::{Markup, html};
use members::{PASSWORD_CHARS, openid::OpenId, sign_in::Invited};
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded;

use super::address::WORKSPACE;
use crate::{
    failure::Failure,
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

/// The answer to a peer with too many attempts that failed or are under way.
pub(super) fn too_many(refused: &Error) -> Response {
    let wait_s = refused.retry_after().map_or(1, |wait| wait.as_secs().max(1));
    let content = html! {
        h1 { "Too many attempts" }
        p { "Try again in " (wait_s) " s. Attempts that fail are counted, and those that are under way." }
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
    page(status, &ways(state.openid().map(OpenId::host), typed, problem))
}

/// The ways to sign in, where none can be taken at the moment. What was typed stays.
pub(super) fn login_later(state: &ConsoleState, typed: &Typed<'_>, failure: &Failure) -> Response {
    later(state.openid().map(OpenId::host), typed, failure)
}

/// The text for people whose attempt was not looked at.
pub(super) fn try_again(failure: &Failure) -> String {
    format!("{}. Try again in a moment.", failure.text())
}

fn later(provider: Option<&str>, typed: &Typed<'_>, failure: &Failure) -> Response {
    let content = ways(provider, typed, Some(&try_again(failure)));
    failure.hint(page(failure.status, &content))
}

fn ways(provider: Option<&str>, typed: &Typed<'_>, problem: Option<&str>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(problem) = problem { (view::alert(problem)) }
        @if let Some(host) = provider {
            p { a class="button" href=(openid_address(typed.workspace)) { "Sign in with " (host) } }
        }
        form method="post" action=(crate::SIGN_IN) {
            (view::field(&Field::text("email", "Email address", typed.email).of(Kind::Email).required()))
            (view::field(&Field::text("password", "Password", "").of(Kind::Password).required()))
            (view::field(&Field::text(WORKSPACE, "Workspace", typed.workspace)
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
    }
}

/// The address that leads to the provider and back to a workspace, if one is named.
fn openid_address(workspace: &str) -> String {
    if workspace.is_empty() {
        return crate::OPENID.to_owned();
    }
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair(WORKSPACE, workspace).finish();
    format!("{}?{query}", crate::OPENID)
}

/// The workspaces of an account that is a member of several.
pub(super) fn workspaces(names: &[String]) -> Response {
    let content = html! {
        h1 { "Choose a workspace" }
        p { "You are a member of several." }
        ul {
            @for name in names { li { a href=(openid_address(name)) { bdi { (name) } } } }
        }
    };
    view::bare_page(StatusCode::OK, "Choose a workspace", &content)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body;

    use super::*;

    #[tokio::test]
    async fn who_has_to_try_again_types_the_address_once() {
        let typed = Typed { email: "ann@example.test", workspace: "shop & co" };
        let busy = Error::Unavailable {
            what: "Too many people are signing in",
            retry_after: Some(Duration::from_secs(5)),
        };
        let response = later(Some("id.example.test"), &typed, &Failure::from(busy));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "5");
        let text = body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = std::str::from_utf8(&text).unwrap();
        for kept in [
            "value=\"ann@example.test\"",
            "value=\"shop &amp; co\"",
            "href=\"/console/login/openid?workspace=shop+%26+co\"",
            "Too many people are signing in. Try again in a moment.",
        ] {
            assert!(text.contains(kept), "no {kept}: {text}");
        }
        assert!(!text.contains("acknowledged"), "{text}");
    }
}
