//! Callers as arguments of handlers: a handler with an argument `Caller<scope::EventsWrite>` runs only for
//! callers with that scope.

use std::{fmt, marker::PhantomData, sync::Arc};

use axum::extract::{FromRef, FromRequestParts};
use http::{Extensions, HeaderMap, header::AUTHORIZATION, request::Parts};
use kernel::{Error, KeyId, OrganizationId, Result, Tenant, WorkspaceId};
use secrecy::SecretString;
use traces::KeyValue;

use super::{
    Auth, INVALID, KeyKind, Scope, ScopeName, ScopeSet, SignedIn, Use, credential::Credential,
    sessions::Session,
};
use crate::http::{ApiError, ApiResult, BodyOwner, rate};

/// The header in which client SDKs send their key.
const X_SDK_KEY: &str = "x-sdk-key";

/// A program with an API key that has the scope `S`, or a person at the console for whom this process asks.
#[derive(Debug)]
pub struct Caller<S> {
    known: Known,
    scope: PhantomData<fn() -> S>,
}

/// A verified caller of the API.
#[derive(Debug)]
enum Known {
    Key(Arc<Credential>),
    Person(Arc<SignedIn>),
}

impl Known {
    fn scopes(&self) -> ScopeSet {
        match self {
            Self::Key(key) => key.scopes,
            Self::Person(person) => person.scopes,
        }
    }
}

impl<S> Caller<S> {
    /// The workspace of the key.
    pub fn workspace(&self) -> WorkspaceId {
        self.tenant().workspace
    }

    pub fn organization(&self) -> OrganizationId {
        self.tenant().organization
    }

    /// The workspace and its organization.
    pub fn tenant(&self) -> Tenant {
        match &self.known {
            Known::Key(key) => Tenant { organization: key.organization, workspace: key.workspace },
            Known::Person(person) => person.tenant,
        }
    }

    /// The id of the key, or that of the session in its stead.
    pub fn key(&self) -> KeyId {
        match &self.known {
            Known::Key(key) => key.id,
            Known::Person(person) => person.session,
        }
    }

    /// The workspace's reporting currency (ISO 4217), where one is set.
    pub fn currency(&self) -> Option<&str> {
        match &self.known {
            Known::Key(key) => key.currency.as_deref(),
            Known::Person(person) => person.currency.as_deref(),
        }
    }

    /// The workspace's time zone, an IANA name.
    pub fn timezone(&self) -> &str {
        match &self.known {
            Known::Key(key) => &key.timezone,
            Known::Person(person) => &person.timezone,
        }
    }

    /// Everything that the caller may do.
    pub fn scopes(&self) -> ScopeSet {
        self.known.scopes()
    }

    /// For audit entries: `api_key:<id>` or `user:<name>`.
    pub fn actor(&self) -> String {
        match &self.known {
            Known::Key(key) => actor_of(key),
            Known::Person(person) => person.audit_name(),
        }
    }
}

impl<S: Scope> Caller<S> {
    /// The caller with this key, in a request of this head: for protocols that send keys in other ways.
    ///
    /// # Errors
    /// Unauthenticated for an unknown key, forbidden for one without the scope.
    pub async fn with_key<T>(text: &SecretString, head: &mut Parts, state: &T) -> Result<Self>
    where
        Auth: FromRef<T>,
    {
        let key = Auth::from_ref(state).key(text, KeyKind::Api, Use::Other, head).await?;
        Self::admitted(Known::Key(key), head)
    }

    /// The person of the console for whom this process makes the request, where it is for one.
    ///
    /// # Errors
    /// Forbidden for a session without the scope; too many requests beyond its rate.
    pub fn signed_in(head: &mut Parts) -> Result<Option<Self>> {
        SignedIn::of(head).map(|person| Self::admitted(Known::Person(person), head)).transpose()
    }

    /// Checks rate and scope of a verified caller.
    fn admitted(known: Known, head: &mut Parts) -> Result<Self> {
        let caller = Self { known, scope: PhantomData };
        rate::admit(&head.extensions, caller.key())?;
        demand::<S>(caller.known.scopes())?;
        verified(&mut head.extensions, caller.workspace());
        Ok(caller)
    }

    /// Whether the key is still live and has the scope: for answers that go on after the request. The console ends the
    /// answers to a session that has ended.
    pub async fn is_still_admitted(&self, auth: &Auth) -> bool {
        match &self.known {
            Known::Key(key) => {
                let live = auth.live(key.id).await;
                live.is_ok_and(|key| key.is_some_and(|key| key.scopes.has(S::NAME)))
            }
            Known::Person(_) => true,
        }
    }
}

impl<S: Scope, T: Send + Sync> FromRequestParts<T> for Caller<S>
where
    Auth: FromRef<T>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> ApiResult<Self> {
        if let Some(person) = SignedIn::of(parts) {
            return Self::admitted(Known::Person(person), parts).map_err(ApiError);
        }
        let used = if S::NAME == ScopeName::EventsWrite { Use::Tracking } else { Use::Other };
        let text = bearer(&parts.headers)?;
        let key = Auth::from_ref(state).key(&text, KeyKind::Api, used, parts).await?;
        Self::admitted(Known::Key(key), parts).map_err(ApiError)
    }
}

/// Notes the workspace of a verified credential: its body counts there, and its span names it.
pub(super) fn verified(extensions: &mut Extensions, workspace: WorkspaceId) {
    extensions.insert(BodyOwner(workspace));
    traces::describe_active(|| [KeyValue::new("millrace.workspace", workspace.to_string())]);
}

/// A program with an API key, or a person with a dashboard session, with any scopes. For routes whose scope
/// depends on the request. The others use [`CallerOrSession`].
#[derive(Debug)]
pub struct Holder {
    who: Who,
    tenant: Tenant,
    scopes: ScopeSet,
}

#[derive(Debug)]
enum Who {
    Key(Arc<Credential>),
    Session(Session),
    Person(Arc<SignedIn>),
}

impl Holder {
    /// The workspace and its organization.
    pub fn tenant(&self) -> Tenant {
        self.tenant
    }

    pub fn scopes(&self) -> ScopeSet {
        self.scopes
    }

    /// For audit entries: `api_key:<id>` or `user:<name>`.
    pub fn actor(&self) -> String {
        match &self.who {
            Who::Key(key) => actor_of(key),
            Who::Session(session) => format!("user:{}", session.actor),
            Who::Person(person) => person.audit_name(),
        }
    }
}

impl<T: Send + Sync> FromRequestParts<T> for Holder
where
    Auth: FromRef<T>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> ApiResult<Self> {
        if let Some(person) = SignedIn::of(parts) {
            rate::admit(&parts.extensions, person.session)?;
            verified(&mut parts.extensions, person.tenant.workspace);
            let (tenant, scopes) = (person.tenant, person.scopes);
            return Ok(Self { tenant, scopes, who: Who::Person(person) });
        }
        let auth = Auth::from_ref(state);
        let text = bearer(&parts.headers)?;
        if Session::may_be(&text) {
            let session = auth.session(&text)?;
            rate::admit(&parts.extensions, (session.workspace, &session.actor))?;
            let organization = auth.organization(&session).await?;
            let tenant = Tenant { organization, workspace: session.workspace };
            verified(&mut parts.extensions, tenant.workspace);
            return Ok(Self { tenant, scopes: session.scopes, who: Who::Session(session) });
        }
        let key = auth.key(&text, KeyKind::Api, Use::Other, parts).await?;
        rate::admit(&parts.extensions, key.id)?;
        let tenant = Tenant { organization: key.organization, workspace: key.workspace };
        verified(&mut parts.extensions, tenant.workspace);
        Ok(Self { tenant, scopes: key.scopes, who: Who::Key(key) })
    }
}

/// A program with an API key, or a person with a dashboard session, that has the scope `S`. Only the
/// subscription and suppression routes take session tokens.
#[derive(Debug)]
pub struct CallerOrSession<S> {
    holder: Holder,
    scope: PhantomData<fn() -> S>,
}

impl<S> CallerOrSession<S> {
    pub fn workspace(&self) -> WorkspaceId {
        self.holder.tenant.workspace
    }

    pub fn organization(&self) -> OrganizationId {
        self.holder.tenant.organization
    }

    /// The workspace and its organization.
    pub fn tenant(&self) -> Tenant {
        self.holder.tenant
    }

    /// For audit entries: `api_key:<id>` or `user:<name>`.
    pub fn actor(&self) -> String {
        self.holder.actor()
    }
}

impl<S: Scope, T: Send + Sync> FromRequestParts<T> for CallerOrSession<S>
where
    Auth: FromRef<T>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> ApiResult<Self> {
        let holder = Holder::from_request_parts(parts, state).await?;
        demand::<S>(holder.scopes)?;
        Ok(Self { holder, scope: PhantomData })
    }
}

/// A client SDK, identified by the key in `X-SDK-Key`. Such a key is public, so its request bodies take memory
/// from the pool for callers without a verified credential.
#[derive(Debug)]
pub struct SdkCaller {
    key: Arc<Credential>,
}

impl SdkCaller {
    pub fn workspace(&self) -> WorkspaceId {
        self.key.workspace
    }

    /// The workspace and its organization.
    pub fn tenant(&self) -> Tenant {
        Tenant { organization: self.key.organization, workspace: self.key.workspace }
    }

    /// For audit entries: `sdk_key:<id>`.
    pub fn actor(&self) -> String {
        format!("sdk_key:{}", self.key.id)
    }
}

impl<T: Send + Sync> FromRequestParts<T> for SdkCaller
where
    Auth: FromRef<T>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> ApiResult<Self> {
        let key = sdk_key(parts, &Auth::from_ref(state), Use::Other).await?;
        Ok(Self { key })
    }
}

/// A client SDK that tracks events. Like [`SdkCaller`], but its key is accepted for longer while PostgreSQL is
/// unavailable.
#[derive(Debug)]
pub struct SdkTracker(SdkCaller);

impl SdkTracker {
    pub fn workspace(&self) -> WorkspaceId {
        self.0.workspace()
    }

    /// The id of the key.
    pub fn key(&self) -> KeyId {
        self.0.key.id
    }
}

impl<T: Send + Sync> FromRequestParts<T> for SdkTracker
where
    Auth: FromRef<T>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> ApiResult<Self> {
        let key = sdk_key(parts, &Auth::from_ref(state), Use::Tracking).await?;
        Ok(Self(SdkCaller { key }))
    }
}

/// The verified key of `X-SDK-Key`, after a check of its rate limit.
async fn sdk_key(parts: &Parts, auth: &Auth, used: Use) -> Result<Arc<Credential>> {
    let text = only(&parts.headers, X_SDK_KEY, "Missing SDK key")?;
    let key = auth.key(&SecretString::from(text), KeyKind::Sdk, used, parts).await?;
    rate::admit_app(&parts.extensions, key.id)?;
    Ok(key)
}

fn actor_of(key: &Credential) -> String {
    actor_of_key(key.id)
}

/// How histories name an API key of this id.
pub fn actor_of_key(id: impl fmt::Display) -> String {
    format!("api_key:{id}")
}

fn demand<S: Scope>(scopes: ScopeSet) -> Result<()> {
    if scopes.has(S::NAME) {
        Ok(())
    } else {
        Err(Error::Forbidden { scope: S::NAME.as_str(), channel: None })
    }
}

/// The credential of `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Result<SecretString> {
    let text = only(headers, AUTHORIZATION.as_str(), "Missing API key")?;
    let (scheme, credential) = text.split_once(' ').ok_or(INVALID)?;
    let credential = credential.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || credential.is_empty() {
        return Err(INVALID);
    }
    Ok(SecretString::from(credential))
}

/// The value of a required header, which must occur once.
fn only<'h>(headers: &'h HeaderMap, name: &str, missing: &'static str) -> Result<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().ok_or(Error::Unauthenticated(missing))?;
    let text = first.to_str().map_err(|_| INVALID)?;
    if values.next().is_some() { Err(INVALID) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn read(values: &[&'static str]) -> Result<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        bearer(&headers).map(|secret| secret.expose_secret().to_owned())
    }

    #[test]
    fn the_scheme_is_read_in_any_case() {
        for sent in ["Bearer mr_x", "bearer mr_x", "BEARER  mr_x "] {
            assert_eq!(read(&[sent]).unwrap(), "mr_x", "{sent}");
        }
    }

    #[test]
    fn anything_else_is_unauthenticated() {
        let text = |values: &[&'static str]| read(values).unwrap_err().to_string();
        assert_eq!(text(&[]), "Missing API key");
        for sent in ["", "Bearer", "Bearer ", "Basic mr_x", "mr_x"] {
            assert_eq!(text(&[sent]), "Invalid API key", "{sent}");
        }
        assert_eq!(text(&["Bearer a", "Bearer b"]), "Invalid API key");
    }
}
