//! Simulated campaigns: people are sent variants by the learnt shares, and are rewarded after random delays.
#![expect(clippy::cast_precision_loss, reason = "thousands of messages")]

use kernel::{CampaignId, Timestamp};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use statistics::delay::{AgeGroup, CLOSED, interval_of};

use super::{Learning, Plan, Stage, usual_delays};
use crate::model::variant::Variant;

const MINUTE: f64 = 60_000.0;
const EPOCH: f64 = 15.0 * MINUTE;
const WINDOW: f64 = 24.0 * 60.0 * MINUTE;
/// Delays are exponential with this mean, about as those of clicks in emails.
const MEAN_DELAY: f64 = 60.0 * MINUTE;

/// A message of a simulated campaign.
struct Sent {
    arm: usize,
    at: f64,
    /// When it is rewarded, if ever.
    rewarded_at: Option<f64>,
}

struct Simulated {
    learning: Learning,
    random: StdRng,
    rates: Vec<f64>,
    sent: Vec<Sent>,
    id: CampaignId,
}

impl Simulated {
    fn new(rates: &[f64], is_one_time: bool, seed: u64) -> Self {
        let variant = |at: usize| Variant {
            id: format!("v{at}"),
            name: format!("v{at}"),
            weight: 1.0,
            message: None,
            custom_content: None,
            is_control_group: None,
        };
        let variants: Vec<Variant> = (0..rates.len()).map(variant).collect();
        let learning =
            Learning::begin(Plan::default(), &variants, Timestamp::from_millis(0)).unwrap();
        Self {
            learning: Learning { is_one_time, ..learning },
            random: StdRng::seed_from_u64(seed),
            rates: rates.to_vec(),
            sent: Vec::new(),
            id: CampaignId::new(uuid::Uuid::from_u128(u128::from(seed))),
        }
    }

    fn send(&mut self, messages: u32, from: f64, over: f64) {
        let shares = self.learning.shares();
        for _ in 0..messages {
            let mut left: f64 = self.random.random();
            let arm = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            let arm = arm.unwrap_or(shares.len() - 1);
            let at = from + over * self.random.random::<f64>();
            let delay = -MEAN_DELAY * (-self.random.random::<f64>()).ln_1p();
            let is_rewarded = self.random.random_bool(self.rates[arm]) && delay <= WINDOW;
            self.sent.push(Sent { arm, at, rewarded_at: is_rewarded.then_some(at + delay) });
        }
    }

    fn learn(&mut self, now: f64, usual: Option<&statistics::delay::DelayDistribution>) {
        let mut groups =
            vec![std::collections::HashMap::<(u8, Option<u8>), u64>::new(); self.rates.len()];
        #[expect(clippy::cast_possible_truncation, reason = "days in milliseconds")]
        for sent in self.sent.iter().filter(|sent| sent.at <= now) {
            let age =
                if now - sent.at >= WINDOW { CLOSED } else { interval_of((now - sent.at) as i64) };
            let seen = sent.rewarded_at.filter(|at| *at <= now);
            let delay = seen.map(|at| interval_of((at - sent.at) as i64));
            *groups[sent.arm].entry((age, delay)).or_default() += 1;
        }
        let group = |((age, delay), messages)| AgeGroup { age, delay, messages };
        let observed: Vec<Vec<AgeGroup>> =
            groups.into_iter().map(|own| own.into_iter().map(group).collect()).collect();
        #[expect(clippy::cast_possible_truncation, reason = "days in milliseconds")]
        let now = Timestamp::from_millis(now as i64);
        self.learning.learn(&observed, usual, self.id, now);
    }

    /// Share of the messages that were sent with an arm.
    fn share_of(&self, arm: usize) -> f64 {
        let own = self.sent.iter().filter(|sent| sent.arm == arm).count();
        own as f64 / self.sent.len() as f64
    }

    fn covers(&self) -> usize {
        let estimates = self.learning.estimates();
        let is_covered = |at: &usize| {
            let (lower, upper) = estimates[*at].interval;
            (lower..=upper).contains(&self.rates[*at])
        };
        (0..self.rates.len()).filter(is_covered).count()
    }
}

/// How long rewards took in an earlier campaign.
fn usual() -> statistics::delay::DelayDistribution {
    let mut earlier = Simulated::new(&[0.3, 0.3], false, 99);
    earlier.send(20_000, 0.0, 1.0);
    earlier.learn(2.0 * WINDOW, None);
    usual_delays([&earlier.learning.delays]).unwrap()
}

/// A campaign to 20,000 people in waves, the gap of them half of the mean delay and more.
fn one_time(rates: &[f64], seed: u64) -> Simulated {
    let usual = usual();
    let gap = super::wave_gap(Some(&usual), std::time::Duration::from_hours(24)).as_millis() as f64;
    let mut simulated = Simulated::new(rates, true, seed);
    for (wave, people) in [2_000, 4_000, 6_000, 8_000].into_iter().enumerate() {
        let begins = wave as f64 * gap;
        if wave > 0 {
            simulated.learn(begins, Some(&usual));
        }
        simulated.send(people, begins, 1.0 * MINUTE);
    }
    simulated
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn most_people_get_the_better_variant() {
    let share = |rates: &[f64]| {
        let found: Vec<f64> = (0..60).map(|seed| one_time(rates, seed).share_of(1)).collect();
        mean(&found)
    };
    let (clear, rare) = (share(&[0.30, 0.33]), share(&[0.020, 0.026]));
    assert!(clear >= 0.80, "{clear}");
    assert!(rare >= 0.70, "{rare}");
}

#[test]
fn a_triggered_campaign_keeps_to_the_better_variant() {
    let (mut covered, mut found) = (0, Vec::new());
    for seed in 0..24 {
        let mut simulated = Simulated::new(&[0.30, 0.33], false, 1_000 + seed);
        for epoch in 0..192 {
            let begins = f64::from(epoch) * EPOCH;
            if epoch > 0 {
                simulated.learn(begins, None);
            }
            simulated.send(100, begins, EPOCH);
        }
        found.push(simulated.share_of(1));
        covered += simulated.covers();
    }
    assert!(mean(&found) >= 0.85, "{}", mean(&found));
    assert!(covered >= 42, "of 48 intervals {covered} hold the rate");
}

#[test]
fn intervals_hold_the_rate_and_equal_variants_do_not_converge_at_once() {
    let (mut covered, mut of, mut at_first, mut later) = (0, 0, 0, 0);
    let usual = usual();
    for seed in 0..150 {
        let mut simulated = Simulated::new(&[0.30, 0.30], true, 5_000 + seed);
        simulated.send(2_000, 0.0, MINUTE);
        simulated.learn(EPOCH, Some(&usual));
        at_first += u32::from(simulated.learning.status == Stage::Converged);
        simulated.send(4_000, 4.0 * EPOCH, MINUTE);
        simulated.learn(8.0 * EPOCH, Some(&usual));
        later += u32::from(simulated.learning.status == Stage::Converged);
        covered += simulated.covers();
        of += 2;
    }
    let covered = covered as f64 / f64::from(of);
    assert!((0.92..=0.98).contains(&covered), "{covered}");
    assert_eq!((at_first, later), (0, 0));
}
