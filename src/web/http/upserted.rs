//! An answer that shows whether its resource is new.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Serialize;

/// A resource that the request created (201) or found (200).
#[derive(Debug, Clone, Copy)]
pub struct Upserted<T> {
    pub value: T,
    /// Whether the request created it.
    pub created: bool,
}

impl<T: Serialize> IntoResponse for Upserted<T> {
    fn into_response(self) -> Response {
        let status = if self.created { StatusCode::CREATED } else { StatusCode::OK };
        (status, Json(self.value)).into_response()
    }
}
