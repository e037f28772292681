//! Accept loop, layers, the one error envelope, body and query readers, pages, OpenAPI, health.

mod body;
mod envelope;
mod fields;
mod front;
mod observe;
mod page;
mod path;
mod query;
mod request_id;
mod requester;
mod serve;
mod status;
mod unread;
mod upserted;

pub mod failures;
pub mod health;
pub mod openapi;
pub mod quota;
pub mod rate;
pub mod schema;

#[cfg(test)]
mod tests;

pub use self::{
    body::{
        Body, BodyBudget, BodyLimits, BodyOwner, CONTROL_BODY_BYTES_MAX, FormBody, FromBody, Held,
        JsonBytes, OneOrMany, RawBytes, TRACK_BODY_BYTES_MAX, USERS_BODY_BYTES_MAX,
    },
    envelope::Shown,
    fields::{
        Field, Fields, FromFields, Nothing, Optional, Patch, Patched, Presence, Required,
        read_object, read_object_by,
    },
    front::{Front, front},
    page::{NumberedPage, OffsetPage},
    path::Path,
    query::{DateRange, FromQuery, Query, QueryFields},
    request_id::RequestId,
    requester::{Client, NotANetwork, PeerKey, Requester, TrustedProxies, TrustedProxy},
    serve::{Drained, ServeOptions, bind, serve},
    upserted::Upserted,
};
