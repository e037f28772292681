//! The delay between a message and its reward, and how many messages count as tried while rewards are still to come.
//!
//! A reward is seen only once its delay is over, so among young messages short delays are seen too often: the delays are
//! truncated on the right by the age of their message. The product-limit estimator in reverse time allows for that
//! (Lynden-Bell, Mon. Not. R. Astron. Soc. 155, 1971; Lagakos, Barraj, De Gruttola, Biometrika 75, 1988). A message
//! counts as tried by the share of rewards that would have come at its age (Vernade, Cappé, Perchet 2017,
//! arXiv:1706.09186; Chapelle, KDD 2014).

use crate::proportion::real;

/// End of the first interval of delays and ages, in milliseconds.
pub const FIRST_INTERVAL_MS: i64 = 15_000;
/// Intervals in which delays and ages double.
pub const INTERVALS_A_DOUBLING: u8 = 8;
/// Number of intervals: the last ends after more than thirty days.
pub const INTERVALS: u8 = 141;
/// The age of a message whose reward window is over.
pub const CLOSED: u8 = u8::MAX;
/// Fewest rewards that an estimate is made from.
pub const REWARDS_MIN: u64 = 100;
/// Fewest rewards at risk at the longest delay that is estimated: fewer would let one of them change the whole estimate.
const AT_RISK_MIN: u64 = 20;
/// Distance between two empirical distributions of n rewards that chance exceeds in 1 % of cases, times √n (Smirnov 1948).
const DISTANCE_BY_CHANCE: f64 = 1.63;
/// Distance that is allowed besides: two campaigns are never quite alike.
const DISTANCE_ALLOWED: f64 = 0.05;

/// The interval of a delay or an age in milliseconds. A delay below 0, of clocks that differ, counts as 0.
pub fn interval_of(ms: i64) -> u8 {
    if ms < FIRST_INTERVAL_MS {
        return 0;
    }
    #[expect(clippy::cast_precision_loss, reason = "months in milliseconds")]
    let doublings = (ms as f64 / FIRST_INTERVAL_MS as f64).log2();
    let at = 1.0 + (doublings * f64::from(INTERVALS_A_DOUBLING)).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let at = at.clamp(1.0, f64::from(INTERVALS - 1)) as u8;
    at
}

/// The end of an interval in milliseconds.
pub fn end_of_ms(interval: u8) -> i64 {
    let doublings = f64::from(interval) / f64::from(INTERVALS_A_DOUBLING);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "months in milliseconds"
    )]
    let end = (FIRST_INTERVAL_MS as f64 * doublings.exp2()).round() as i64;
    end
}

/// Messages of about the same age that earned their reward after about the same delay, or have none so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeGroup {
    /// The interval of their age, or [`CLOSED`].
    pub age: u8,
    /// The interval of the delay; none without a reward so far.
    pub delay: Option<u8>,
    /// How many messages these are.
    pub messages: u64,
}

/// Number of messages of all groups.
pub fn messages(groups: &[AgeGroup]) -> u64 {
    groups.iter().map(|group| group.messages).sum()
}

/// Number of messages with a reward.
pub fn rewards(groups: &[AgeGroup]) -> u64 {
    groups.iter().filter(|group| group.delay.is_some()).map(|group| group.messages).sum()
}

/// Rewards by the interval of their delay, of messages whose window is over: nothing is truncated.
pub fn closed_delays(groups: &[AgeGroup]) -> Vec<u64> {
    let mut counts = vec![0; usize::from(INTERVALS)];
    for group in groups.iter().filter(|group| group.age == CLOSED) {
        if let Some(count) = group.delay.and_then(|delay| counts.get_mut(usize::from(delay))) {
            *count += group.messages;
        }
    }
    counts
}

/// The distribution of delays, given that there is a reward at all.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayDistribution {
    /// Share of the rewards that have come by the end of each interval.
    up_to: Vec<f64>,
    /// The longest delay that rewards can show, in intervals. Shares are relative to the rewards up to it. None if the
    /// messages are old enough for all.
    reach: Option<u8>,
    /// Rewards it is estimated from.
    rewards: u64,
}

impl DelayDistribution {
    /// The distribution where nothing is truncated: rewards by interval of delay. None for fewer than [`REWARDS_MIN`].
    pub fn of_counts(counts: &[u64]) -> Option<Self> {
        let rewards: u64 = counts.iter().sum();
        let mut sum = 0;
        let mut share = |count: &u64| {
            sum += count;
            real(sum) / real(rewards)
        };
        let is_enough = rewards >= REWARDS_MIN && counts.len() == usize::from(INTERVALS);
        is_enough.then(|| Self {
            up_to: counts.iter().map(&mut share).collect(),
            reach: None,
            rewards,
        })
    }

    /// The distribution where messages are too young for all of their rewards. None for fewer than [`REWARDS_MIN`]
    /// rewards.
    pub fn of_young(groups: &[AgeGroup]) -> Option<Self> {
        let rewarded = || groups.iter().filter_map(|it| Some((it.delay?, it.age, it.messages)));
        let all: u64 = rewarded().map(|(_, _, messages)| messages).sum();
        if all < REWARDS_MIN {
            return None;
        }
        let (mut share, mut reach) = (1.0, None);
        let mut up_to = vec![1.0; usize::from(INTERVALS)];
        for at in (1..INTERVALS).rev() {
            // Messages of this very age have seen a part of the interval only.
            let at_risk: u64 = rewarded()
                .filter(|(delay, age, _)| *delay <= at && at < *age)
                .map(|(_, _, messages)| messages)
                .sum();
            if at_risk >= AT_RISK_MIN {
                reach = reach.max(Some(at));
                let here: u64 = rewarded()
                    .filter(|(delay, age, _)| *delay == at && at < *age)
                    .map(|(_, _, messages)| messages)
                    .sum();
                share *= 1.0 - real(here) / real(at_risk);
            }
            if let Some(before) = up_to.get_mut(usize::from(at) - 1) {
                *before = share;
            }
        }
        let is_whole = reach == Some(INTERVALS - 1);
        Some(Self { up_to, reach: if is_whole { None } else { reach.or(Some(0)) }, rewards: all })
    }

    /// Whether two distributions are the same but for chance, as far as both reach.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let reach = self.reach.into_iter().chain(other.reach).min().unwrap_or(INTERVALS - 1);
        let (own_whole, other_whole) = (self.up_to_end_of(reach), other.up_to_end_of(reach));
        let fewer = real(self.rewards.min(other.rewards));
        let allowed = DISTANCE_ALLOWED + DISTANCE_BY_CHANCE / fewer.sqrt();
        let distance =
            |at| self.up_to_end_of(at) / own_whole - other.up_to_end_of(at) / other_whole;
        own_whole > 0.0
            && other_whole > 0.0
            && (0..=reach).all(|at| f64::abs(distance(at)) <= allowed)
    }

    /// What is known from elsewhere, where that agrees: all of it if it is of more rewards, else the delays beyond its
    /// own reach.
    #[must_use]
    pub fn extended_by(self, known: Option<&Self>) -> Self {
        let is_known = |known: &&Self| known.reach.is_none() && self.agrees_with(known);
        let Some(known) = known.filter(is_known) else { return self };
        if known.rewards >= self.rewards {
            return known.clone();
        }
        let Some(reach) = self.reach else { return self };
        let known_share = known.up_to_end_of(reach);
        let share = |at: u8| {
            if at <= reach { self.up_to_end_of(at) * known_share } else { known.up_to_end_of(at) }
        };
        Self { up_to: (0..INTERVALS).map(share).collect(), reach: None, rewards: self.rewards }
    }

    fn up_to_end_of(&self, interval: u8) -> f64 {
        self.up_to.get(usize::from(interval)).copied().unwrap_or(1.0)
    }

    /// Share of the rewards that have come at an age: the middle of its interval.
    pub fn share_at(&self, age: u8) -> f64 {
        let end = self.up_to_end_of(age);
        let start = age.checked_sub(1).map_or(0.0, |before| self.up_to_end_of(before));
        if age == CLOSED { 1.0 } else { f64::midpoint(start, end) }
    }

    /// Messages that count as tried: the sum over messages of the share of rewards at their age.
    pub fn tried(&self, groups: &[AgeGroup]) -> f64 {
        groups.iter().map(|group| real(group.messages) * self.share_at(group.age)).sum()
    }

    /// The delay in milliseconds that half of the rewards do not exceed.
    pub fn median_ms(&self) -> i64 {
        let at = (0..INTERVALS).find(|at| self.up_to_end_of(*at) >= 0.5);
        end_of_ms(at.unwrap_or(INTERVALS - 1))
    }

    /// The longest delay in milliseconds that its shares are relative to; none if it is all of the window.
    pub fn reach_ms(&self) -> Option<i64> {
        self.reach.map(end_of_ms)
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "hours in milliseconds")]
mod tests {
    use proptest::prelude::*;
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    const MINUTE: i64 = 60_000;

    #[test]
    fn intervals_are_contiguous() {
        assert_eq!((interval_of(-5), interval_of(0), interval_of(14_999)), (0, 0, 0));
        assert_eq!((interval_of(15_000), interval_of(16_356), interval_of(16_358)), (1, 1, 2));
        assert_eq!(interval_of(30 * 24 * 60 * MINUTE), 140);
        assert_eq!(interval_of(i64::MAX), INTERVALS - 1);
        for interval in 0..INTERVALS - 1 {
            assert_eq!(interval_of(end_of_ms(interval) - 1), interval, "{interval}");
            assert_eq!(interval_of(end_of_ms(interval) + 1), interval + 1, "{interval}");
        }
    }

    /// Messages sent evenly over a time, with rewards of an exponential delay.
    fn sent(count: u32, over_ms: f64, mean_delay_ms: f64, seed: u64) -> Vec<AgeGroup> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut groups = Vec::new();
        for _ in 0..count {
            let age = random.random_range(0.0..over_ms);
            let delay = -mean_delay_ms * (1.0 - random.random::<f64>()).ln();
            let is_rewarded = random.random_bool(0.3) && delay <= age;
            #[expect(clippy::cast_possible_truncation, reason = "minutes in milliseconds")]
            groups.push(AgeGroup {
                age: interval_of(age as i64),
                delay: is_rewarded.then(|| interval_of(delay as i64)),
                messages: 1,
            });
        }
        groups
    }

    #[test]
    fn truncation_does_not_shorten_the_delays() {
        // Ages up to four times the mean delay: rewards of e⁻⁴ are beyond.
        let groups = sent(40_000, 4.0 * 3_600_000.0, 3_600_000.0, 7);
        let found = DelayDistribution::of_young(&groups).unwrap();
        let whole = 1.0 - (-4.0_f64).exp();
        for minutes in [5, 15, 60, 120] {
            let at = interval_of(minutes * MINUTE);
            let expected = (1.0 - (-end_of_ms(at) as f64 / 3_600_000.0).exp()) / whole;
            let naive = {
                let early = groups.iter().filter(|it| it.delay.is_some_and(|delay| delay <= at));
                early.count() as f64 / real(rewards(&groups))
            };
            let share = found.up_to_end_of(at);
            assert!((share - expected).abs() < 0.02, "{minutes}: {share} {expected}");
            assert!(naive > expected + 0.02 || minutes == 5, "{minutes}: {naive} {expected}");
        }
        let tried = found.tried(&groups);
        let rate = real(rewards(&groups)) / tried;
        assert!((rate - 0.3 * whole).abs() < 0.012, "{rate}");
        assert!(found.reach_ms().is_some_and(|reach| reach <= 4 * 3_700_000));
        assert!((found.median_ms() - 2_495_000).abs() < 300_000, "{}", found.median_ms());
    }

    #[test]
    fn what_is_beyond_the_ages_is_taken_from_a_distribution_that_agrees() {
        let young = sent(20_000, 900_000.0, 3_600_000.0, 3);
        let own = DelayDistribution::of_young(&young).unwrap();
        let counts = |mean: f64| {
            let closed = sent(20_000, 4e12, mean, 4);
            let closed: Vec<AgeGroup> =
                closed.iter().map(|it| AgeGroup { age: CLOSED, ..*it }).collect();
            DelayDistribution::of_counts(&closed_delays(&closed)).unwrap()
        };
        let (alike, different) = (counts(3_600_000.0), counts(60_000.0));
        assert_eq!(own.clone().extended_by(Some(&different)), own);
        assert_eq!(own.clone().extended_by(None), own);
        let extended = own.extended_by(Some(&alike));
        assert_eq!(extended.reach_ms(), None);
        let rate = real(rewards(&young)) / extended.tried(&young);
        assert!((rate - 0.3).abs() < 0.04, "{rate}");
    }

    #[test]
    fn few_rewards_are_no_distribution() {
        let group = |messages| AgeGroup { age: CLOSED, delay: Some(3), messages };
        assert_eq!(DelayDistribution::of_young(&[group(99)]), None);
        assert_eq!(DelayDistribution::of_counts(&closed_delays(&[group(99)])), None);
        let found = DelayDistribution::of_young(&[group(100)]).unwrap();
        assert_eq!((found.up_to_end_of(2), found.up_to_end_of(3)), (0.0, 1.0));
        let all = [group(100), AgeGroup { age: CLOSED, delay: None, messages: 10_000_000_000 }];
        assert!((found.tried(&all) - 10_000_000_100.0).abs() < 1e-3);
        assert_eq!(DelayDistribution::of_young(&[]), None);
    }

    #[test]
    fn rewards_that_come_at_once_make_all_messages_count() {
        // 584 messages 15 minutes old, 288 rewarded within the first minutes.
        let age = interval_of(15 * MINUTE);
        let group = |delay, messages| AgeGroup { age, delay, messages };
        let groups =
            [group(Some(0), 100), group(Some(interval_of(2 * MINUTE)), 188), group(None, 296)];
        let tried = DelayDistribution::of_young(&groups).unwrap().tried(&groups);
        assert!((tried - 584.0).abs() < 1e-9, "{tried}");
    }

    proptest! {
        #[test]
        fn shares_rise_to_one_and_no_more_messages_are_tried_than_sent(
            raw in prop::collection::vec((0_u8..INTERVALS, 0_u8..INTERVALS, any::<bool>(), 1_u64..500), 1..60),
        ) {
            let groups: Vec<AgeGroup> = raw
                .into_iter()
                .map(|(age, delay, is_rewarded, messages)| AgeGroup {
                    age,
                    delay: (is_rewarded && delay <= age).then_some(delay),
                    messages,
                })
                .collect();
            if let Some(found) = DelayDistribution::of_young(&groups) {
                prop_assert!(found.up_to.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
                prop_assert!((found.up_to_end_of(INTERVALS - 1) - 1.0).abs() < 1e-12);
                let tried = found.tried(&groups);
                prop_assert!(tried >= 0.0 && tried <= real(messages(&groups)) + 1e-6);
            }
        }
    }
}
