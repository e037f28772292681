//! Request bodies: in full, decompressed, within a limit, and only as many at once as memory allows.

mod budget;
mod collect;
mod encoding;
mod form;
mod typed;

pub use self::{
    budget::{BodyBudget, Held},
    form::FormBody,
    typed::{Body, FromBody, OneOrMany},
};

use axum::extract::{FromRef, FromRequest, Request};

use crate::kernel::Error;

/// Largest body of `POST /events/track`, decompressed, in bytes (DECISIONS G7).
pub const TRACK_BODY_BYTES_MAX: usize = 32 << 20;
/// Largest body of the control plane where a route says nothing else, decompressed, in bytes.
pub const CONTROL_BODY_BYTES_MAX: usize = 2 << 20;

/// Largest body of `POST /users`, decompressed, in bytes (DECISIONS G7).
pub const USERS_BODY_BYTES_MAX: usize = 64 << 20;

/// A JSON body as bytes, for a parser that works in place.
#[derive(Debug)]
pub struct JsonBytes<const MAX_BYTES: usize> {
    /// The decompressed body.
    pub bytes: Vec<u8>,
    /// The body's share of memory; keep it as long as the bytes.
    pub held: Held,
}

impl<S, const MAX_BYTES: usize> FromRequest<S> for JsonBytes<MAX_BYTES>
where
    BodyBudget: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let budget = BodyBudget::from_ref(state);
        let (bytes, held) = collect::json(request, MAX_BYTES, &budget).await?;
        Ok(Self { bytes, held })
    }
}

/// A body as bytes, whatever it says it is: for callers whose signature is over the bytes.
#[derive(Debug)]
pub struct RawBytes<const MAX_BYTES: usize> {
    /// The decompressed body.
    pub bytes: Vec<u8>,
    /// The body's share of memory; keep it as long as the bytes.
    pub held: Held,
}

impl<S, const MAX_BYTES: usize> FromRequest<S> for RawBytes<MAX_BYTES>
where
    BodyBudget: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let budget = BodyBudget::from_ref(state);
        let (bytes, held) = collect::whole(request, MAX_BYTES, &budget).await?;
        Ok(Self { bytes, held })
    }
}
