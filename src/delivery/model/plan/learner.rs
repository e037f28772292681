//! Thompson sampling in batches: the variant of a message is drawn by the shares at the beginning of its epoch
//! (Chapelle & Li, NIPS 2011).

use std::time::Duration;

use campaigns::model::{
    CampaignKind,
    learning::{Learning, WAVE_GAP_MIN},
};
use kernel::{CampaignId, Timestamp, UserId, time::millis};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::split::{BUCKETS, hashed, salted};

/// Shares of a one-time audience in percent, sent one after the other, so that later waves use the results of earlier ones.
pub const WAVES: [u64; 4] = [10, 20, 30, 40];
/// The salt of a profile's wave.
const WAVE_SALT: &str = "wave";
/// Time between two updates of the rates.
const EPOCH: Duration = Duration::from_mins(15);
/// Messages of an epoch wait this long for the results of the previous one; after that they are sent without.
const RESULTS_WAIT_MAX: Duration = Duration::from_mins(1);
/// Waiting messages are checked again after this time.
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// Whether an epoch has ended whose results are not included yet. Epochs are counted from the beginning of the learning,
/// however long an update takes.
pub fn is_behind(learning: &Learning, now: Timestamp) -> bool {
    let start = learning.started_at;
    epochs(start, now) > epochs(start, learning.last_updated_at)
}

/// Whole epochs from a time to another, negative if the latter is earlier.
fn epochs(from: Timestamp, to: Timestamp) -> i64 {
    (to.millis() - from.millis()).div_euclid(millis(EPOCH))
}

#[derive(Debug, Clone)]
pub struct Learner {
    campaign: CampaignId,
    learning: Learning,
    /// The share of each variant, as reports show it.
    shares: Vec<f64>,
    has_waves: bool,
    wave_gap: Duration,
}

impl Learner {
    /// Draws by the shares that a campaign has learnt.
    pub fn of(campaign: CampaignId, learning: Learning, kind: CampaignKind) -> Self {
        let shares = learning.shares();
        let has_waves = kind == CampaignKind::OneTime;
        Self { campaign, learning, shares, has_waves, wave_gap: WAVE_GAP_MIN }
    }

    pub(super) const fn has_waves(&self) -> bool {
        self.has_waves
    }

    pub(super) const fn set_wave_gap(&mut self, gap: Duration) {
        self.wave_gap = gap;
    }

    /// The send time of a profile's message.
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
        begins.after(self.wave_gap * u32::try_from(wave.unwrap_or(0)).unwrap_or(0))
    }

    /// When to check again, if the results of the last wave are still to come.
    pub(super) fn waits(&self, now: Timestamp) -> Option<Timestamp> {
        let since = (now.millis() - self.learning.started_at.millis()).rem_euclid(millis(EPOCH));
        let is_worth_it =
            self.has_waves && since < millis(RESULTS_WAIT_MAX) && is_behind(&self.learning, now);
        is_worth_it.then(|| now.after(RECHECK_AFTER))
    }

    /// The id of the variant of a profile's message that is sent now. It is the same for the same campaign, profile and
    /// epoch, so that a draw can be reproduced.
    pub(super) fn draw(&self, user: UserId, now: Timestamp) -> &str {
        let epoch = epochs(Timestamp::from_millis(0), now);
        let seed = hashed(&format!("{}:{user}:{epoch}", self.campaign));
        let drawn: f64 = StdRng::seed_from_u64(seed).random();
        let mut end = 0.0;
        let at = self.shares.iter().position(|share| {
            end += share;
            drawn < end
        });
        // Rounding may leave a gap below 1.
        let at = at.or(self.shares.iter().rposition(|share| *share > 0.0)).unwrap_or(0);
        self.learning.arms.get(at).map_or("", |arm| arm.variant_id.as_str())
    }
}
