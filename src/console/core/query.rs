//! What an address names after its `?`.

use axum::{
    extract::{FromRequestParts, rejection::QueryRejection},
    http::request::Parts,
};
use http::StatusCode;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// The fields of the address. One that cannot be read answers with a page that names it.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        #[expect(clippy::disallowed_types, reason = "it is what this type stands in front of")]
        let read = axum::extract::Query::try_from_uri(&parts.uri);
        read.map(|read| Self(read.0)).map_err(|refused| failure(&refused))
    }
}

fn failure(refused: &QueryRejection) -> Failure {
    let text = refused.body_text();
    let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
    Failure::new(StatusCode::BAD_REQUEST, format!("The address cannot be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Asked {
        offset: u64,
    }

    async fn read(uri: &str) -> Result<u64, String> {
        let (mut parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        let read = Query::<Asked>::from_request_parts(&mut parts, &()).await;
        read.map(|Query(asked)| asked.offset).map_err(|failure| failure.text())
    }

    #[tokio::test]
    async fn a_field_that_cannot_be_read_is_named() {
        assert_eq!(read("/x?offset=7&other=1").await, Ok(7));
        assert_eq!(read("/x").await, Ok(0));
        let refused = read("/x?offset=abc").await.unwrap_err();
        assert_eq!(refused, "The address cannot be read: offset: invalid digit found in string");
        assert!(read("/x?offset=-1").await.is_err());
    }
}
