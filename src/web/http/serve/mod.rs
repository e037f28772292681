//! The accept loop: HTTP/1.1 and HTTP/2 without TLS, every wait bounded, drained on shutdown.
//!
//! What holds for each connection:
//! - its first bytes and every further head arrive within `head_max`;
//! - between requests it is silent for at most `idle_max`;
//! - a reader that takes nothing for `stall_max` is cut off (bodies coming in have their own
//!   limits, see `BodyBudget`);
//! - at the cap of its peer or of the listener it is closed in favour of a new one, if it is the one that is
//!   idle longest;
//! - on shutdown it finishes what it has begun, and is cut off at `drain_max`.

mod canned;
mod connections;
mod options;
mod timeouts;

pub use self::options::{Drained, ServeOptions};

use std::{future::Future, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use self::{
    connections::{ConnectionSlot, Connections, NoRoom, closed},
    timeouts::WatchedIo,
};
use super::front::Front;

/// Connections in the kernel's backlog while the server is busy accepting.
const BACKLOG: u32 = 4096;
/// Pause after an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on an address.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `shutdown` resolves, then drains. Returns when every connection is closed.
pub async fn serve(
    listener: TcpListener,
    front: Front,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send,
) -> Drained {
    let server = Arc::new(Server { builder: builder(&options), front, options });
    let mut acceptor = Acceptor::new(listener, &server.options);
    let (drain, draining) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = acceptor.next() => accepted,
        };
        connections.spawn(Arc::clone(&server).serve_connection(accepted, draining.clone()));
    }
    drop(acceptor);
    drain.send_replace(true);
    let all_closed = async { while connections.join_next().await.is_some() {} };
    let in_time = timeout(server.options.drain_max, all_closed).await.is_ok();
    let cut_off = connections.len();
    if !in_time {
        tracing::warn!(connections = cut_off, "cut connections off that did not finish in time");
        connections.shutdown().await;
    }
    Drained { cut_off }
}

/// A client connection with the slot that it takes.
struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    slot: ConnectionSlot,
}

/// Accepts connections while there is room.
struct Acceptor {
    listener: TcpListener,
    connections: Arc<Connections>,
    /// Accepted by the kernel, and waiting for room.
    waiting: Option<(TcpStream, SocketAddr)>,
}

impl Acceptor {
    fn new(listener: TcpListener, options: &ServeOptions) -> Self {
        Self { listener, connections: Connections::new(options), waiting: None }
    }

    /// The next connection, once there is room for it. Safe to cancel.
    async fn next(&mut self) -> Accepted {
        loop {
            let (stream, peer) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => self.accept().await,
            };
            match self.connections.admit(peer.ip()) {
                Ok(slot) => return Accepted { stream, peer, slot },
                Err(NoRoom::OfPeer) => drop(stream),
                Err(NoRoom::InAll) => {
                    self.waiting = Some((stream, peer));
                    self.connections.room().await;
                }
            }
        }
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(fault) if is_closed_by_client(&fault) => {}
                Err(fault) => {
                    tracing::error!(error = %fault, "cannot accept connections");
                    // The process may be out of file descriptors.
                    self.connections.close_longest_idle();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// The connection closed before it was accepted, which is not a fault of the server.
fn is_closed_by_client(fault: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(fault.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn builder(options: &ServeOptions) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // `ConnectionTimeouts` distinguish a slow head from an idle connection; hyper's timer does not.
    builder
        .http1()
        .header_read_timeout(None)
        .max_buf_size(options.head_bytes_max)
        .max_headers(options.headers_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(options.head_bytes_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(options.streams_max)
        .initial_stream_window_size(options.stream_window_bytes)
        .initial_connection_window_size(options.connection_window_bytes)
        .keep_alive_interval(options.ping_interval)
        .keep_alive_timeout(options.ping_interval);
    builder
}

struct Server {
    builder: Builder<TokioExecutor>,
    front: Front,
    options: ServeOptions,
}

impl Server {
    /// Serves one connection to its end.
    async fn serve_connection(
        self: Arc<Self>,
        Accepted { stream, peer, slot }: Accepted,
        mut draining: watch::Receiver<bool>,
    ) {
        // Answers are small and written at once; waiting for more data would only delay them.
        if let Err(fault) = stream.set_nodelay(true) {
            tracing::debug!(error = %fault, "connection was gone before it was served");
            return;
        }
        let timeouts = slot.timeouts();
        let front = self.front.clone().of_peer(peer.ip());
        let service = TowerToHyperService::new(timeouts::counted(front, Arc::clone(timeouts)));
        let io = TokioIo::new(WatchedIo::new(stream, Arc::clone(timeouts), self.front.clock()));
        let mut connection = pin!(self.builder.serve_connection(io, service));
        let mut is_closing = false;
        let mut overdue = pin!(timeouts.overdue(&self.options));
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(fault) = ended {
                        tracing::debug!(error = %fault, "connection ended early");
                    }
                    return;
                }
                reason = &mut overdue => {
                    let reason = reason.name();
                    tracing::debug!(reason, "connection cut off");
                    closed(reason);
                    return;
                }
                () = slot.must_close() => {
                    if timeouts.idle_since().is_some() {
                        return;
                    }
                    // A request has arrived in the meantime.
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                _ = draining.wait_for(|drain| *drain), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}
