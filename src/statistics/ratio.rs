//! Rates of messages where a person is the unit: people with several messages each.
//!
//! Messages to one person are alike, so they vary less than as many messages to as many people. The variance of the rate
//! follows from sums over people, by the delta method (Deng, Knoblich, Lu 2018, arXiv:1803.06336, section 3).

use crate::{
    gamma::two_sided,
    proportion::{Interval, Proportion, deviations, real},
};

/// Sums over the people of one side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PersonSums {
    /// Number of people with a message.
    pub people: u64,
    /// Sum of each person's successes.
    pub successes: f64,
    /// Sum of each person's messages.
    pub messages: f64,
    /// Sum of the squares of each person's successes.
    pub successes_squared: f64,
    /// Sum of each person's successes times their messages.
    pub successes_messages: f64,
    /// Sum of the squares of each person's messages.
    pub messages_squared: f64,
}

impl PersonSums {
    /// The sums where each person has one message.
    pub fn one_message_each(rate: Proportion) -> Self {
        let (successes, messages) = (real(rate.successes), real(rate.trials));
        Self {
            people: rate.trials,
            successes,
            messages,
            successes_squared: successes,
            successes_messages: successes,
            messages_squared: messages,
        }
    }

    /// Successes a message; 0 of no messages.
    pub fn rate(&self) -> f64 {
        if self.messages > 0.0 { self.successes / self.messages } else { 0.0 }
    }

    /// The variance of the rate: (s²_Y − 2R·s_YM + R²·s²_M) / (n·M̄²). 0 of fewer than two people.
    pub fn variance(&self) -> f64 {
        if self.people < 2 || self.messages <= 0.0 {
            return 0.0;
        }
        let (n, rate) = (real(self.people), self.rate());
        // The residuals Y − R·M add up to 0, so their squares are their spread.
        let squares = self.successes_squared - 2.0 * rate * self.successes_messages
            + rate * rate * self.messages_squared;
        let mean_messages = self.messages / n;
        squares.max(0.0) / (n - 1.0) / (n * mean_messages * mean_messages)
    }

    /// Where the rate lies, within 0 and 1: the normal interval.
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = deviations(confidence) * self.variance().sqrt();
        Interval { lower: (self.rate() - half).max(0.0), upper: (self.rate() + half).min(1.0) }
    }

    /// How far this rate lies above another, in standard deviations of their difference. None where one has no messages
    /// or nothing varies.
    pub fn z_above(&self, base: &Self) -> Option<f64> {
        let variance = self.variance() + base.variance();
        let is_there = self.messages > 0.0 && base.messages > 0.0;
        (is_there && variance > 0.0).then(|| (self.rate() - base.rate()) / variance.sqrt())
    }

    /// How probable so great a difference would be if both rates were the same. None where one has no messages; 1 where
    /// nothing varies.
    pub fn p_value(&self, base: &Self) -> Option<f64> {
        if self.messages <= 0.0 || base.messages <= 0.0 {
            return None;
        }
        Some(self.z_above(base).map_or(1.0, two_sided))
    }

    /// The difference in parts of the other rate. None where that is 0.
    pub fn lift(&self, base: &Self) -> Option<f64> {
        (self.messages > 0.0 && base.successes > 0.0).then(|| self.rate() / base.rate() - 1.0)
    }

    /// Where that lies, by the delta method on the logarithm of the ratio. None where one has no successes.
    pub fn lift_interval(&self, base: &Self, confidence: f64) -> Option<Interval> {
        let (own, other) = (self.rate(), base.rate());
        if own <= 0.0 || other <= 0.0 {
            return None;
        }
        let variance = self.variance() / (own * own) + base.variance() / (other * other);
        let (log, half) = ((own / other).ln(), deviations(confidence) * variance.sqrt());
        Some(Interval { lower: (log - half).exp_m1(), upper: (log + half).exp_m1() })
    }

    /// Trials, each of another person, whose rate would vary as much: R·(1 − R) / variance.
    pub fn effective_trials(&self) -> f64 {
        let (rate, variance) = (self.rate(), self.variance());
        if variance > 0.0 { rate * (1.0 - rate) / variance } else { real(self.people) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_each_varies_as_a_proportion_does() {
        let rate = Proportion { successes: 200, trials: 1000 };
        let sums = PersonSums::one_message_each(rate);
        assert!((sums.variance() - 0.2 * 0.8 / 999.0).abs() < 1e-15);
        assert!((sums.effective_trials() - 999.0).abs() < 1e-9);
    }

    /// Ten people with three messages each who open all or none vary like ten messages.
    #[test]
    fn habits_make_messages_count_as_people() {
        let sums = PersonSums {
            people: 10,
            successes: 15.0,
            messages: 30.0,
            successes_squared: 45.0,
            successes_messages: 45.0,
            messages_squared: 90.0,
        };
        assert!((sums.rate() - 0.5).abs() < 1e-12);
        assert!((sums.variance() - 0.25 / 9.0).abs() < 1e-12, "{}", sums.variance());
    }

    #[test]
    fn without_messages_there_is_no_result() {
        let none = PersonSums::default();
        let some = PersonSums::one_message_each(Proportion { successes: 1, trials: 2 });
        assert_eq!(
            (none.p_value(&some), none.z_above(&some), none.lift(&some)),
            (None, None, None)
        );
        assert_eq!(some.lift_interval(&none, 0.95), None);
        assert!(none.rate().abs() < f64::EPSILON);
    }
}
