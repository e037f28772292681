//! Answers: heads as ClickHouse writes them, bodies as the engine makes them, and failures no client can take for an end.
//!
//! The head is buffered back until some of the answer is there, so most failures still get a status of their own. One that
//! comes later follows ClickHouse's protocol: the head announced `X-ClickHouse-Exception-Tag`, the body ends with
//! `\r\n__exception__\r\n<tag>\r\n<text>\n<length> <tag>\r\n__exception__\r\n`, and then the connection breaks off without
//! the chunk that ends a body.

use std::{
    fmt::Write as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use tokio::{
    io::AsyncReadExt as _,
    net::unix::pipe,
    sync::{mpsc, oneshot},
    time::Instant,
};

use crate::{
    compression,
    engine::{Engine, Waiting},
    fault::{Fault, code},
    ffi::Figures,
    query::{Outcome, Running},
    request::Request,
    wire::Written,
};

/// Bytes of an answer buffered back before its head is sent.
const HOLD_BYTES: usize = 256 * 1024;
/// And for at most this long since its first byte: rows that trickle in are passed on.
const HOLD_TIME: Duration = Duration::from_millis(50);
/// The most a client may ask to be buffered back, in bytes.
const HOLD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of an answer sent at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Pieces waiting for the client.
const PIECES_WAITING: usize = 2;
/// A client may leave an answer unread this long (ClickHouse's `http_send_timeout` is 30 s).
const UNREAD_MAX: Duration = Duration::from_mins(1);
/// The time between the last rows, a failure's text and the end of the connection: clients look for the text in one
/// piece, and read what has arrived before they notice the end.
const PARTING: Duration = Duration::from_millis(100);
/// The longest text of a failure sent in the middle of an answer, in bytes: clients look for it in one piece.
const LATE_TEXT_BYTES_MAX: usize = 8 * 1024;

/// The body of an answer.
pub(crate) enum AnswerBody {
    Whole(Bytes),
    Pieces {
        pieces: mpsc::Receiver<Result<Bytes, std::io::Error>>,
        /// Kills the statement when the client goes.
        _waiting: Waiting,
    },
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Pieces { pieces, .. } => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces { .. } => SizeHint::default(),
        }
    }
}

pub(crate) type Answer = Response<AnswerBody>;

/// What the head of an answer says.
pub(crate) struct Head<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) query_id: &'a str,
    /// Of the answer; empty when there is none.
    pub(crate) format: String,
    /// What the connection has written.
    pub(crate) written: Written,
}

impl Head<'_> {
    fn of(&self, figures: Figures, plain_bytes: usize) -> http::response::Builder {
        let mut builder = Response::builder()
            .header("x-clickhouse-server-display-name", "clickhouse-embedded")
            .header("x-clickhouse-timezone", "UTC")
            .header("x-clickhouse-summary", summary(figures, plain_bytes));
        if let Ok(id) = HeaderValue::from_str(self.query_id) {
            builder = builder.header("x-clickhouse-query-id", id);
        }
        if !self.format.is_empty() {
            builder = builder
                .header("x-clickhouse-format", &self.format)
                .header(header::CONTENT_TYPE, content_type(&self.format));
        }
        builder
    }

    /// An answer that is all there, of `plain_bytes` before compression.
    pub(crate) fn whole(&self, figures: Figures, plain_bytes: usize, bytes: Bytes) -> Answer {
        self.of(figures, plain_bytes)
            .body(AnswerBody::Whole(bytes))
            .expect("every header value is checked")
    }
}

/// A failure from the start.
pub(crate) fn failed(fault: &Fault, query_id: Option<&str>, version: &str) -> Answer {
    let mut builder = Response::builder()
        .status(fault.status())
        .header("x-clickhouse-server-display-name", "clickhouse-embedded")
        .header("x-clickhouse-exception-code", fault.code)
        .header(header::CONTENT_TYPE, "text/plain; charset=UTF-8");
    if let Some(id) = query_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        builder = builder.header("x-clickhouse-query-id", id);
    }
    if fault.status() == StatusCode::UNAUTHORIZED {
        builder =
            builder.header(header::WWW_AUTHENTICATE, "Basic realm=\"ClickHouse server HTTP API\"");
    }
    builder
        .body(AnswerBody::Whole(fault.wire_text(version).into()))
        .expect("every header value is checked")
}

/// Serves a running statement: whole when it is small, in pieces when it is not.
pub(crate) async fn of_running(
    running: Running,
    request: &Request,
    head: &Head<'_>,
) -> Result<Answer, Fault> {
    let hold = if request.wait_end_of_query {
        HOLD_BYTES_MAX
    } else {
        request.buffer_bytes.unwrap_or(HOLD_BYTES)
    };
    if hold > HOLD_BYTES_MAX {
        return Err(Fault::new(
            code::BAD_ARGUMENTS,
            "BAD_ARGUMENTS",
            format_args!("buffer_size is at most {HOLD_BYTES_MAX}"),
        ));
    }
    let Running { answer: mut pipe, outcome, waiting } = running;
    let mut buffered = BytesMut::new();
    let patience = if request.wait_end_of_query { None } else { Some(HOLD_TIME) };
    if hold_back(&mut pipe, &mut buffered, hold, patience).await? {
        let done = outcome.await.unwrap_or_else(|_| Err(panicked()))?;
        buffered.extend_from_slice(&done.bytes);
        let plain = buffered.len();
        let bytes = if request.compress && plain > 0 {
            compression::compress(&buffered)
        } else {
            buffered.freeze()
        };
        return Ok(head.whole(done.figures, plain, bytes));
    }
    if request.wait_end_of_query {
        return Err(Fault::new(
            code::TOO_MANY_ROWS_OR_BYTES,
            "TOO_MANY_ROWS_OR_BYTES",
            format_args!(
                "the answer is larger than the {HOLD_BYTES_MAX} bytes held back for wait_end_of_query"
            ),
        ));
    }
    let tag = exception_tag();
    let (send, pieces) = mpsc::channel(PIECES_WAITING);
    let mut sender = Sender {
        send,
        compress: request.compress,
        tag: tag.clone(),
        version: head.engine.version.clone(),
        given: head.written.bytes(),
        written: head.written.clone(),
    };
    tokio::spawn(async move {
        // An error means the client has gone: the pipe closes with this task, which stops the engine.
        let _ = sender.serve(buffered, pipe, outcome).await;
    });
    let builder = head.of(Figures::default(), 0).header("x-clickhouse-exception-tag", &tag);
    Ok(builder
        .body(AnswerBody::Pieces { pieces, _waiting: waiting })
        .expect("every header value is checked"))
}

/// Reads the beginning of an answer: until its end (true), until more than `limit` bytes are there, or until `patience`
/// is over since the first byte (false).
async fn hold_back(
    pipe: &mut pipe::Receiver,
    buffered: &mut BytesMut,
    limit: usize,
    patience: Option<Duration>,
) -> Result<bool, Fault> {
    let mut deadline = None;
    while buffered.len() <= limit {
        buffered.reserve(PIECE_BYTES);
        let read = pipe.read_buf(buffered);
        let read = match deadline {
            None => read.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, read).await {
                Ok(read) => read,
                Err(_) => return Ok(false),
            },
        };
        if read.map_err(|error| broken(&error))? == 0 {
            return Ok(true);
        }
        deadline = deadline.or_else(|| patience.map(|patience| Instant::now() + patience));
    }
    Ok(false)
}

struct Sender {
    send: mpsc::Sender<Result<Bytes, std::io::Error>>,
    compress: bool,
    tag: String,
    version: String,
    written: Written,
    /// What `written` will be at least when all that was given has left, in bytes.
    given: u64,
}

struct Gone;

impl Sender {
    async fn serve(
        &mut self,
        mut piece: BytesMut,
        mut pipe: pipe::Receiver,
        outcome: oneshot::Receiver<Outcome>,
    ) -> Result<(), Gone> {
        let fault = loop {
            if !piece.is_empty() {
                self.give(piece.split().freeze()).await?;
            }
            piece.reserve(PIECE_BYTES);
            match pipe.read_buf(&mut piece).await {
                Ok(0) => match outcome.await {
                    Ok(Ok(_)) => return Ok(()),
                    Ok(Err(fault)) => break fault,
                    Err(_) => break panicked(),
                },
                Ok(_) => {}
                Err(error) => break broken(&error),
            }
        };
        self.part().await;
        self.give(late_failure(&fault.wire_text(&self.version), &self.tag)).await?;
        self.part().await;
        self.put(Err(std::io::Error::other("the statement failed in the middle of its answer")))
            .await
    }

    /// Waits until the client's system has all that was given, and the client some time to read it.
    async fn part(&self) {
        self.written.reach(self.given, UNREAD_MAX).await;
        tokio::time::sleep(PARTING).await;
    }

    async fn give(&mut self, plain: Bytes) -> Result<(), Gone> {
        let bytes = if self.compress { compression::compress(&plain) } else { plain };
        self.given += bytes.len() as u64;
        self.put(Ok(bytes)).await
    }

    async fn put(&self, piece: Result<Bytes, std::io::Error>) -> Result<(), Gone> {
        self.send.send_timeout(piece, UNREAD_MAX).await.map_err(|_| Gone)
    }
}

/// ClickHouse's tail of an answer that failed in its middle.
fn late_failure(text: &str, tag: &str) -> Bytes {
    let mut end = text.len().min(LATE_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (text, _) = text.split_at(end);
    let text = format!("{}\n", text.trim_end());
    format!("\r\n__exception__\r\n{tag}\r\n{text}{} {tag}\r\n__exception__\r\n", text.len()).into()
}

/// Sixteen letters no answer has by chance.
fn exception_tag() -> String {
    uuid::Uuid::new_v4().into_bytes().iter().map(|byte| char::from(b'a' + byte % 26)).collect()
}

fn panicked() -> Fault {
    Fault::new(code::UNKNOWN_EXCEPTION, "UNKNOWN_EXCEPTION", "The statement's thread panicked")
}

fn broken(error: &std::io::Error) -> Fault {
    Fault::new(
        code::UNKNOWN_EXCEPTION,
        "UNKNOWN_EXCEPTION",
        format_args!("The answer cannot be read: {error}"),
    )
}

/// `X-ClickHouse-Summary`: numbers as texts, as ClickHouse writes them.
fn summary(figures: Figures, result_bytes: usize) -> String {
    let Figures {
        read_rows,
        read_bytes,
        written_rows,
        written_bytes,
        result_rows,
        elapsed_seconds,
    } = figures;
    let elapsed = Duration::try_from_secs_f64(elapsed_seconds).unwrap_or_default().as_nanos();
    let mut text = String::from("{");
    for (name, value) in [
        ("read_rows", read_rows),
        ("read_bytes", read_bytes),
        ("written_rows", written_rows),
        ("written_bytes", written_bytes),
        ("total_rows_to_read", 0),
        ("result_rows", result_rows),
        ("result_bytes", result_bytes as u64),
    ] {
        // Writing to a String cannot fail.
        let _ = write!(text, "\"{name}\":\"{value}\",");
    }
    let _ = write!(text, "\"elapsed_ns\":\"{elapsed}\"}}");
    text
}

/// The content types ClickHouse gives its formats.
fn content_type(format: &str) -> &'static str {
    let format = format.to_ascii_lowercase();
    if format.starts_with("json") && (format.contains("eachrow") || format.contains("progress")) {
        "application/x-ndjson; charset=UTF-8"
    } else if format.starts_with("json") {
        "application/json; charset=UTF-8"
    } else if format.starts_with("csv") {
        if format.contains("withnames") {
            "text/csv; charset=UTF-8; header=present"
        } else {
            "text/csv; charset=UTF-8; header=absent"
        }
    } else if format.starts_with("tabseparated") || format.starts_with("tsv") {
        "text/tab-separated-values; charset=UTF-8"
    } else if format == "xml" {
        "application/xml; charset=UTF-8"
    } else if [
        "rowbinary",
        "native",
        "parquet",
        "arrow",
        "orc",
        "avro",
        "protobuf",
        "capnproto",
        "msgpack",
        "npy",
        "bson",
        "buffers",
    ]
    .iter()
    .any(|binary| format.starts_with(binary))
    {
        "application/octet-stream"
    } else {
        "text/plain; charset=UTF-8"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_failure_is_what_clients_look_for() {
        let tail = late_failure(
            "Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)\n",
            "abcdefghijklmnop",
        );
        let text = "Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)\n";
        assert_eq!(
            tail,
            format!(
                "\r\n__exception__\r\nabcdefghijklmnop\r\n{text}{} abcdefghijklmnop\r\n__exception__\r\n",
                text.len()
            )
        );
    }

    #[test]
    fn a_long_failure_is_cut_between_letters() {
        let tail = late_failure(&"ä".repeat(LATE_TEXT_BYTES_MAX), "t");
        assert!(tail.len() < LATE_TEXT_BYTES_MAX + 100);
        assert!(std::str::from_utf8(&tail).is_ok());
    }

    #[test]
    fn tags_are_sixteen_letters_and_differ() {
        let (one, other) = (exception_tag(), exception_tag());
        assert!(one.len() == 16 && one.bytes().all(|byte| byte.is_ascii_lowercase()));
        assert_ne!(one, other);
    }

    #[test]
    fn the_summary_is_clickhouses() {
        let figures =
            Figures { read_rows: 1, written_bytes: 2, elapsed_seconds: 0.5, ..Figures::default() };
        assert_eq!(
            summary(figures, 3),
            r#"{"read_rows":"1","read_bytes":"0","written_rows":"0","written_bytes":"2","total_rows_to_read":"0","result_rows":"0","result_bytes":"3","elapsed_ns":"500000000"}"#
        );
    }
}
