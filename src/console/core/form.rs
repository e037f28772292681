//! Forms as they were sent.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::{StatusCode, request::Parts};

use crate::{failure::Failure, view};

/// The fields of a form that was sent. Its CSRF token has been checked.
#[derive(Debug, Clone, Default)]
pub struct Form(Arc<Vec<(String, String)>>);

impl Form {
    pub fn new(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(fields.into_iter().collect()))
    }

    /// The value of a field as it was sent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value without spaces around it; `None` where nothing is left.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.text(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Whether the name was typed that confirms a change: see [`view::confirmable`].
    pub fn confirms(&self, name: &str) -> bool {
        self.text("confirm").is_some_and(|typed| view::is_same_name(typed, name))
    }

    /// Goes on with a change where the name was typed that confirms it.
    ///
    /// # Errors
    /// A bad request with this text where another name was typed.
    pub fn confirmed(&self, name: &str, otherwise: &str) -> Result<(), Failure> {
        if self.confirms(name) {
            return Ok(());
        }
        Err(Failure::new(StatusCode::BAD_REQUEST, otherwise))
    }

    /// Every field in its order, for forms whose fields have indices.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Every value of a field that may be there several times.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| Failure::internal(&"a form outside of the gate"))
    }
}
