//! Limits of attempts that fail, by peer. An attempt counts from its beginning and is given back once it has succeeded, so
//! that the limit holds for attempts that come at once, too. Lookups, of which many are in flight and few fail, are limited by
//! [`failures`](super::failures) instead.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::{Error, Result};
use parking_lot::Mutex;

use super::requester::{Client, PeerKey};

/// The time in which all attempts of a peer return.
const WINDOW: Duration = Duration::from_mins(1);
/// Peers remembered before those with all of their attempts are removed.
const PEERS_MIN: usize = 4_096;

/// The attempts that peers have. Clones share the counts.
#[derive(Debug, Clone)]
pub struct AttemptRate(Arc<Attempts>);

#[derive(Debug)]
struct Attempts {
    /// The limit's name in metrics.
    name: &'static str,
    /// The time in which one attempt returns.
    interval: Duration,
    peers: Mutex<Peers>,
}

#[derive(Debug)]
struct Peers {
    /// When each peer will have all of its attempts again.
    full_at: HashMap<PeerKey, Instant>,
    /// So many peers are looked through next.
    sweep_at: usize,
}

/// An attempt that has begun. It counts as failed unless it is given back.
#[derive(Debug)]
#[must_use = "an attempt that is dropped counts as failed"]
pub struct BegunAttempt {
    attempts: Arc<Attempts>,
    client: Client,
}

impl BegunAttempt {
    /// The attempt succeeded, or nothing was tried after all.
    pub fn give_back(self) {
        if let Client(Some(peer)) = self.client {
            self.attempts.peers.lock().give_back(peer, self.attempts.interval, Instant::now());
        }
    }
}

impl AttemptRate {
    /// So many attempts a minute may fail. `name` is the limit's name in metrics.
    pub fn per_minute(name: &'static str, attempts: NonZeroU32) -> Self {
        let peers = Peers { full_at: HashMap::new(), sweep_at: PEERS_MIN };
        let interval = WINDOW / attempts.get();
        Self(Arc::new(Attempts { name, interval, peers: Mutex::new(peers) }))
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// 429 when the client has none left, those in flight included.
    pub fn begin(&self, client: Client) -> Result<BegunAttempt> {
        if let Client(Some(peer)) = client {
            let taken = self.0.peers.lock().take(peer, self.0.interval, Instant::now());
            taken.map_err(|wait| self.throttled(wait))?;
        }
        Ok(BegunAttempt { attempts: Arc::clone(&self.0), client })
    }

    /// Whether the client has an attempt left, for attempts that cannot be guessed and are counted once they have failed.
    ///
    /// # Errors
    /// 429 when the client has none left.
    pub fn check(&self, client: Client) -> Result<()> {
        let Client(Some(peer)) = client else { return Ok(()) };
        let wait = self.0.peers.lock().wait(peer, self.0.interval, Instant::now());
        if wait.is_zero() { Ok(()) } else { Err(self.throttled(wait)) }
    }

    /// Counts an attempt of the client that failed.
    pub fn count(&self, client: Client) {
        if let Client(Some(peer)) = client {
            // With none left there is nothing to take.
            let _ = self.0.peers.lock().take(peer, self.0.interval, Instant::now());
        }
    }

    fn throttled(&self, retry_after: Duration) -> Error {
        metrics_catalogue::HTTP_REQUESTS_THROTTLED.with([self.0.name]).increment(1);
        Error::Throttled { retry_after }
    }
}

impl Peers {
    /// How long the peer has no attempt left.
    fn wait(&self, peer: PeerKey, interval: Duration, now: Instant) -> Duration {
        let full_at = self.full_at.get(&peer).copied().unwrap_or(now).max(now);
        (full_at + interval).saturating_duration_since(now + WINDOW)
    }

    /// Takes an attempt of the peer; without one the wait for the next.
    fn take(
        &mut self,
        peer: PeerKey,
        interval: Duration,
        now: Instant,
    ) -> std::result::Result<(), Duration> {
        let wait = self.wait(peer, interval, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        if self.full_at.len() >= self.sweep_at {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.sweep_at = PEERS_MIN.max(self.full_at.len().saturating_mul(2));
        }
        let full_at = self.full_at.entry(peer).or_insert(now);
        *full_at = (*full_at).max(now) + interval;
        Ok(())
    }

    fn give_back(&mut self, peer: PeerKey, interval: Duration, now: Instant) {
        let Some(full_at) = self.full_at.get_mut(&peer) else { return };
        match full_at.checked_sub(interval) {
            Some(earlier) if earlier > now => *full_at = earlier,
            _ => {
                self.full_at.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(12);

    fn peers() -> Peers {
        Peers { full_at: HashMap::new(), sweep_at: PEERS_MIN }
    }

    fn peer(last: u32) -> PeerKey {
        PeerKey::of(std::net::IpAddr::from(last.to_be_bytes()))
    }

    fn client(last: u32) -> Client {
        Client(Some(peer(last)))
    }

    #[test]
    fn attempts_in_flight_count_until_they_are_given_back() {
        let rate = AttemptRate::per_minute("test", NonZeroU32::new(5).unwrap());
        let begun: Vec<BegunAttempt> = (0..50).filter_map(|_| rate.begin(client(1)).ok()).collect();
        assert_eq!(begun.len(), 5, "none of them has failed yet");
        assert!(rate.check(client(1)).is_err() && rate.check(client(2)).is_ok());
        let mut begun = begun.into_iter();
        begun.next().unwrap().give_back();
        assert!(rate.check(client(1)).is_ok());
        rate.count(client(1));
        assert!(rate.begin(client(1)).is_err(), "one was counted in its stead");
        drop(begun);
        assert!(rate.begin(client(1)).is_err(), "those that are dropped have failed");
        assert!((0..50).all(|_| rate.begin(Client(None)).is_ok()));
    }

    #[test]
    fn attempts_return_one_by_one() {
        let (mut peers, now) = (peers(), Instant::now());
        assert_eq!((0..9).filter(|_| peers.take(peer(1), INTERVAL, now).is_ok()).count(), 5);
        assert_eq!(peers.take(peer(1), INTERVAL, now), Err(INTERVAL));
        let later = now + Duration::from_secs(5);
        assert_eq!(peers.wait(peer(1), INTERVAL, later), Duration::from_secs(7));
        let later = now + INTERVAL;
        assert_eq!(peers.take(peer(1), INTERVAL, later), Ok(()));
        assert!(peers.take(peer(1), INTERVAL, later).is_err());
        let later = now + Duration::from_hours(1);
        assert_eq!((0..9).filter(|_| peers.take(peer(1), INTERVAL, later).is_ok()).count(), 5);
    }

    #[test]
    fn what_is_given_back_makes_no_more_than_all() {
        let (mut peers, now) = (peers(), Instant::now());
        for _ in 0..3 {
            assert_eq!(peers.take(peer(1), INTERVAL, now), Ok(()));
            peers.give_back(peer(1), INTERVAL, now);
            peers.give_back(peer(1), INTERVAL, now);
        }
        assert!(peers.full_at.is_empty());
        assert_eq!((0..9).filter(|_| peers.take(peer(1), INTERVAL, now).is_ok()).count(), 5);
    }

    #[test]
    fn peers_with_all_of_their_attempts_are_forgotten() {
        let (mut peers, now) = (peers(), Instant::now());
        for last in 0..20_000 {
            let later = now + Duration::from_millis(last.into());
            assert_eq!(peers.take(peer(last), INTERVAL, later), Ok(()));
        }
        // Those of the last 12 seconds, and as many again at most.
        assert!(peers.full_at.len() <= 24_000, "{}", peers.full_at.len());
        assert_eq!(peers.take(peer(1), INTERVAL, now + Duration::from_hours(1)), Ok(()));
        for last in 20_000..44_001 {
            let later = now + Duration::from_hours(1);
            assert_eq!(peers.take(peer(last), INTERVAL, later), Ok(()));
        }
        assert!(peers.full_at.len() <= 24_002, "{}", peers.full_at.len());
    }
}
