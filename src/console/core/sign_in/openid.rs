//! Signing in with an account at the OpenID provider: to its page, and back.

use axum::{
    Router,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{StatusCode, header::SET_COOKIE};
use members::{
    openid::{Identified, OpenIdFault, Returned},
    sign_in::{self, OfAccount},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    address::{WORKSPACE, field_of},
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
/// Longest name of a workspace that is kept during an attempt, in bytes.
const WORKSPACE_BYTES_MAX: usize = 1_024;
/// Separates an attempt from the workspace that it is for. Attempts have none.
const SEPARATOR: char = ' ';
const NO_PROVIDER: &str =
    "The OpenID provider does not answer. A password or a link still signs in.";
const REFUSED: &str = "The OpenID provider did not sign you in. Try once more.";
const NO_MEMBER: &str = "No member has this account: ask a colleague to add its address, which the provider must have verified.";
const NO_MEMBER_THERE: &str = "No member of the workspace that was named has this account. Without a name you choose among your own.";

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new().route(crate::OPENID, get(begin)).route(crate::OPENID_CALLBACK, get(finish))
}

/// What a browser keeps while it is at the provider.
struct Kept {
    attempt: SecretString,
    /// The workspace to sign in to, if one was named.
    workspace: Option<String>,
}

impl Kept {
    fn of(asked: &SignInRequest) -> Self {
        let kept = asked.cookies().get(ATTEMPT_COOKIE).unwrap_or_default();
        let (attempt, workspace) = match kept.split_once(SEPARATOR) {
            Some((attempt, workspace)) => (attempt, Some(workspace.to_owned())),
            None => (kept.as_str(), None),
        };
        Self { attempt: attempt.into(), workspace }
    }

    fn text(&self) -> String {
        let attempt = self.attempt.expose_secret();
        match &self.workspace {
            Some(workspace) => format!("{attempt}{SEPARATOR}{workspace}"),
            None => attempt.to_owned(),
        }
    }
}

async fn begin(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    RawQuery(query): RawQuery,
) -> PageResult<Response> {
    let provider = state.openid().ok_or_else(Failure::not_found)?;
    if let Some(refused) = asked.refusal(&state) {
        return Ok(refused);
    }
    let begun = match provider.begin().await {
        Ok(begun) => begun,
        Err(fault) => return Ok(failed(&state, &asked, &fault)),
    };
    let mut response = Redirect::to(begun.url.as_str()).into_response();
    let workspace = field_of(query.as_deref(), WORKSPACE)
        .filter(|name| !name.is_empty() && name.len() <= WORKSPACE_BYTES_MAX);
    let kept = Kept { attempt: begun.attempt, workspace }.text();
    let cookie = set_cookie(ATTEMPT_COOKIE, &kept, ATTEMPT_LIFE, state.is_secure());
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
    let kept = Kept::of(&asked);
    let found = match returned(query.as_deref()) {
        Ok(returned) => provider.finish(&kept.attempt, returned).await,
        Err(fault) => Err(fault),
    };
    let Identified { account, address_fault } = match found {
        Ok(identified) => identified,
        Err(fault) => return Ok(failed(&state, &asked, &fault)),
    };
    let (services, workspace) = (state.services(), kept.workspace.as_deref());
    let now = services.clock().now();
    let found = sign_in::by_account(services.db(), now, &account, workspace).await?;
    if let Some(fault) = &address_fault {
        tracing::warn!(%fault, "the address of an account is not known");
    }
    let mut response = match (found, address_fault) {
        (OfAccount::Member(member), _) => asked.sign_in(&state, &member).await?,
        (OfAccount::Several(names), _) => pages::workspaces(&names),
        // With an address it might have found one.
        (OfAccount::NoMember, Some(_)) => page(&state, StatusCode::BAD_GATEWAY, NO_PROVIDER),
        (OfAccount::NoMember, None) => {
            asked.failed(&state);
            let problem = workspace.map_or(NO_MEMBER, |_| NO_MEMBER_THERE);
            page(&state, StatusCode::FORBIDDEN, problem)
        }
    };
    response.headers_mut().append(SET_COOKIE, forget(ATTEMPT_COOKIE, state.is_secure()));
    Ok(response)
}

/// What the provider led back with.
fn returned(query: Option<&str>) -> Result<Returned, OpenIdFault> {
    let parameter = |name: &str| field_of(query, name);
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
