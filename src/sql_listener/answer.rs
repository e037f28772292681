//! Answers: passed on as the engine makes them, compressed as the client accepts it.

use std::{
    collections::VecDeque,
    io::{self, Write as _},
    pin::Pin,
    task::{Context, Poll},
};

use analytics::sql_access::ViewDatabases;
use axum::{body::Body, response::Response};
use bytes::Bytes;
use flate2::write::GzEncoder;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE},
};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use web::http::OwnError;

use crate::{
    catalog::DATABASE,
    engine,
    fault::Fault,
    headers::{EXCEPTION_CODE, NAME, SERVER_NAME},
    native,
    pace::{Pace, Paced},
    running::{Outcome, Running},
};

const EXCEPTION_TAG: HeaderName = HeaderName::from_static("x-clickhouse-exception-tag");
const QUERY_ID: HeaderName = HeaderName::from_static("x-clickhouse-query-id");
/// Headers of the engine that are passed on.
const PASSED_ON: [HeaderName; 5] = [
    CONTENT_TYPE,
    EXCEPTION_TAG,
    HeaderName::from_static("x-clickhouse-format"),
    HeaderName::from_static("x-clickhouse-summary"),
    HeaderName::from_static("x-clickhouse-timezone"),
];
/// Of an answer that is held back until it is whole; a larger one is passed on as it comes.
const HOLD_BYTES_MAX: usize = 16 << 20;
const GZIP_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 1;

/// How an answer is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// What the client accepts; none where it accepts neither.
    pub(crate) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
        let accepts = |name: &str| {
            text.split(',').any(|item| {
                let (coding, quality) = item.split_once(';').unwrap_or((item, ""));
                let is_refused = matches!(quality.trim(), "q=0" | "q=0.0");
                coding.trim().eq_ignore_ascii_case(name) && !is_refused
            })
        };
        let known = [("zstd", Self::Zstd), ("gzip", Self::Gzip)];
        known.into_iter().find_map(|(name, encoding)| accepts(name).then_some(encoding))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// How a client wants its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) query_id: &'a str,
    pub(crate) encoding: Option<Encoding>,
    /// Whether it is held back until it is whole.
    pub(crate) whole: bool,
    pub(crate) databases: &'a ViewDatabases,
    pub(crate) pace: Pace,
}

/// The answer of the engine, as the client gets it.
pub(crate) async fn of_engine(
    answer: http::Response<Incoming>,
    wanted: Wanted<'_>,
    mut running: Running,
) -> Result<Response, Fault> {
    if !answer.status().is_success() {
        let (status, code) = (answer.status(), code_of(answer.headers()));
        let text = engine::text_of(answer).await?;
        running.end(Outcome::Failed);
        return Ok(failed(status, code, &text, wanted));
    }
    let (head, mut body) = answer.into_parts();
    let mut ahead = VecDeque::new();
    if wanted.whole
        && let Err(BrokenOff) = hold(&mut body, &mut ahead).await
    {
        running.end(Outcome::Failed);
        let tag = head.headers.get(EXCEPTION_TAG).and_then(|tag| tag.to_str().ok());
        let text = late_failure(&ahead, tag.unwrap_or_default());
        return Ok(failed(StatusCode::INTERNAL_SERVER_ERROR, None, &text, wanted));
    }
    let encoder = wanted.encoding.map(Encoder::new).transpose().map_err(kernel::Error::internal)?;
    let source = Source { ahead, body, encoder, running, is_over: false };
    let streamed = Streamed { source: Paced::new(source, wanted.pace), is_broken: false };
    let mut response = Response::new(Body::new(streamed));
    let headers = response.headers_mut();
    for name in PASSED_ON {
        if let Some(value) = head.headers.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    if let Some(encoding) = wanted.encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    }
    set_headers(headers, wanted.query_id);
    Ok(response)
}

fn set_headers(headers: &mut HeaderMap, query_id: &str) {
    headers.insert(SERVER_NAME, HeaderValue::from_static(NAME));
    if let Ok(id) = HeaderValue::from_str(query_id) {
        headers.insert(QUERY_ID, id);
    }
}

fn code_of(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(EXCEPTION_CODE).cloned()
}

/// The answer to a client that asks for the version of the native format: in the version that it says it reads. It learns
/// from this answer that others are in version 0.
pub(crate) async fn of_version(
    answer: http::Response<Incoming>,
    wanted: Wanted<'_>,
    version: u64,
    mut running: Running,
) -> Result<Response, Fault> {
    if !answer.status().is_success() {
        return of_engine(answer, wanted, running).await;
    }
    let block = engine::bytes_of(answer).await?;
    running.end(Outcome::Answered);
    let block = native::in_version(&block, version).ok_or_else(|| {
        Fault::not_implemented("revision() stands beside numbers and texts alone")
    })?;
    let block = match wanted.encoding {
        None => Bytes::from(block),
        Some(encoding) => compressed(encoding, &block).map_err(kernel::Error::internal)?,
    };
    let mut response = Response::new(Body::from(block));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Some(encoding) = wanted.encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    }
    set_headers(headers, wanted.query_id);
    Ok(response)
}

fn compressed(encoding: Encoding, bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = Encoder::new(encoding)?;
    let mut compressed = encoder.push(bytes)?.to_vec();
    compressed.extend(encoder.finish()?);
    Ok(compressed.into())
}

/// A failure of the engine, with the names that the caller knows.
pub(crate) fn failed(
    status: StatusCode,
    code: Option<HeaderValue>,
    text: &str,
    wanted: Wanted<'_>,
) -> Response {
    let in_text =
        || HeaderValue::from_str(&analytics::error::exception_code(text)?.to_string()).ok();
    let code = code.or_else(in_text);
    let mut response = Response::new(Body::from(with_known_names(text, wanted.databases)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(code) = code {
        headers.insert(EXCEPTION_CODE, code);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=UTF-8"));
    set_headers(headers, wanted.query_id);
    response.extensions_mut().insert(OwnError);
    response
}

fn with_known_names(text: &str, databases: &ViewDatabases) -> String {
    text.replace(&databases.without_people, DATABASE)
        .replace(&databases.system, "system")
        .replace(&databases.whole, DATABASE)
}

struct BrokenOff;

/// Reads an answer until its end, or until it is too large to be held back.
async fn hold(body: &mut Incoming, ahead: &mut VecDeque<Bytes>) -> Result<(), BrokenOff> {
    let mut held = 0;
    while held <= HOLD_BYTES_MAX {
        match body.frame().await {
            None => return Ok(()),
            Some(Err(_)) => return Err(BrokenOff),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    held += data.len();
                    ahead.push_back(data);
                }
            }
        }
    }
    Ok(())
}

/// The text of a failure at the end of an answer that had begun.
fn late_failure(answer: &VecDeque<Bytes>, tag: &str) -> String {
    let bytes: Vec<u8> = answer.iter().flatten().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let marker = format!("__exception__\r\n{tag}\r\n");
    let after = text.split_once(&marker).map(|(_, after)| after);
    let message = after.and_then(|after| after.lines().next());
    message.map_or_else(
        || {
            "Code: 210. DB::Exception: The analytics store broke off its answer. (NETWORK_ERROR)\n"
                .to_owned()
        },
        |message| format!("{message}\n"),
    )
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => {
                Self::Gzip(GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL)))
            }
            Encoding::Zstd => {
                Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?)
            }
        })
    }

    /// Compresses a piece, so that the client can read all of it.
    fn push(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        let compressed = match self {
            Self::Gzip(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            Self::Zstd(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
        };
        Ok(compressed.into())
    }

    fn finish(self) -> io::Result<Bytes> {
        Ok(match self {
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        }
        .into())
    }
}

/// What an answer comes from. When it is dropped before its end, the statement is ended.
struct Source {
    /// Pieces that were held back.
    ahead: VecDeque<Bytes>,
    body: Incoming,
    encoder: Option<Encoder>,
    running: Running,
    is_over: bool,
}

impl Source {
    fn next_plain(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        if let Some(piece) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            if let Ok(data) = frame.into_data() {
                return Poll::Ready(Some(Ok(data)));
            }
        }
    }

    /// The last piece of the body, once the engine has ended.
    fn finish(&mut self) -> Option<Result<Frame<Bytes>, axum::Error>> {
        self.is_over = true;
        self.running.end(Outcome::Answered);
        let last = self.encoder.take()?.finish();
        Some(last.map(Frame::data).map_err(axum::Error::new))
    }

    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        loop {
            let piece = match self.next_plain(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(self.finish()),
                Poll::Ready(Some(Err(error))) => {
                    // The last piece has the reason. Breaking off keeps a client from taking it for an end.
                    self.is_over = true;
                    self.running.end(Outcome::Failed);
                    return Poll::Ready(Some(Err(axum::Error::new(error))));
                }
                Poll::Ready(Some(Ok(piece))) => piece,
            };
            let piece = match &mut self.encoder {
                Some(encoder) => encoder.push(&piece).map_err(axum::Error::new)?,
                None => piece,
            };
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
        }
    }
}

/// The body of an answer. It breaks off when its client takes too long.
struct Streamed {
    source: Paced<Source>,
    is_broken: bool,
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        if this.is_broken {
            return Poll::Ready(None);
        }
        this.source.poll(cx, Source::poll_piece).map(|polled| {
            polled.unwrap_or_else(|| {
                this.is_broken = true;
                Some(Err(axum::Error::new("the client took too long")))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn accepted(text: &str) -> Option<Encoding> {
        let value = HeaderValue::from_str(text).unwrap();
        Encoding::accepted(&HeaderMap::from_iter([(ACCEPT_ENCODING, value)]))
    }

    #[test]
    fn the_client_chooses_how_its_answer_is_compressed() {
        assert_eq!(accepted("gzip, deflate, br"), Some(Encoding::Gzip));
        assert_eq!(accepted("lz4,gzip;q=0.5, zstd"), Some(Encoding::Zstd));
        assert_eq!(accepted("zstd;q=0, GZIP"), Some(Encoding::Gzip));
        assert_eq!(accepted("br, deflate"), None);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), None);
    }

    #[test]
    fn pieces_are_readable_as_they_come_and_end_well() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let mut encoder = Encoder::new(encoding).unwrap();
            let mut bytes = encoder.push(b"some rows ").unwrap().to_vec();
            bytes.extend(encoder.push(b"and more").unwrap());
            bytes.extend(encoder.finish().unwrap());
            let mut plain = String::new();
            match encoding {
                Encoding::Gzip => flate2::read::GzDecoder::new(bytes.as_slice())
                    .read_to_string(&mut plain)
                    .unwrap(),
                Encoding::Zstd => zstd::stream::read::Decoder::new(bytes.as_slice())
                    .unwrap()
                    .read_to_string(&mut plain)
                    .unwrap(),
            };
            assert_eq!(plain, "some rows and more");
        }
    }

    #[test]
    fn a_failure_has_the_names_that_callers_know() {
        let databases = ViewDatabases::of("millrace");
        let text = "Unknown column in `millrace_sql_plain`.events, millrace_sql.people, millrace_sql_system.tables";
        assert_eq!(
            with_known_names(text, &databases),
            "Unknown column in `millrace`.events, millrace.people, system.tables"
        );
    }

    #[test]
    fn the_text_of_a_late_failure_is_found() {
        let pieces = [
            "1\n2\n",
            "\r\n__exception__\r\nabc\r\nCode: 159. DB::Exception: slow\n50 abc\r\n__exception__\r\n",
        ];
        let pieces = pieces.into_iter().map(|piece| Bytes::from_static(piece.as_bytes())).collect();
        assert_eq!(late_failure(&pieces, "abc"), "Code: 159. DB::Exception: slow\n");
    }
}
