//! The HTTP client of all providers: pooled, HTTP/1.1 and HTTP/2, TLS by rustls.
//!
//! It follows no redirect, reads no proxy setting, and bounds what it reads. A fault says whether the request may
//! have been received, because that decides whether it may be sent again.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{
        self,
        connect::{
            HttpConnector,
            dns::{GaiResolver, Name},
        },
    },
    rt::{TokioExecutor, TokioTimer},
};
use kernel::Timestamp;
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::time::Instant;
use tower::{ServiceExt as _, util::BoxCloneSyncService};

use crate::model::{Outcome, cut_to_line};

/// Bytes of an answer that are read; what comes after is left.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Time for a connection to stand before its TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Time between two pings of an HTTP/2 connection, so that a dead one is noticed.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Farthest future a `Retry-After` is believed.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// Finds the addresses of a host at the moment of connecting.
pub type Resolver = BoxCloneSyncService<
    Name,
    std::vec::IntoIter<SocketAddr>,
    Box<dyn std::error::Error + Send + Sync>,
>;

/// How a [`Client`] is made.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Whose certificates are believed.
    pub roots: Arc<RootCertStore>,
    /// Whether every server is spoken to in HTTP/2 without asking.
    pub http2_only: bool,
}

/// Makes calls. Cloned freely; all clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: legacy::Client<HttpsConnector<HttpConnector<Resolver>>, Watched>,
}

/// Statuses by which a server refuses the credentials of every call, not one message.
pub const CREDENTIALS_REFUSED: &[&str] = &["401", "403", "407"];

/// The code of a [`Fault`] that a resolver raised by [`Refused`].
pub const REFUSED: &str = "refused";

/// A resolver's refusal to call a host, with the reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body's first [`ANSWER_BYTES_MAX`], or what came before it broke off: the status stands.
    pub body: Bytes,
}

/// An answer whose body is read piece by piece, as much as comes.
#[derive(Debug)]
pub struct OpenAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `connection`, `timeout` or [`REFUSED`].
    pub code: &'static str,
    /// What happened, in a line.
    pub reason: String,
    /// Whether the whole request may have reached the other side.
    pub was_sent: bool,
}

/// The authorities that browsers believe, and those in `extra` (PEM).
pub fn roots(extra: Option<&[u8]>) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in extra.into_iter().flat_map(CertificateDer::pem_slice_iter) {
        let certificate =
            certificate.map_err(|error| anyhow::anyhow!("not a PEM certificate: {error}"))?;
        roots.add(certificate)?;
    }
    Ok(roots)
}

impl Client {
    /// A client that asks the system for addresses.
    pub fn new(options: &ClientOptions) -> Self {
        let system = GaiResolver::new()
            .map_response(|addresses| addresses.collect::<Vec<_>>().into_iter())
            .map_err(Into::into);
        Self::with_resolver(options, BoxCloneSyncService::new(system))
    }

    /// A client that asks `resolver` for addresses. Hosts that are addresses already are not asked for.
    pub fn with_resolver(options: &ClientOptions, resolver: Resolver) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("aws-lc speaks TLS 1.2 and 1.3")
            .with_root_certificates(Arc::clone(&options.roots))
            .with_no_client_auth();
        let https = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let https = if options.http2_only {
            https.enable_http2().wrap_connector(tcp)
        } else {
            https.enable_all_versions().wrap_connector(tcp)
        };
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http2_only(options.http2_only)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_while_idle(true)
            .build(https);
        Self { inner }
    }

    /// Makes one call, and returns the answer within `timeout`.
    pub async fn call(&self, request: Request<Bytes>, timeout: Duration) -> Result<Answer, Fault> {
        let deadline = Instant::now() + timeout;
        let response = self.send(request, timeout).await?;
        Ok(read(response, deadline).await)
    }

    /// Makes one call, and returns the answer once its head is there, within `timeout`.
    pub async fn open(
        &self,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<OpenAnswer, Fault> {
        let (head, body) = self.send(request, timeout).await?.into_parts();
        Ok(OpenAnswer { status: head.status, headers: head.headers, body })
    }

    async fn send(
        &self,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<Response<Incoming>, Fault> {
        // An empty body is never polled, so it counts as sent from the start.
        let taken = Arc::new(AtomicBool::new(request.body().is_empty()));
        let request =
            request.map(|body| Watched { bytes: Full::new(body), taken: Arc::clone(&taken) });
        match tokio::time::timeout(timeout, self.inner.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(match refused(&error) {
                Some(Refused(reason)) => {
                    Fault { code: REFUSED, reason: reason.clone(), was_sent: false }
                }
                None => Fault {
                    code: "connection",
                    reason: cut_to_line(&chain(&error)),
                    was_sent: !error.is_connect() && taken.load(Ordering::Acquire),
                },
            }),
            Err(_) => Err(Fault {
                code: "timeout",
                reason: format!("no answer within {} ms", timeout.as_millis()),
                was_sent: taken.load(Ordering::Acquire),
            }),
        }
    }
}

impl OpenAnswer {
    /// The next piece of the body, awaited for `timeout` at most; none at its end.
    ///
    /// # Errors
    /// When the body breaks off before its end, or stays away.
    pub async fn next(&mut self, timeout: Duration) -> Result<Option<Bytes>, Fault> {
        loop {
            let frame = tokio::time::timeout(timeout, self.body.frame()).await;
            let frame = frame.map_err(|_| Fault {
                code: "timeout",
                reason: format!("nothing came for {} ms", timeout.as_millis()),
                was_sent: true,
            })?;
            match frame.transpose() {
                Ok(Some(frame)) => {
                    // Trailers are left out.
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Ok(None) => return Ok(None),
                Err(error) => {
                    let reason = cut_to_line(&chain(&error));
                    return Err(Fault { code: "connection", reason, was_sent: true });
                }
            }
        }
    }
}

impl Fault {
    /// The outcome of a message whose call must not be made twice.
    pub fn once(self) -> Outcome {
        if self.was_sent {
            Outcome::Unknown { reason: format!("{}: {}", self.code, self.reason) }
        } else {
            self.again()
        }
    }

    /// The outcome of a message whose call may be repeated, because the other side recognises repeats.
    pub fn again(self) -> Outcome {
        Outcome::Retry { code: self.code.to_owned(), reason: self.reason, after: None }
    }
}

impl Answer {
    /// What a status of 300 and above means for the message: 408, 429 and 5xx ask for another try,
    /// anything else is final.
    pub fn refusal(&self, code: String, reason: &str, now: Timestamp) -> Outcome {
        let reason = cut_to_line(reason);
        if self.is_temporary() {
            Outcome::Retry { code, reason, after: retry_after(&self.headers, now) }
        } else {
            Outcome::Rejected { code, reason, effect: None }
        }
    }

    /// Whether the status asks for another try.
    pub fn is_temporary(&self) -> bool {
        self.status.is_server_error()
            || matches!(self.status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
    }

    /// The body as text, what is no UTF-8 replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON of that shape, if it is.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// When the other side wants to be asked again: RFC 9110 10.2.3, seconds or a date.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    let after = if let Ok(seconds) = text.parse::<u64>() {
        Duration::from_secs(seconds)
    } else {
        let at = Timestamp::from(chrono::DateTime::parse_from_rfc2822(text).ok()?.to_utc());
        Duration::from_millis(u64::try_from(at.millis() - now.millis()).unwrap_or(0))
    };
    Some(after.min(RETRY_AFTER_MAX))
}

/// Reads an answer's body up to its bound and the deadline.
async fn read(response: Response<Incoming>, deadline: Instant) -> Answer {
    let (head, mut body) = response.into_parts();
    let mut read = BytesMut::new();
    while let Ok(Some(Ok(frame))) = tokio::time::timeout_at(deadline, body.frame()).await {
        let Ok(data) = frame.into_data() else { continue };
        let room = ANSWER_BYTES_MAX - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
        if read.len() == ANSWER_BYTES_MAX {
            break;
        }
    }
    Answer { status: head.status, headers: head.headers, body: read.freeze() }
}

/// The resolver's refusal among an error's causes.
fn refused(error: &dyn std::error::Error) -> Option<&Refused> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        cause = error.source();
    }
    None
}

/// An error and all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A body that knows whether it was taken: until then the other side cannot have the whole request.
#[derive(Debug)]
struct Watched {
    bytes: Full<Bytes>,
    taken: Arc<AtomicBool>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.taken.store(true, Ordering::Release);
        Pin::new(&mut self.bytes).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}

#[cfg(test)]
mod tests;
