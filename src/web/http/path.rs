//! Path parameters. If one cannot be read, the path does not exist.

use axum::extract::FromRequestParts;
use http::request::Parts;
use kernel::Error;
use serde::de::DeserializeOwned;

use crate::http::{ApiError, ApiResult};

/// The parameters of the matched path; 404 when they cannot be read.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(_) => Err(ApiError(Error::RouteNotFound)),
        }
    }
}
