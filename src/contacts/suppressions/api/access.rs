//! Authorisation of requests for ledgers.
//!
//! The scope that a request needs depends on the channel, which is in the query or in the body. So these
//! extractors find the channel first, check the scope, and only then read the rest: callers without the scope
//! learn nothing about errors in their requests.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use http::request::Parts;
use kernel::{Error, Result};
use serde_json::Value;
use web::{
    auth::{Auth, Holder, ScopeName},
    http::{
        ApiError, ApiResult, Body, BodyBudget, FromBody, FromQuery, Query, QueryFields,
        TrustedProxies,
    },
};

use crate::model::{Access, Ledger};

/// Characters of a channel's name in a query; a longer one is unknown.
const CHANNEL_CHARS_MAX: usize = 32;

/// The access that an extractor checks.
pub(super) trait AccessPurpose: Send + Sync + 'static {
    const ACCESS: Access;
}

#[derive(Debug)]
pub(super) struct ToRead;

#[derive(Debug)]
pub(super) struct ToWrite;

impl AccessPurpose for ToRead {
    const ACCESS: Access = Access::Read;
}

impl AccessPurpose for ToWrite {
    const ACCESS: Access = Access::Write;
}

/// Checks that the holder may access the ledger of a channel. Without a channel, a holder of any suppression
/// scope passes, and later gets the error that the channel is missing; others get 403.
fn check_scope(holder: &Holder, named: Option<Ledger>, access: Access) -> Result<()> {
    let scopes = holder.scopes();
    let Some(ledger) = named else {
        let any = Ledger::NAMED.iter().any(|(_, ledger)| {
            scopes.has(ledger.scope(Access::Read)) || scopes.has(ledger.scope(Access::Write))
        });
        return if any { Ok(()) } else { Err(missing(Ledger::Email.scope(access), None)) };
    };
    let scope = ledger.scope(access);
    if scopes.has(scope) { Ok(()) } else { Err(missing(scope, Some(ledger))) }
}

fn missing(scope: ScopeName, ledger: Option<Ledger>) -> Error {
    Error::Forbidden { scope: scope.as_str(), channel: ledger.map(Ledger::as_str) }
}

/// A caller, the ledger of the query's `channel`, and the rest of the query.
#[derive(Debug)]
pub(super) struct ByQuery<P, T> {
    pub(super) holder: Holder,
    pub(super) ledger: Ledger,
    pub(super) query: T,
    purpose: PhantomData<fn() -> P>,
}

/// The channel as it was sent, valid or not.
struct ChannelParameter(Option<String>);

impl FromQuery for ChannelParameter {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.text("channel", CHANNEL_CHARS_MAX))
    }
}

/// The validated channel, and the rest.
struct ByChannel<T> {
    ledger: Ledger,
    query: T,
}

impl<T: FromQuery> FromQuery for ByChannel<T> {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let ledger = query.required_one_of("channel", Ledger::NAMED);
        Self { ledger, query: T::from_query(query) }
    }
}

impl<S, P, T> FromRequestParts<S> for ByQuery<P, T>
where
    S: Send + Sync,
    Auth: FromRef<S>,
    P: AccessPurpose,
    T: FromQuery,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let holder = Holder::from_request_parts(parts, state).await?;
        let sent = Query::<ChannelParameter>::from_request_parts(parts, state).await;
        let named = sent.ok().and_then(|Query(ChannelParameter(text))| Ledger::named(&text?));
        check_scope(&holder, named, P::ACCESS)?;
        let Query(ByChannel { ledger, query }) = Query::from_request_parts(parts, state).await?;
        Ok(Self { holder, ledger, query, purpose: PhantomData })
    }
}

/// A caller who may write to the ledger of the body's `channel`, and the body.
#[derive(Debug)]
pub(super) struct ByBody<T> {
    pub(super) holder: Holder,
    pub(super) body: T,
}

/// A body before its validation.
struct UnvalidatedBody(Option<Value>);

impl FromBody for UnvalidatedBody {
    fn from_body(body: Option<&Value>) -> Result<Self> {
        Ok(Self(body.cloned()))
    }
}

impl<S, T> FromRequest<S> for ByBody<T>
where
    S: Send + Sync,
    Auth: FromRef<S>,
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
    T: FromBody,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let (mut parts, body) = request.into_parts();
        let holder = Holder::from_request_parts(&mut parts, state).await?;
        let request = Request::from_parts(parts, body);
        let read = Body::<UnvalidatedBody>::from_request(request, state).await;
        let sent = read.as_ref().ok().and_then(|Body(UnvalidatedBody(sent))| sent.as_ref());
        let channel = sent.and_then(|body| body.get("channel")).and_then(Value::as_str);
        check_scope(&holder, channel.and_then(Ledger::named), Access::Write)?;
        let Body(UnvalidatedBody(sent)) = read?;
        Ok(Self { holder, body: T::from_body(sent.as_ref())? })
    }
}

/// A caller who may write to the ledger of email addresses.
#[derive(Debug)]
pub(super) struct EmailWriter(pub(super) Holder);

impl<S> FromRequestParts<S> for EmailWriter
where
    S: Send + Sync,
    Auth: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let holder = Holder::from_request_parts(parts, state).await?;
        check_scope(&holder, Some(Ledger::Email), Access::Write)?;
        Ok(Self(holder))
    }
}
