//! `/console/login`: by a link, by a password, by an account at the OpenID provider; `/console/password`.

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::get,
};
use http::{Method, StatusCode};
use kernel::Timestamp;
use members::sign_in::{self, Attempt, PasswordChoice, PasswordSet};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    address::{WORKSPACE, field_of},
    openid, pages,
    prefetch::is_prefetch,
    request::SignInRequest,
    sessions,
};
use crate::{
    failure::{Failure, PageResult},
    form::Form,
    state::ConsoleState,
};

/// Longest token that is looked up, in bytes.
const TOKEN_BYTES_MAX: usize = 256;
const NO_LINK: &str = "This link does not sign in: it has been used, or it is older than an hour.";
const NO_PASSWORD: &str = "The address and the password do not fit together.";
const NOT_INVITED: &str =
    "This link sets no password: it has been used, or it is older than three days.";

pub fn routes() -> Router<ConsoleState> {
    Router::new()
        .route(crate::SIGN_IN, get(open).post(confirm))
        .route(members::SET_PASSWORD_PATH, get(open_invitation).post(set_password))
        .merge(openid::routes())
}

fn now(state: &ConsoleState) -> Timestamp {
    state.services().clock().now()
}

fn token_of(query: Option<&str>) -> Option<SecretString> {
    field_of(query, "token").map(SecretString::from)
}

/// A person who opens a link is signed in by it. A program that only looks at it gets a page with a button.
async fn open(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    request: Request,
) -> PageResult<Response> {
    let query = request.uri().query();
    let Some(token) = token_of(query) else {
        let workspace = field_of(query, WORKSPACE).unwrap_or_default();
        let typed = pages::Typed { workspace: &workspace, ..pages::Typed::default() };
        return Ok(pages::login(&state, StatusCode::OK, &typed, None));
    };
    if request.method() == Method::HEAD || is_prefetch(request.headers()) {
        return Ok(pages::confirmation(&token));
    }
    by_link(&state, &asked, &token).await
}

/// The form with a password, or the button of the page that programs get.
async fn confirm(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    request: Request,
) -> PageResult<Response> {
    let form = asked.form(&state, request).await?;
    match form.text("token") {
        Some(token) => by_link(&state, &asked, &token.into()).await,
        None => by_password(&state, &asked, &form).await,
    }
}

async fn by_link(
    state: &ConsoleState,
    asked: &SignInRequest,
    token: &SecretString,
) -> PageResult<Response> {
    if let Some(refused) = asked.refusal(state) {
        return Ok(refused);
    }
    let is_possible = token.expose_secret().len() <= TOKEN_BYTES_MAX;
    let db = state.services().db();
    let begun = if is_possible {
        sessions::begin(db, now(state), token, &asked.requester).await?
    } else {
        None
    };
    let Some(session) = begun else {
        asked.failed(state);
        let typed = pages::Typed::default();
        return Ok(pages::login(state, StatusCode::UNAUTHORIZED, &typed, Some(NO_LINK)));
    };
    Ok(asked.signed_in(state, &session))
}

async fn by_password(
    state: &ConsoleState,
    asked: &SignInRequest,
    form: &Form,
) -> PageResult<Response> {
    let begun = match asked.begin(state) {
        Ok(begun) => begun,
        Err(refused) => return Ok(pages::too_many(&refused)),
    };
    let typed = pages::Typed {
        email: form.filled("email").unwrap_or_default(),
        workspace: form.filled(WORKSPACE).unwrap_or_default(),
    };
    let attempt = Attempt {
        email: typed.email.to_owned(),
        password: form.text("password").unwrap_or_default().into(),
        workspace: form.filled(WORKSPACE).map(str::to_owned),
    };
    let services = state.services();
    match sign_in::by_password(services.db(), state.passwords(), now(state), attempt).await {
        Ok(Some(member)) => {
            begun.give_back();
            asked.sign_in(state, &member).await
        }
        Ok(None) => {
            drop(begun);
            Ok(pages::login(state, StatusCode::UNAUTHORIZED, &typed, Some(NO_PASSWORD)))
        }
        Err(error) => {
            begun.give_back();
            let failure = Failure::from(error);
            if failure.status == StatusCode::SERVICE_UNAVAILABLE {
                return Ok(pages::login_later(state, &typed, &failure));
            }
            Err(failure)
        }
    }
}

/// The page on which an invited member sets a password.
async fn open_invitation(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    request: Request,
) -> PageResult<Response> {
    if let Some(refused) = asked.refusal(&state) {
        return Ok(refused);
    }
    let token = token_of(request.uri().query()).unwrap_or_default();
    invitation(&state, &asked, &token, StatusCode::OK, None).await
}

async fn invitation(
    state: &ConsoleState,
    asked: &SignInRequest,
    token: &SecretString,
    status: StatusCode,
    fault: Option<&str>,
) -> PageResult<Response> {
    let invited = sign_in::invited(state.services().db(), now(state), token).await?;
    let Some(invited) = invited else {
        asked.failed(state);
        return Ok(not_invited(state));
    };
    Ok(pages::password(status, &invited, token, fault))
}

fn not_invited(state: &ConsoleState) -> Response {
    let typed = pages::Typed::default();
    pages::login(state, StatusCode::UNAUTHORIZED, &typed, Some(NOT_INVITED))
}

async fn set_password(
    State(state): State<ConsoleState>,
    asked: SignInRequest,
    request: Request,
) -> PageResult<Response> {
    let form = asked.form(&state, request).await?;
    let begun = match asked.begin(&state) {
        Ok(begun) => begun,
        Err(refused) => return Ok(pages::too_many(&refused)),
    };
    let token = SecretString::from(form.text("token").unwrap_or_default());
    let new = form.text("password").unwrap_or_default().into();
    let choice = PasswordChoice { token: token.clone(), new };
    let services = state.services();
    let set = sign_in::set_password(services.db(), state.passwords(), now(&state), choice).await;
    if !matches!(set, Ok(PasswordSet::NotInvited)) {
        begun.give_back();
    }
    match set.map_err(Failure::from) {
        Ok(PasswordSet::Done(member)) => asked.sign_in(&state, &member).await,
        Ok(PasswordSet::Refused(fault)) => {
            let (status, fault) = (StatusCode::BAD_REQUEST, fault.to_string());
            invitation(&state, &asked, &token, status, Some(&fault)).await
        }
        Ok(PasswordSet::NotInvited) => Ok(not_invited(&state)),
        Err(failure) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
            let (status, problem) = (failure.status, pages::try_again(&failure));
            let page = invitation(&state, &asked, &token, status, Some(&problem)).await?;
            Ok(failure.hint(page))
        }
        Err(failure) => Err(failure),
    }
}
