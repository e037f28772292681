//! Signing in with an account at the OpenID provider: to its page, and back.

use axum::{
    Router,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{StatusCode, header::SET_COOKIE};
use members::{
    openid::{OpenIdFault, Returned},
    sign_in,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded;

use super::{
    cookies::{ATTEMPT_COOKIE, ATTEMPT_LIFE, forget, set_cookie},
    pages,
    request::SignInRequest,
};
use crate::{
    failure::{Failure, PageResult},
    state::ConsoleState,
};

/// Longest code that is sent on, in bytes.
const CODE_BYTES_MAX: usize = 2_048;
const NO_PROVIDER: &str =
    "The OpenID provider does not answer. A password or a link still signs in.";
const REFUSED: &str = "The OpenID provider did not sign you in. Try once more.";
const NO_MEMBER: &str = "No member has this account: ask a colleague to add its address, which the provider must have verified.";

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new().route(crate::OPENID, get(begin)).route(crate::OPENID_CALLBACK, get(finish))
}

async fn begin(State(state): State<ConsoleState>, asked: SignInRequest) -> PageResult<Response> {
    let provider = state.openid().ok_or_else(Failure::not_found)?;
    if let Some(refused) = asked.refusal(&state) {
        return Ok(refused);
    }
    let begun = match provider.begin().await {
        Ok(begun) => begun,
        Err(fault) => return Ok(failed(&state, &asked, &fault)),
    };
    let mut response = Redirect::to(begun.url.as_str()).into_response();
    let attempt = begun.attempt.expose_secret();
    let cookie = set_cookie(ATTEMPT_COOKIE, attempt, ATTEMPT_LIFE, state.is_secure());
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

async fn finish(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    RawQuery(query): RawQuery,
) -> PageResult<Response> {
    let provider = state.openid().ok_or_else(Failure::not_found)?;
    if let Some(refused) = asked.refusal(&state) {
        return Ok(refused);
    }
    let attempt = SecretString::from(asked.cookies().get(ATTEMPT_COOKIE).unwrap_or_default());
    let found = match returned(query.as_deref().unwrap_or_default()) {
        Ok(returned) => provider.finish(&attempt, returned).await,
        Err(fault) => Err(fault),
    };
    let account = match found {
        Ok(account) => account,
        Err(fault) => return Ok(failed(&state, &asked, &fault)),
    };
    let services = state.services();
    let member = sign_in::by_account(services.db(), services.clock().now(), &account).await?;
    let mut response = if let Some(member) = member {
        asked.sign_in(&state, &member).await?
    } else {
        asked.failed(&state);
        page(&state, StatusCode::FORBIDDEN, NO_MEMBER)
    };
    response.headers_mut().append(SET_COOKIE, forget(ATTEMPT_COOKIE, state.is_secure()));
    Ok(response)
}

/// What the provider led back with.
fn returned(query: &str) -> Result<Returned, OpenIdFault> {
    let parameter = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if let Some(error) = parameter("error") {
        let error: String = error.chars().filter(|it| !it.is_control()).take(100).collect();
        return Err(OpenIdFault::Refused(error));
    }
    let code = parameter("code").filter(|code| code.len() <= CODE_BYTES_MAX);
    match (parameter("state"), code) {
        (Some(state), Some(code)) => Ok(Returned { state, code: code.into() }),
        _ => Err(OpenIdFault::Refused("it has no state or no code".to_owned())),
    }
}

fn failed(state: &ConsoleState, asked: &SignInRequest, fault: &OpenIdFault) -> Response {
    tracing::warn!(%fault, "a person was not signed in");
    match fault {
        OpenIdFault::Provider(_) => page(state, StatusCode::BAD_GATEWAY, NO_PROVIDER),
        OpenIdFault::Refused(_) => {
            asked.failed(state);
            page(state, StatusCode::UNAUTHORIZED, REFUSED)
        }
    }
}

fn page(state: &ConsoleState, status: StatusCode, problem: &str) -> Response {
    pages::login(state, status, &pages::Typed::default(), Some(problem))
}
