//! The limits of a listener.

use std::time::Duration;

use crate::http::requester::TrustedProxies;

/// Limits of a listener and its connections.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Most connections. At this number, a new one replaces the one that has been idle longest; while none is idle,
    /// it waits in the kernel's backlog.
    pub connections_max: usize,
    /// Most connections of one peer. At this number, a new one replaces the peer's own that has been idle longest;
    /// while none of them is idle, it is closed.
    pub peer_connections_max: usize,
    /// Least idle time of a connection that may be closed for a new one, so that an active client keeps its own.
    /// Below it a connection counts as busy.
    pub idle_min: Duration,
    /// Trusted proxies, which have no limit by peer.
    pub trusted_proxies: TrustedProxies,
    /// Longest wait for a whole request head, from its first byte (for the first one, from the start of the
    /// connection).
    pub head_max: Duration,
    /// Longest silence between requests. Above the 60 s of the usual load balancers, so that they close connections
    /// first.
    pub idle_max: Duration,
    /// Longest time in which a client reads nothing of its answer.
    pub stall_max: Duration,
    /// Longest drain on shutdown.
    pub drain_max: Duration,
    /// Largest request head, in bytes.
    pub head_bytes_max: usize,
    /// Most headers of a request (HTTP/1).
    pub headers_max: usize,
    /// Concurrent requests on one HTTP/2 connection.
    pub streams_max: u32,
    /// Flow-control window of one HTTP/2 request body, in bytes.
    pub stream_window_bytes: u32,
    /// Flow-control window of a whole HTTP/2 connection, in bytes.
    pub connection_window_bytes: u32,
    /// Interval of pings on a silent HTTP/2 connection.
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

/// The result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that did not finish in time.
    pub cut_off: usize,
}
