//! HTTP: accept loop, layers, the error envelope, readers of bodies and queries, pages, OpenAPI, health.

mod body;
mod body_drain;
mod envelope;
mod front;
mod observe;
mod page;
mod path;
mod query;
mod request_id;
mod requester;
mod serve;
mod status;
mod upserted;

pub mod attempts;
pub mod failures;
pub mod health;
pub mod openapi;
pub mod quota;
pub mod rate;
pub mod rate_limits;
pub mod work;

#[cfg(test)]
mod tests;

pub use self::{
    body::{
        Body, BodyBudget, BodyLimits, BodyOwner, CONTROL_BODY_BYTES_MAX, FormBody, FromBody, Held,
        JsonBytes, OneOrMany, OptionalBody, RawBytes, TRACK_BODY_BYTES_MAX, USERS_BODY_BYTES_MAX,
    },
    envelope::{ApiError, ApiResult, ErrorWithCode, HtmlErrorPage, OwnError},
    front::{Front, front},
    page::{NumberedPage, OffsetPage},
    path::{BodyFor, FromPath, Path, PathOf},
    query::{DateRange, FromQuery, Query, QueryFields},
    request_id::RequestId,
    requester::{Client, PeerKey, Requester, TrustedProxies},
    serve::{Drained, ServeOptions, bind, serve},
    upserted::Upserted,
};
