//! Who may do what to which ledger.
//!
//! The channel chooses the scope, and the channel is in the query or in the body. So these arguments
//! find it first, judge by it, and only then read the rest: nobody learns what is wrong with a request
//! that they may not send. (DECISIONS G4, G17)

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

use crate::suppressions::model::{Access, Ledger};

/// Characters of a channel's name in a query; longer is none.
const CHANNEL_CHARS_MAX: usize = 32;

/// What an argument is for.
pub(super) trait Purpose: Send + Sync + 'static {
    const ACCESS: Access;
}

/// Looking at a ledger.
#[derive(Debug)]
pub(super) struct ToRead;

#[derive(Debug)]
pub(super) struct ToWrite;

impl Purpose for ToRead {
    const ACCESS: Access = Access::Read;
}

impl Purpose for ToWrite {
    const ACCESS: Access = Access::Write;
}

/// Whether the holder may do this to the ledger of that channel. Where no channel is named, anyone who
/// has to do with suppressions at all is told so, later; the others are told nothing.
fn judge(holder: &Holder, named: Option<Ledger>, access: Access) -> Result<()> {
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

/// A caller, the ledger that the query's `channel` names, and what else the query says.
#[derive(Debug)]
pub(super) struct ByQuery<P, T> {
    pub(super) holder: Holder,
    pub(super) ledger: Ledger,
    pub(super) ask: T,
    purpose: PhantomData<fn() -> P>,
}

/// The channel as it was sent, right or wrong.
struct Sent(Option<String>);

impl FromQuery for Sent {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.text("channel", CHANNEL_CHARS_MAX))
    }
}

/// The channel as it must be, and the rest.
struct Whole<T> {
    ledger: Ledger,
    ask: T,
}

impl<T: FromQuery> FromQuery for Whole<T> {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let ledger = query.required_one_of("channel", Ledger::NAMED);
        Self { ledger, ask: T::from_query(query) }
    }
}

impl<S, P, T> FromRequestParts<S> for ByQuery<P, T>
where
    S: Send + Sync,
    Auth: FromRef<S>,
    P: Purpose,
    T: FromQuery,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let holder = Holder::from_request_parts(parts, state).await?;
        let sent = Query::<Sent>::from_request_parts(parts, state).await;
        let named = sent.ok().and_then(|Query(Sent(text))| Ledger::named(&text?));
        judge(&holder, named, P::ACCESS)?;
        let Query(Whole { ledger, ask }) = Query::from_request_parts(parts, state).await?;
        Ok(Self { holder, ledger, ask, purpose: PhantomData })
    }
}

/// A caller who may write to the ledger that the body's `channel` names, and the body.
#[derive(Debug)]
pub(super) struct ByBody<T> {
    pub(super) holder: Holder,
    pub(super) body: T,
}

/// A body before it is read.
struct Unread(Option<Value>);

impl FromBody for Unread {
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
        let read = Body::<Unread>::from_request(request, state).await;
        let sent = read.as_ref().ok().and_then(|Body(Unread(sent))| sent.as_ref());
        let channel = sent.and_then(|body| body.get("channel")).and_then(Value::as_str);
        judge(&holder, channel.and_then(Ledger::named), Access::Write)?;
        let Body(Unread(sent)) = read?;
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
        judge(&holder, Some(Ledger::Email), Access::Write)?;
        Ok(Self(holder))
    }
}
