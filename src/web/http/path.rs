//! Path parameters. If one cannot be read, the path does not exist.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use kernel::{
    CampaignId, Channel, Error, InsightId, ListId, Result, SegmentId, SenderDomainId, UserId,
};
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

/// Read and checked from the parameters of a path.
pub trait FromPath: Sized + Send {
    /// The parameters: a text, or a tuple of texts.
    type Parameters: DeserializeOwned + Send;

    /// Checks them.
    ///
    /// # Errors
    /// Usually [`Error::NotFound`]: a text that is not an id names no resource.
    fn from_path(parameters: Self::Parameters) -> Result<Self>;
}

macro_rules! ids {
    ($($id:ty, $noun:literal;)*) => {$(
        impl FromPath for $id {
            type Parameters = String;

            fn from_path(text: String) -> Result<Self> {
                text.parse().map_err(|_| Error::NotFound($noun))
            }
        }
    )*};
}

ids! {
    CampaignId, "Campaign";
    Channel, "Channel";
    ListId, "List";
    SegmentId, "Segment";
    InsightId, "Insight";
    SenderDomainId, "Sender domain";
    UserId, "User";
}

/// For handlers that check something else before the id.
impl<T: FromPath> FromPath for Result<T> {
    type Parameters = T::Parameters;

    fn from_path(parameters: T::Parameters) -> Result<Self> {
        Ok(T::from_path(parameters))
    }
}

/// A checked path parameter. Handlers take it after the query, so that a bad query is reported before an unknown id.
#[derive(Debug, Clone, Copy)]
pub struct PathOf<T>(pub T);

impl<T: FromPath, S: Send + Sync> FromRequestParts<S> for PathOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Path(parameters) = Path::from_request_parts(parts, state).await?;
        Ok(Self(T::from_path(parameters)?))
    }
}

/// A checked path parameter and the body `B`. A bad body is reported before an unknown id.
#[derive(Debug, Clone, Copy)]
pub struct BodyFor<T, B>(pub T, pub B);

impl<T, B, S> FromRequest<S> for BodyFor<T, B>
where
    T: FromPath,
    B: FromRequest<S, Rejection = ApiError>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let (mut parts, body) = request.into_parts();
        let Path(parameters) = Path::from_request_parts(&mut parts, state).await?;
        let body = B::from_request(Request::from_parts(parts, body), state).await?;
        Ok(Self(T::from_path(parameters)?, body))
    }
}
