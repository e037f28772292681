//! The limits of a listener.

use std::time::Duration;

use crate::http::requester::TrustedProxies;

/// Limits of a listener and its connections.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Connections at a time. At that, a new one takes the place of the one that is idle longest; while
    /// none is idle it waits in the kernel's backlog.
    pub connections_max: usize,
    /// Connections at a time of one peer. At that, a new one takes the place of the peer's own that is
    /// idle longest; while none of them is idle it is closed.
    pub peer_connections_max: usize,
    /// How long a connection has been idle at least when it is closed for a new one, so that a caller at
    /// work keeps its own. A younger one is busy as far as these limits go.
    pub idle_min: Duration,
    /// Peers that have no limit of their own.
    pub trusted_proxies: TrustedProxies,
    /// Longest wait for a whole request head, from its first byte (from the start of the
    /// connection for the first one).
    pub head_max: Duration,
    /// Longest silence between requests. Above the 60 s of the usual load balancers, so that they
    /// and not we close first.
    pub idle_max: Duration,
    /// Longest time a caller may take none of its answer.
    pub stall_max: Duration,
    /// Longest drain on shutdown.
    pub drain_max: Duration,
    /// Largest request head, in bytes.
    pub head_bytes_max: usize,
    /// Most headers of a request (HTTP/1).
    pub headers_max: usize,
    /// Requests at a time on one HTTP/2 connection.
    pub streams_max: u32,
    /// Bytes of one HTTP/2 request body that may be on their way unread.
    pub stream_window_bytes: u32,
    /// Likewise for a whole HTTP/2 connection.
    pub connection_window_bytes: u32,
    /// How often a silent HTTP/2 connection is asked whether it still lives.
    pub ping_interval: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            connections_max: 8192,
            peer_connections_max: 1000,
            idle_min: Duration::from_millis(100),
            trusted_proxies: TrustedProxies::default(),
            head_max: Duration::from_secs(10),
            idle_max: Duration::from_secs(75),
            stall_max: Duration::from_secs(30),
            drain_max: Duration::from_secs(20),
            head_bytes_max: 128 << 10,
            headers_max: 100,
            streams_max: 256,
            stream_window_bytes: 256 << 10,
            connection_window_bytes: 1 << 20,
            ping_interval: Duration::from_secs(20),
        }
    }
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that did not finish in time.
    pub cut_off: usize,
}
