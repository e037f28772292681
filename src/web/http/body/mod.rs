//! Request bodies: read in full, decompressed, within a limit, and within the memory for bodies.

mod budget;
mod collect;
mod encoding;
mod form;
mod typed;

pub use self::{
    budget::{BodyBudget, BodyLimits, BodyOwner, Held},
    form::FormBody,
    typed::{Body, FromBody, OneOrMany, OptionalBody},
};
use axum::extract::{FromRef, FromRequest, Request};

use super::requester::{Client, TrustedProxies};
use crate::http::{ApiError, ApiResult};

/// Largest body of `POST /events/track`, decompressed, in bytes.
pub const TRACK_BODY_BYTES_MAX: usize = 32 << 20;
/// Largest decompressed body of control-plane routes by default, in bytes.
pub const CONTROL_BODY_BYTES_MAX: usize = 2 << 20;

/// Largest body of `POST /users`, decompressed, in bytes.
pub const USERS_BODY_BYTES_MAX: usize = 64 << 20;

/// The first bytes of gzip (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The share of memory in which a request's body counts: its workspace's if a credential was verified,
/// otherwise its peer's.
fn hold<S>(request: &Request, state: &S) -> Held
where
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
{
    let budget = BodyBudget::from_ref(state);
    if let Some(BodyOwner(workspace)) = request.extensions().get() {
        return budget.hold_for_workspace(*workspace);
    }
    let proxies = TrustedProxies::from_ref(state);
    let Client(peer) = Client::of(request.extensions(), request.headers(), &proxies);
    budget.hold_for_public(peer)
}

/// A JSON body as bytes, for a parser that works in place.
#[derive(Debug)]
pub struct JsonBytes<const MAX_BYTES: usize> {
    pub bytes: Vec<u8>,
    /// The body's share of memory; must live as long as the bytes.
    pub held: Held,
}

impl<S, const MAX_BYTES: usize> FromRequest<S> for JsonBytes<MAX_BYTES>
where
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let held = hold(&request, state);
        let (bytes, held) = collect::json(request, MAX_BYTES, held).await?;
        Ok(Self { bytes, held })
    }
}

/// A body as bytes, of any type: for signatures over the bytes.
#[derive(Debug)]
pub struct RawBytes<const MAX_BYTES: usize> {
    pub bytes: Vec<u8>,
    /// The body's share of memory; must live as long as the bytes.
    pub held: Held,
}

impl<const MAX_BYTES: usize> RawBytes<MAX_BYTES> {
    /// Decompresses bytes that are gzip by their beginning: some senders compress and do not say so in a header.
    ///
    /// # Errors
    /// As those of a compressed body.
    pub async fn unpacked(self) -> ApiResult<Self> {
        if !self.bytes.starts_with(&GZIP_MAGIC) {
            return Ok(self);
        }
        let Self { bytes, held } = self;
        let (bytes, held) =
            collect::inflate(encoding::Encoding::Gzip, bytes, MAX_BYTES, held).await?;
        Ok(Self { bytes, held })
    }
}

impl<S, const MAX_BYTES: usize> FromRequest<S> for RawBytes<MAX_BYTES>
where
    BodyBudget: FromRef<S>,
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let held = hold(&request, state);
        let (bytes, held) = collect::whole(request, MAX_BYTES, held).await?;
        Ok(Self { bytes, held })
    }
}
