//! The form of an answer: JSON as described, or a long table as CSV, Parquet or Arrow.

use axum::{
    Json,
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, VARY},
    request::Parts,
};
use kernel::{Error, Result};
use serde::Serialize;
use tables::{Format, Schema, TableError, TableWriter, Value};
use web::http::{ApiError, FromQuery, Query, QueryFields};

/// What is offered; the first is the default.
const FORMATS: [Format; 4] = [Format::Json, Format::Csv, Format::Parquet, Format::Arrow];
const FORMAT_WORDS: &[(&str, Format)] = &Format::words(FORMATS);

/// `?format=` of a question.
#[derive(Debug)]
struct FormatQuery(Option<Format>);

impl FromQuery for FormatQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.one_of("format", FORMAT_WORDS))
    }
}

/// The format that a caller wants: `?format=`, else what `Accept` prefers, else JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted(Format);

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(FormatQuery(named)) = Query::from_request_parts(parts, state).await?;
        let accept = parts.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
        let accepted = || Format::accepted(accept.unwrap_or_default(), &FORMATS);
        Ok(Self(named.or_else(accepted).unwrap_or(Format::Json)))
    }
}

/// An answer that is a long table in other formats than JSON.
pub(super) trait Tabular: Serialize {
    /// The name of a file with it.
    const NAME: &'static str;

    /// The columns of its table.
    fn schema() -> Schema;

    /// Writes the rows of its table.
    fn rows(
        &self,
        write: &mut dyn FnMut(&[Value<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError>;
}

impl Wanted {
    /// The answer in this format.
    pub(super) fn answer<T: Tabular>(self, answer: &T) -> Result<Response> {
        let Self(format) = self;
        let mut response = if format == Format::Json {
            Json(answer).into_response()
        } else {
            let table = table(answer, format).map_err(|error| Error::Internal(error.into()))?;
            let mut response = Response::new(table.into());
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            let name = format!("attachment; filename=\"{}.{}\"", T::NAME, format.extension());
            if let Ok(name) = HeaderValue::from_str(&name) {
                headers.insert(CONTENT_DISPOSITION, name);
            }
            response
        };
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
        Ok(response)
    }
}

fn table<T: Tabular>(answer: &T, format: Format) -> Result<bytes::Bytes, TableError> {
    let mut writer = TableWriter::new(format, T::schema())?;
    answer.rows(&mut |row| writer.push(row))?;
    writer.finish()
}
