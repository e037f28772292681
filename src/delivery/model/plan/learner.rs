//! Thompson sampling in batches: a variant is drawn for each message by what was known when its epoch began
//! (Chapelle & Li, NIPS 2011; DELIVERY, "Bandit").

use campaigns::model::{
    CampaignKind,
    learning::{Arm, Learning, SENDS_MIN, Stage},
};
use kernel::{CampaignId, Timestamp, UserId};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use statistics::beta::Beta;

use super::split::{BUCKETS, hashed, salted};

/// Shares of a one-time audience, in percent, each of them an epoch after the one before: were all sent at
/// once, nothing learnt of the first could serve the last.
pub const WAVES: [u64; 4] = [10, 20, 30, 40];
/// The salt that says in which wave somebody is.
const WAVE_SALT: &str = "wave";
/// How long what is known stays the same, in milliseconds.
const EPOCH_MS: i64 = 15 * 60_000;

/// How long messages of an epoch wait for what the one before it taught, in milliseconds; should it not be
/// known by then, they leave without.
const PATIENCE_MS: i64 = 60_000;
/// How long until they ask again, in milliseconds.
const ASK_AGAIN_MS: i64 = 1_000;

/// Whether an epoch of a campaign that learns is over, and not yet taken in. Epochs are counted from the
/// beginning of its learning, however long it takes to take one in.
pub fn is_behind(learning: &Learning, now: Timestamp) -> bool {
    let epoch = |at: Timestamp| (at.millis() - learning.started_at.millis()).div_euclid(EPOCH_MS);
    epoch(now) > epoch(learning.last_updated_at)
}

#[derive(Debug, Clone)]
pub struct Learner {
    campaign: CampaignId,
    learning: Learning,
    rates: Vec<Beta>,
    has_waves: bool,
}

impl Learner {
    /// By what a campaign has learnt.
    pub fn of(campaign: CampaignId, learning: Learning, kind: CampaignKind) -> Self {
        let rates = learning.arms.iter().map(Arm::rate).collect();
        Self { campaign, learning, rates, has_waves: kind == CampaignKind::OneTime }
    }

    /// When somebody's message is to leave.
    pub(super) fn wave(&self, user: UserId, begins: Timestamp) -> Timestamp {
        if !self.has_waves {
            return begins;
        }
        let percent = salted(self.campaign, user, WAVE_SALT) * 100 / BUCKETS;
        let mut end = 0;
        let wave = WAVES.iter().position(|share| {
            end += share;
            percent < end
        });
        let epochs = i64::try_from(wave.unwrap_or(0)).unwrap_or(0);
        Timestamp::from_millis(begins.millis().saturating_add(epochs * EPOCH_MS))
    }

    /// When to ask again, where what the last wave taught is about to be known.
    pub(super) fn waits(&self, now: Timestamp) -> Option<Timestamp> {
        let since = (now.millis() - self.learning.started_at.millis()).rem_euclid(EPOCH_MS);
        let is_worth_it = self.has_waves && since < PATIENCE_MS && is_behind(&self.learning, now);
        is_worth_it.then(|| Timestamp::from_millis(now.millis() + ASK_AGAIN_MS))
    }

    /// The variant of somebody's message that leaves now, by its id. The same for the same campaign, person
    /// and epoch, so that a draw can be followed afterwards.
    pub(super) fn draw(&self, user: UserId, now: Timestamp) -> &str {
        let epoch = now.millis().div_euclid(EPOCH_MS);
        let seed = hashed(&format!("{}:{user}:{epoch}", self.campaign));
        let mut random = StdRng::seed_from_u64(seed);
        let arms = &self.learning.arms;
        let is_settled = self.learning.status == Stage::Converged;
        let at = if self.explores(&mut random, is_settled) {
            self.explored(&mut random)
        } else if is_settled {
            greatest(self.rates.iter().map(|rate| rate.mean()))
        } else {
            greatest(self.rates.iter().map(|rate| rate.draw(&mut random)))
        };
        arms.get(at).map_or("", |arm| arm.variant_id.as_str())
    }

    /// Whether this message is for exploring: each variant keeps its share. Where everything is known and
    /// nothing comes after, there is nothing to explore for.
    fn explores(&self, random: &mut StdRng, is_settled: bool) -> bool {
        if is_settled && self.has_waves {
            return false;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most eight variants")]
        let kept = self.learning.min_exploration_percent / 100.0 * self.learning.arms.len() as f64;
        random.random::<f64>() < kept
    }

    /// A variant of which little is known while there is one, else any.
    fn explored(&self, random: &mut StdRng) -> usize {
        let arms = &self.learning.arms;
        let unknown: Vec<usize> =
            (0..arms.len()).filter(|at| arms[*at].sends < SENDS_MIN).collect();
        let choice = if unknown.is_empty() { (0..arms.len()).collect() } else { unknown };
        choice[random.random_range(0..choice.len())]
    }
}

fn greatest(numbers: impl Iterator<Item = f64>) -> usize {
    let best = numbers.enumerate().max_by(|one, other| one.1.total_cmp(&other.1));
    best.map_or(0, |(at, _)| at)
}
