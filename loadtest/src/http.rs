//! One keep-alive HTTP/1 connection: no pool, no TLS, no redirects, so that the client costs little beside the server.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time};

use crate::target::Endpoint;

/// How long a connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a whole exchange may take before the connection is given up.
const EXCHANGE_TIMEOUT: Duration = Duration::from_mins(1);

/// A parameter of a query, by name, not encoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub value: &'a str,
}

impl<'a> Parameter<'a> {
    pub fn new(name: &'a str, value: &'a str) -> Self {
        Self { name, value }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// `Retry-After` in seconds form.
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

/// A connection that is opened at first use and again after it broke.
#[derive(Debug)]
pub struct Connection {
    endpoint: Endpoint,
    timeout: Duration,
    sender: Option<http1::SendRequest<Full<Bytes>>>,
    opened: u64,
}

impl Connection {
    /// A connection to `endpoint`, not yet open.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, timeout: EXCHANGE_TIMEOUT, sender: None, opened: 0 }
    }

    /// The same, waiting up to `timeout` for an answer.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Host and port, for the `Host` header.
    pub fn authority(&self) -> &str {
        &self.endpoint.authority
    }

    /// How often it was opened.
    pub fn times_opened(&self) -> u64 {
        self.opened
    }

    /// Opens the connection unless it is open.
    ///
    /// # Errors
    /// The peer does not accept.
    pub async fn open(&mut self) -> Result<()> {
        // An idle connection the server has closed is no failure of any request: it is opened anew.
        if self.sender.as_ref().is_some_and(|sender| !sender.is_closed()) {
            return Ok(());
        }
        let stream = time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&self.endpoint.authority))
            .await
            .with_context(|| format!("connecting to {} timed out", self.endpoint.authority))?
            .with_context(|| format!("cannot connect to {}", self.endpoint.authority))?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends when the sender is dropped or the peer closes; either way the sender reports it.
        tokio::spawn(async move { drop(driver.await) });
        self.sender = Some(sender);
        self.opened += 1;
        Ok(())
    }

    /// Sends one request and reads the whole answer.
    ///
    /// # Errors
    /// A broken connection or a timeout; the next exchange opens a new connection. Statuses are not errors.
    pub async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Answer> {
        let limit = self.timeout;
        let exchange = async {
            let response = self.send(request).await?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.context("the answer broke off")?.to_bytes();
            let retry_after = retry_after(&parts.headers);
            Ok(Answer { status: parts.status.as_u16(), retry_after, body })
        };
        let outcome = time::timeout(limit, exchange).await.context("no answer in time");
        let outcome = outcome.and_then(|inner| inner);
        if outcome.is_err() {
            self.sender = None;
        }
        outcome
    }

    /// Sends one request and leaves the body to be read in pieces; see [`Connection::exchange`] for the rest.
    ///
    /// # Errors
    /// A broken connection.
    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        self.open().await?;
        let sender = self.sender.as_mut().context("the connection is open")?;
        sender.ready().await.context("the connection was closed")?;
        sender.send_request(request).await.context("the exchange broke off")
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
