//! The answer that every export is: a table in a format that the caller chooses, sent in pieces.

use std::io;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE},
};
use kernel::Result;
use tables::Format;
use web::{
    Services,
    auth::{Caller, Scope},
};

use crate::ops::Pieces;

/// What is offered; the first is the default.
const FORMATS: [Format; 3] = [Format::Ndjson, Format::Csv, Format::Parquet];
/// Their names in `?format=`.
pub(super) const FORMAT_WORDS: &[(&str, Format)] = &Format::words(FORMATS);

/// The format that was named, else what the header `Accept` prefers, else the default.
pub(super) fn format_of(named: Option<Format>, headers: &HeaderMap) -> Format {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    named.or_else(|| Format::accepted(accept, &FORMATS)).unwrap_or(FORMATS[0])
}

/// An export that has begun.
pub(super) struct Begun<S, P> {
    pub(super) app: Services,
    /// Looked at again before each piece.
    pub(super) caller: Caller<S>,
    /// What the rows are: the name of the file, without its ending.
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) pieces: P,
}

/// An export that is being answered.
struct Open<S, P> {
    begun: Begun<S, P>,
    first: Option<Bytes>,
}

impl<S: Scope, P: Pieces> Begun<S, P> {
    /// The answer: the table piece by piece, as the client takes it.
    pub(super) async fn answer(mut self) -> Result<Response> {
        // A failure before the first rows has a status of its own.
        let first = self.pieces.next_piece().await?;
        let (name, format) = (self.name, self.format);
        let open = Open { begun: self, first };
        let pieces = stream::try_unfold(open, async |mut open| {
            Ok::<_, io::Error>(open.next_piece().await?.map(|piece| (piece, open)))
        });
        let mut response = Response::new(Body::from_stream(pieces));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let file = format!("attachment; filename=\"{name}.{}\"", format.extension());
        if let Ok(file) = HeaderValue::from_str(&file) {
            headers.insert(CONTENT_DISPOSITION, file);
        }
        Ok(response)
    }
}

impl<S: Scope, P: Pieces> Open<S, P> {
    /// The next piece; none at the end. An error breaks the answer off, so that no client takes it for whole.
    async fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Ok(Some(first));
        }
        let Begun { app, caller, name, pieces, .. } = &mut self.begun;
        if !caller.is_still_admitted(app.auth()).await {
            return Err(io::Error::other("the key was revoked"));
        }
        pieces.next_piece().await.map_err(|error| {
            tracing::warn!(%error, rows = name, "an export broke off");
            io::Error::other(error.to_string())
        })
    }
}
