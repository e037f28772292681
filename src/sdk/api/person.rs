//! The caller of an endpoint for apps, and the person that a call is about.

use axum::extract::FromRequestParts;
use http::{HeaderMap, request::Parts};
use kernel::{Identity, Result, Tenant, WorkspaceId, fields::Fields};
use web::{
    auth::SdkCaller,
    http::{ApiError, ApiResult, QueryFields},
};

use crate::{
    SdkState,
    model::{
        X_USER_TOKEN,
        user_token::{INVALID, REQUIRED},
    },
    ops::subject::{self, Subject},
};

const USER_ID_CHARS_MAX: usize = 255;
/// The name of the field and of the query parameter.
const USER_ID: &str = "userId";

/// A person as a call names them: by the caller's own id or by the internal one.
#[derive(Debug)]
pub(super) struct Person(String);

impl Person {
    /// Reads the field `userId` of a body.
    pub(super) fn of_body(body: &mut Fields<'_>, about: &'static str) -> Self {
        Self(body.required(USER_ID).about(about).text(1..=USER_ID_CHARS_MAX))
    }

    pub(super) fn of_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.required_text(USER_ID, USER_ID_CHARS_MAX))
    }

    pub(super) fn into_name(self) -> String {
        self.0
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

/// An app with an SDK key, and the person whose user token the call carries.
///
/// Calls without a token are refused where `[sdk] identity` requires one, and every call with an invalid one.
#[derive(Debug)]
pub(super) struct AppUser {
    app: SdkCaller,
    external_id: Option<String>,
}

impl AppUser {
    pub(super) fn workspace(&self) -> WorkspaceId {
        self.app.workspace()
    }

    pub(super) fn tenant(&self) -> Tenant {
        self.app.tenant()
    }

    /// The actor in audit entries: `sdk_key:<id>`.
    pub(super) fn actor(&self) -> String {
        self.app.actor()
    }

    /// The external id in the user token, if the call carries one.
    pub(super) fn external_id(&self) -> Option<&str> {
        self.external_id.as_deref()
    }

    /// The person that the call is about.
    ///
    /// # Errors
    /// Denied where the user token is another person's; not found where the person of the token has no
    /// profile.
    pub(super) async fn subject(&self, app: &SdkState, person: &Person) -> Result<Subject> {
        subject::subject(app.db(), self.workspace(), self.external_id(), person.name()).await
    }
}

impl FromRequestParts<SdkState> for AppUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &SdkState) -> ApiResult<Self> {
        let caller = SdkCaller::from_request_parts(parts, app).await?;
        let external_id = match user_token(&parts.headers)? {
            Some(token) => Some(app.user_tokens().verify(caller.workspace(), token).await?),
            None if app.identity() == Identity::Required => return Err(REQUIRED.into()),
            None => None,
        };
        Ok(Self { app: caller, external_id })
    }
}

fn user_token(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut values = headers.get_all(X_USER_TOKEN).iter();
    let Some(token) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(INVALID);
    }
    token.to_str().map(Some).map_err(|_| INVALID)
}
