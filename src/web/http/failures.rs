//! Limits of failed lookups, by peer. Each lookup costs a query, and a peer could send any number of invented
//! names. Successful lookups do not count.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::Result;
use parking_lot::Mutex;

use super::{
    rate::{Class, Rate, RateLimitStatus},
    requester::{Client, PeerKey},
};

/// Peers remembered before those whose wait is over are removed.
const EXHAUSTED_MAX: usize = 4_096;

/// The rate limit of failed lookups of a peer. Clones share the counts.
#[derive(Debug, Clone)]
pub struct FailureRate(Option<Arc<Failures>>);

#[derive(Debug)]
struct Failures {
    class: Arc<Class>,
    /// Peers that have used up their rate, and when each may look up again.
    exhausted: Mutex<HashMap<PeerKey, Instant>>,
}

impl FailureRate {
    pub const NONE: Self = Self(None);

    /// `name` is the limit's name in metrics; a rate of 0 a second is no limit.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        Self(Class::new(name, rate).map(Failures::of))
    }

    /// Likewise, of so many failures a minute.
    pub fn per_minute(name: &'static str, failures: NonZeroU32) -> Self {
        Self(Some(Failures::of(Class::per_minute(name, failures))))
    }

    /// Must be called before a lookup that may fail.
    ///
    /// # Errors
    /// 429 when too many lookups of the client failed.
    pub fn check(&self, client: Client) -> Result<()> {
        let (Some(failures), Client(Some(peer))) = (&self.0, client) else { return Ok(()) };
        let reset = failures.wait(peer);
        if reset.is_zero() {
            return Ok(());
        }
        Err(failures.class.throttled(RateLimitStatus { remaining: 0, reset }))
    }

    /// Counts a failed lookup of the client.
    pub fn count(&self, client: Client) {
        if let (Some(failures), Client(Some(peer))) = (&self.0, client) {
            failures.count(peer);
        }
    }
}

impl Failures {
    fn of(class: Arc<Class>) -> Arc<Self> {
        Arc::new(Self { class, exhausted: Mutex::default() })
    }

    /// How long the peer may not look up anything.
    fn wait(&self, peer: PeerKey) -> Duration {
        let mut exhausted = self.exhausted.lock();
        let Some(until) = exhausted.get(&peer) else { return Duration::ZERO };
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            exhausted.remove(&peer);
        }
        wait
    }

    fn count(&self, peer: PeerKey) {
        let wait = match self.class.take(peer) {
            Ok(status) if status.remaining > 0 => return,
            Ok(_) => self.class.interval(),
            // Several concurrent lookups may fail on the last token.
            Err(status) => status.reset,
        };
        let now = Instant::now();
        let mut exhausted = self.exhausted.lock();
        if exhausted.len() >= EXHAUSTED_MAX {
            exhausted.retain(|_, until| *until > now);
        }
        exhausted.insert(peer, now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Client {
        Client(Some(PeerKey::of(address.parse().unwrap())))
    }

    #[test]
    fn failed_lookups_use_up_a_peers_rate_and_successful_ones_do_not() {
        let rate = FailureRate::new("test", Rate { per_second: 1, burst: 50 });
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        assert!((0..5_000).all(|_| rate.check(one).is_ok()), "nothing failed");
        let failed = (0..5_000).take_while(|_| {
            let may = rate.check(one).is_ok();
            rate.count(one);
            may
        });
        // Tokens return while the test runs, so a few more than the burst may fail.
        let failed = failed.count();
        assert!((50..5_000).contains(&failed), "{failed}");
        assert!(rate.check(one).is_err());
        assert!(rate.check(other).is_ok());
        assert!(rate.check(Client(None)).is_ok());
        let none = FailureRate::new("test", Rate { per_second: 0, burst: 0 });
        (0..5_000).for_each(|_| none.count(one));
        assert!(none.check(one).is_ok());
    }

    #[test]
    fn a_peer_may_fail_again_after_its_wait_and_is_removed() {
        let rate = FailureRate::new("test", Rate { per_second: 100, burst: 100 });
        let one = client("192.0.2.1");
        (0..200).for_each(|_| rate.count(one));
        let begun = Instant::now();
        while rate.check(one).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(rate.0.unwrap().exhausted.lock().is_empty());
    }
}
