//! The open connections of a listener: their number in all and by peer, and which of them is closed when there
//! is no room for a new one.
//!
//! A connection is idle while it serves no request and has nothing left to write. That includes one without any
//! request yet, one whose request head is incomplete, and one between two requests. At a limit, the connection
//! that has been idle longest is closed, if it has been idle longer than an active client pauses.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use metrics_catalogue::handle::Gauge;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    super::requester::{PeerKey, TrustedProxies},
    options::ServeOptions,
    timeouts::ConnectionTimeouts,
};

/// Idle connections that one scan finds to close, so that a flood of new connections does not scan all of them
/// each time.
const IDLE_PER_SCAN: usize = 64;
/// How often a listener without room scans for idle connections.
const SCAN_INTERVAL: Duration = Duration::from_millis(10);

/// The open connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    total_max: usize,
    per_peer_max: usize,
    idle_min: Duration,
    proxies: TrustedProxies,
    open: Mutex<Open>,
    /// Notified when a connection ends.
    ended: Notify,
    gauge: Gauge,
}

#[derive(Debug, Default)]
struct Open {
    by_peer: HashMap<PeerKey, HashMap<u64, Arc<Connection>>>,
    total: usize,
    next_id: u64,
    /// The connections that were idle longest at the last scan, the longest last.
    idle: Vec<Idle>,
}

/// A connection that was idle when it was scanned.
#[derive(Debug, Clone, Copy)]
struct Idle {
    peer: PeerKey,
    id: u64,
    since: Instant,
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
struct Connection {
    timeouts: Arc<ConnectionTimeouts>,
    close: Notify,
}

/// Why a connection is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// All connections that its peer may have are busy.
    OfPeer,
    /// All connections are busy.
    InAll,
}

/// The slot of an open connection; released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    peer: PeerKey,
    id: u64,
}

impl ConnectionSlot {
    /// The timeouts of its connection.
    pub(super) fn timeouts(&self) -> &Arc<ConnectionTimeouts> {
        &self.connection.timeouts
    }

    /// Resolves when the connection has to close for a new one.
    pub(super) async fn must_close(&self) {
        self.connection.close.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if self.connections.open.lock().remove(self.peer, self.id).is_some() {
            self.connections.gauge.decrement(1.0);
        }
        self.connections.ended.notify_one();
    }
}

impl Connections {
    pub(super) fn new(options: &ServeOptions) -> Arc<Self> {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
        metrics_catalogue::HTTP_CONNECTIONS_LIMIT.set(options.connections_max as f64);
        Arc::new(Self {
            total_max: options.connections_max,
            per_peer_max: options.peer_connections_max,
            idle_min: options.idle_min,
            proxies: options.trusted_proxies.clone(),
            open: Mutex::default(),
            ended: Notify::new(),
            gauge: metrics_catalogue::HTTP_CONNECTIONS.handle(),
        })
    }

    /// Accepts a connection from this address; an idle one may be closed for it.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionSlot, NoRoom> {
        let peer = PeerKey::of(address);
        let mut open = self.open.lock();
        let of_peer = open.by_peer.get(&peer).map_or(0, HashMap::len);
        if of_peer >= self.per_peer_max && !self.proxies.include(address.to_canonical()) {
            let idle = open.longest_idle_of(peer, self.idle_min).ok_or_else(|| {
                metrics_catalogue::HTTP_CONNECTIONS_REFUSED.increment(1);
                NoRoom::OfPeer
            })?;
            self.close(&mut open, idle, "peer_cap");
        }
        if open.total >= self.total_max {
            let idle = open.longest_idle(self.idle_min).ok_or(NoRoom::InAll)?;
            self.close(&mut open, idle, "cap");
        }
        let connection = Arc::new(Connection {
            timeouts: Arc::new(ConnectionTimeouts::new()),
            close: Notify::new(),
        });
        let id = open.insert(peer, Arc::clone(&connection));
        self.gauge.increment(1.0);
        Ok(ConnectionSlot { connections: Arc::clone(self), connection, peer, id })
    }

    /// Closes the connection that has been idle longest, when the process has no file descriptor for a new one.
    pub(super) fn close_longest_idle(&self) {
        let mut open = self.open.lock();
        if let Some(idle) = open.longest_idle(self.idle_min) {
            self.close(&mut open, idle, "cap");
        }
    }

    /// Waits until there may be room again.
    pub(super) async fn room(&self) {
        // There is no notification of a connection that becomes idle.
        let _ = tokio::time::timeout(SCAN_INTERVAL, self.ended.notified()).await;
    }

    /// Removes a connection from the counts and signals it to close.
    fn close(&self, open: &mut Open, idle: Idle, reason: &'static str) {
        if let Some(connection) = open.remove(idle.peer, idle.id) {
            self.gauge.decrement(1.0);
            connection.close.notify_one();
            closed(reason);
        }
    }
}

/// Counts a connection that this server closed.
pub(super) fn closed(reason: &'static str) {
    metrics_catalogue::HTTP_CONNECTIONS_CLOSED.with([reason]).increment(1);
}

impl Open {
    fn insert(&mut self, peer: PeerKey, connection: Arc<Connection>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.by_peer.entry(peer).or_default().insert(id, connection);
        self.total += 1;
        id
    }

    fn remove(&mut self, peer: PeerKey, id: u64) -> Option<Arc<Connection>> {
        let of_peer = self.by_peer.get_mut(&peer)?;
        let connection = of_peer.remove(&id)?;
        if of_peer.is_empty() {
            self.by_peer.remove(&peer);
        }
        self.total -= 1;
        Some(connection)
    }

    fn longest_idle_of(&self, peer: PeerKey, idle_min: Duration) -> Option<Idle> {
        idle_of(peer, self.by_peer.get(&peer)?, idle_min).min_by_key(|idle| idle.since)
    }

    fn longest_idle(&mut self, idle_min: Duration) -> Option<Idle> {
        if let Some(idle) = self.next_found() {
            return Some(idle);
        }
        let all = self.by_peer.iter();
        self.idle = all.flat_map(|(peer, of_peer)| idle_of(*peer, of_peer, idle_min)).collect();
        if self.idle.len() > IDLE_PER_SCAN {
            self.idle.select_nth_unstable_by_key(IDLE_PER_SCAN, |idle| idle.since);
            self.idle.truncate(IDLE_PER_SCAN);
        }
        self.idle.sort_unstable_by_key(|idle| std::cmp::Reverse(idle.since));
        self.next_found()
    }

    /// The next connection found earlier that is still idle.
    fn next_found(&mut self) -> Option<Idle> {
        while let Some(idle) = self.idle.pop() {
            let connection = self.by_peer.get(&idle.peer).and_then(|all| all.get(&idle.id));
            if connection.is_some_and(|found| found.timeouts.idle_since() == Some(idle.since)) {
                return Some(idle);
            }
        }
        None
    }
}

fn idle_of(
    peer: PeerKey,
    connections: &HashMap<u64, Arc<Connection>>,
    idle_min: Duration,
) -> impl Iterator<Item = Idle> {
    let now = Instant::now();
    connections.iter().filter_map(move |(id, connection)| {
        let since = connection.timeouts.idle_since()?;
        let is_old = now.saturating_duration_since(since) >= idle_min;
        is_old.then_some(Idle { peer, id: *id, since })
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn connections(connections_max: usize, peer_connections_max: usize) -> Arc<Connections> {
        Connections::new(&ServeOptions {
            connections_max,
            peer_connections_max,
            idle_min: Duration::ZERO,
            trusted_proxies: TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]),
            ..ServeOptions::default()
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// A slot created after all others so far.
    fn later(connections: &Arc<Connections>, from: &str) -> ConnectionSlot {
        std::thread::sleep(Duration::from_millis(2));
        connections.admit(address(from)).unwrap()
    }

    fn has_to_close(slot: &ConnectionSlot) -> bool {
        slot.must_close().now_or_never().is_some()
    }

    #[test]
    fn at_the_cap_the_longest_idle_makes_room_and_no_busy_one() {
        let connections = connections(3, 100);
        let busy = later(&connections, "192.0.2.1");
        let serving = busy.timeouts().begin_for_test();
        let idle: Vec<ConnectionSlot> =
            ["192.0.2.2", "192.0.2.3"].map(|from| later(&connections, from)).into();
        let fourth = later(&connections, "192.0.2.4");
        assert!(has_to_close(&idle[0]));
        let others = [&busy, &idle[1], &fourth];
        assert!(!others.into_iter().any(has_to_close));
        assert_eq!(connections.open.lock().total, 3);
        let serving_too = [idle[1].timeouts().begin_for_test(), fourth.timeouts().begin_for_test()];
        assert_eq!(connections.admit(address("192.0.2.5")).unwrap_err(), NoRoom::InAll);
        drop((serving, serving_too));
        let fifth = later(&connections, "192.0.2.5");
        assert!([&busy, &idle[1], &fourth].into_iter().any(has_to_close));
        drop((busy, idle, fourth, fifth));
        let open = connections.open.lock();
        assert_eq!((open.total, open.by_peer.len()), (0, 0));
    }

    #[test]
    fn a_peer_at_its_cap_makes_room_out_of_its_own_connections() {
        let connections = connections(100, 2);
        let other = later(&connections, "192.0.2.9");
        let first = later(&connections, "192.0.2.1");
        let second = later(&connections, "192.0.2.1");
        assert!(!has_to_close(&first));
        let third = later(&connections, "192.0.2.1");
        assert!(has_to_close(&first) && !has_to_close(&other));
        let busy = [second.timeouts().begin_for_test(), third.timeouts().begin_for_test()];
        assert_eq!(connections.admit(address("192.0.2.1")).unwrap_err(), NoRoom::OfPeer);
        drop(busy);
    }

    #[test]
    fn a_connection_that_was_busy_a_moment_ago_stays() {
        let options = ServeOptions {
            connections_max: 2,
            idle_min: Duration::from_hours(1),
            ..ServeOptions::default()
        };
        let connections = Connections::new(&options);
        let _two = ["192.0.2.1", "192.0.2.2"].map(|from| later(&connections, from));
        assert_eq!(connections.admit(address("192.0.2.3")).unwrap_err(), NoRoom::InAll);
    }

    #[test]
    fn a_trusted_proxy_has_no_cap_of_its_own() {
        let connections = connections(100, 2);
        let slots: Vec<ConnectionSlot> =
            (0..10).map(|_| connections.admit(address("10.1.2.3")).unwrap()).collect();
        assert!(!slots.iter().any(has_to_close));
        let mapped: Vec<ConnectionSlot> =
            (0..10).map(|_| connections.admit(address("::ffff:10.1.2.4")).unwrap()).collect();
        assert!(!mapped.iter().any(has_to_close));
    }

    #[test]
    fn among_many_the_longest_idle_go_first() {
        const CAP: usize = 300;
        let connections = connections(CAP, CAP);
        let mut slots: Vec<ConnectionSlot> =
            (0..CAP).map(|_| connections.admit(address("192.0.2.1")).unwrap()).collect();
        std::thread::sleep(Duration::from_millis(5));
        let newer: Vec<ConnectionSlot> =
            (0..CAP / 2).map(|_| connections.admit(address("192.0.2.2")).unwrap()).collect();
        assert_eq!(connections.open.lock().total, CAP);
        assert_eq!(slots.iter().filter(|slot| has_to_close(slot)).count(), CAP / 2);
        assert!(!newer.iter().any(has_to_close));
        slots.clear();
        assert_eq!(connections.open.lock().total, CAP / 2);
    }
}
