//! `/console/login` and `POST /console/logout`.

use axum::{
    Router,
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{
    HeaderMap, Method, StatusCode,
    header::{RETRY_AFTER, SET_COOKIE},
};
use kernel::Error;
use maud::{Markup, html};
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded;
use web::http::{Client, FormBody, Requester};

use super::{
    cookies::{Cookies, SESSION_COOKIE, WANTED_COOKIE, forget, set_cookie},
    prefetch::is_prefetch,
    sessions::{self, SESSION_LIFE},
};
use crate::{
    failure::{Failure, PageResult},
    state::ConsoleState,
    view,
};

/// Bytes of the form with a link's token.
const FORM_BYTES_MAX: usize = 4 << 10;
/// Longest token that is looked up, in bytes.
const TOKEN_BYTES_MAX: usize = 256;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route(crate::SIGN_IN, get(open).post(confirm))
}

/// A person who opens a link is signed in by it. A program that only looks at it gets a page with a button.
async fn open(
    State(state): State<ConsoleState>,
    client: Client,
    requester: Requester,
    request: Request,
) -> PageResult<Response> {
    let (head, _) = request.into_parts();
    let query = head.uri.query().unwrap_or_default().as_bytes();
    let mut pairs = form_urlencoded::parse(query);
    let Some((_, token)) = pairs.find(|(name, _)| name == "token") else {
        return Ok(page(StatusCode::OK, &how_to_sign_in(None)));
    };
    let token = SecretString::from(token.into_owned());
    if head.method == Method::HEAD || is_prefetch(&head.headers) {
        return Ok(page(StatusCode::OK, &button(&token)));
    }
    sign_in(&state, client, &requester, &head.headers, &token).await
}

/// The button of the page that programs get.
async fn confirm(
    State(state): State<ConsoleState>,
    client: Client,
    requester: Requester,
    headers: HeaderMap,
    request: Request,
) -> PageResult<Response> {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(Failure::new(StatusCode::FORBIDDEN, "The form was sent by another site"));
    }
    let FormBody(fields) = FormBody::<FORM_BYTES_MAX>::from_request(request, &state)
        .await
        .map_err(|refused| Failure::from(refused.0))?;
    let token = fields.into_iter().find(|(name, _)| name == "token").map(|(_, value)| value);
    let token = SecretString::from(token.unwrap_or_default());
    sign_in(&state, client, &requester, &headers, &token).await
}

async fn sign_in(
    state: &ConsoleState,
    client: Client,
    requester: &Requester,
    headers: &HeaderMap,
    token: &SecretString,
) -> PageResult<Response> {
    if let Err(refused) = state.sign_in_failures().check(client) {
        return Ok(too_many(&refused));
    }
    let services = state.services();
    let is_possible = token.expose_secret().len() <= TOKEN_BYTES_MAX;
    let begun = if is_possible {
        sessions::begin(services.db(), services.clock().now(), token, requester).await?
    } else {
        None
    };
    let Some(session) = begun else {
        state.sign_in_failures().count(client);
        let problem = "This link does not sign in: it has been used, or it is older than an hour.";
        return Ok(page(StatusCode::UNAUTHORIZED, &how_to_sign_in(Some(problem))));
    };
    let wanted = Cookies(headers).wanted();
    let mut response = Redirect::to(wanted.as_deref().unwrap_or(crate::HOME)).into_response();
    let is_secure = state.is_secure();
    let session = set_cookie(SESSION_COOKIE, session.expose_secret(), SESSION_LIFE, is_secure);
    response.headers_mut().append(SET_COOKIE, session);
    response.headers_mut().append(SET_COOKIE, forget(WANTED_COOKIE, is_secure));
    Ok(response)
}

/// The answer to a peer that has failed too often.
fn too_many(refused: &Error) -> Response {
    let wait_s = refused.retry_after().map_or(1, |wait| wait.as_secs().max(1));
    let content = html! {
        h1 { "Too many failed attempts" }
        p { "Try again in " (wait_s) " s. Only attempts that fail are counted." }
    };
    let mut response = page(StatusCode::TOO_MANY_REQUESTS, &content);
    response.headers_mut().insert(RETRY_AFTER, wait_s.into());
    response
}

fn page(status: StatusCode, content: &Markup) -> Response {
    view::bare_page(status, "Sign in", content)
}

fn button(token: &SecretString) -> Markup {
    html! {
        h1 { "Sign in" }
        p { "This link signs in once." }
        form method="post" action=(crate::SIGN_IN) {
            input type="hidden" name="token" value=(token.expose_secret());
            button class="button primary" type="submit" { "Sign in" }
        }
    }
}

fn how_to_sign_in(problem: Option<&str>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(problem) = problem { (view::alert(problem)) }
        p { "On the machine of the server, make a link that signs in once:" }
        pre { code { "millrace console link --workspace NAME" } }
        p class="quiet" {
            "With " code { "--scopes LIST" } " it may do less: for example "
            code { "events:read,users:read" } "."
        }
    }
}
