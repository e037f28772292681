//! A request to be signed in, by whichever way.

use std::convert::Infallible;

use axum::{
    extract::{FromRequest as _, FromRequestParts, Request},
    response::{IntoResponse as _, Redirect, Response},
};
use http::{HeaderMap, StatusCode, header::SET_COOKIE, request::Parts};
use members::sign_in::SigningIn;
use secrecy::{ExposeSecret as _, SecretString};
use web::http::{Client, FormBody, Requester, attempts::BegunAttempt};

use super::{
    cookies::{Cookies, SESSION_COOKIE, WANTED_COOKIE, forget, set_cookie},
    pages,
    sessions::{self, SESSION_LIFE},
};
use crate::{
    failure::{Failure, PageResult},
    form::Form,
    state::ConsoleState,
};

/// Bytes of a form of these pages.
const FORM_BYTES_MAX: usize = 4 << 10;

/// Who asks to be signed in, and from where.
#[derive(Debug)]
pub(super) struct SignInRequest {
    client: Client,
    pub(super) requester: Requester,
    headers: HeaderMap,
}

impl FromRequestParts<ConsoleState> for SignInRequest {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, Infallible> {
        let client = Client::from_request_parts(parts, state).await?;
        let requester = Requester::from_request_parts(parts, state).await?;
        Ok(Self { client, requester, headers: parts.headers.clone() })
    }
}

impl SignInRequest {
    pub(super) fn cookies(&self) -> Cookies<'_> {
        Cookies(&self.headers)
    }

    /// The answer to peers that have failed too often.
    pub(super) fn refusal(&self, state: &ConsoleState) -> Option<Response> {
        let refused = state.sign_in_attempts().check(self.client).err()?;
        Some(pages::too_many(&refused))
    }

    /// Begins an attempt by a secret that can be guessed. It counts unless it is given back, also while others are in flight.
    pub(super) fn begin(&self, state: &ConsoleState) -> kernel::Result<BegunAttempt> {
        state.sign_in_attempts().begin(self.client)
    }

    /// Counts an attempt that failed.
    pub(super) fn failed(&self, state: &ConsoleState) {
        state.sign_in_attempts().count(self.client);
    }

    /// Begins the session of a member.
    pub(super) async fn sign_in(
        &self,
        state: &ConsoleState,
        member: &SigningIn,
    ) -> PageResult<Response> {
        let services = state.services();
        let now = services.clock().now();
        let session = sessions::begin_for(services.db(), now, member, &self.requester).await?;
        Ok(self.signed_in(state, &session))
    }

    /// Leads to the page that was wanted, with the cookie of the session.
    pub(super) fn signed_in(&self, state: &ConsoleState, session: &SecretString) -> Response {
        state.seen_sessions().note(session, true);
        let wanted = self.cookies().wanted();
        let mut response = Redirect::to(wanted.as_deref().unwrap_or(crate::HOME)).into_response();
        let is_secure = state.is_secure();
        let session = set_cookie(SESSION_COOKIE, session.expose_secret(), SESSION_LIFE, is_secure);
        response.headers_mut().append(SET_COOKIE, session);
        response.headers_mut().append(SET_COOKIE, forget(WANTED_COOKIE, is_secure));
        response
    }

    /// Reads a form that this server's pages sent: another site could sign a person in as another.
    pub(super) async fn form(&self, state: &ConsoleState, request: Request) -> PageResult<Form> {
        let site = self.headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(Failure::new(StatusCode::FORBIDDEN, "The form was sent by another site"));
        }
        let FormBody(fields) = FormBody::<FORM_BYTES_MAX>::from_request(request, state)
            .await
            .map_err(|refused| Failure::from(refused.0))?;
        Ok(Form::new(fields))
    }
}
