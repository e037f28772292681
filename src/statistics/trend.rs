//! Whether an effect is the same in each of several sendings, or becomes smaller from one to the next.

use crate::{
    gamma::{chi_square_above, two_sided},
    mean::Mean,
    proportion::{Interval, Proportion, TRIALS_MIN, deviations, real},
    sample_ratio::ChiSquare,
};

/// Successes of each side below which a sending is left out: the logarithm of a rate of fewer is far from normal.
pub const SUCCESSES_MIN: u64 = 5;
/// Sendings below which nothing is said about a trend.
pub const EFFECTS_MIN: usize = 4;
/// Probability of a slope below which an effect is said to fade.
pub const FADES_BELOW: f64 = 0.01;

/// The effect in one sending: the logarithm of the ratio of two rates or two means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The number of the sending, or the day.
    pub at: f64,
    /// The logarithm of the ratio.
    pub log_ratio: f64,
    /// Its variance, above 0.
    pub variance: f64,
}

impl Effect {
    fn new(at: f64, ratio: f64, variance: f64) -> Option<Self> {
        let effect = Self { at, log_ratio: ratio.ln(), variance };
        (effect.log_ratio.is_finite() && variance > 0.0 && variance.is_finite()).then_some(effect)
    }

    /// Of two rates, by the delta method. None of too few trials or successes, or where nothing varies.
    pub fn of_rates(at: f64, own: Proportion, base: Proportion) -> Option<Self> {
        let is_few = |of: Proportion| of.trials < TRIALS_MIN || of.successes < SUCCESSES_MIN;
        if is_few(own) || is_few(base) {
            return None;
        }
        let variance = |of: Proportion| (1.0 - of.rate()) / real(of.successes);
        Self::new(at, own.rate() / base.rate(), variance(own) + variance(base))
    }

    /// Of two means, by the delta method. None where one is not above 0, or nothing varies.
    pub fn of_means(at: f64, own: Mean, base: Mean) -> Option<Self> {
        if own.value() <= 0.0 || base.value() <= 0.0 {
            return None;
        }
        let variance = |of: Mean| of.variance() / (of.value() * of.value());
        Self::new(at, own.value() / base.value(), variance(own) + variance(base))
    }

    /// The ratio less 1.
    pub fn lift(&self) -> f64 {
        self.log_ratio.exp_m1()
    }

    /// Where the lift lies.
    pub fn lift_interval(&self, confidence: f64) -> Interval {
        let half = deviations(confidence) * self.variance.sqrt();
        Interval {
            lower: (self.log_ratio - half).exp_m1(),
            upper: (self.log_ratio + half).exp_m1(),
        }
    }
}

/// How effects change from sending to sending.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Whether all effects are the same: Cochran's Q.
    pub homogeneity: ChiSquare,
    /// How much the logarithm of the ratio changes from one to the next.
    pub slope: f64,
    /// The standard deviation of the slope.
    pub deviation: f64,
    /// How probable so great a slope would be if there were none.
    pub p_value: f64,
    /// The effect at the first, by the line.
    pub first: f64,
    /// The effect at the last, by the line.
    pub last: f64,
}

impl Trend {
    /// A line through effects, each weighed by the inverse of its variance. Where they scatter about it by more than chance,
    /// its slope is as much less certain. None of fewer than [`EFFECTS_MIN`] effects, or of one time.
    pub fn of(effects: &[Effect]) -> Option<Self> {
        if effects.len() < EFFECTS_MIN {
            return None;
        }
        let weight = |effect: &Effect| 1.0 / effect.variance;
        let sum = |of: &dyn Fn(&Effect) -> f64| effects.iter().map(of).sum::<f64>();
        let weights = sum(&weight);
        let middle = sum(&|it| weight(it) * it.at) / weights;
        let mean = sum(&|it| weight(it) * it.log_ratio) / weights;
        let spread = sum(&|it| weight(it) * (it.at - middle).powi(2));
        if spread <= 0.0 {
            return None;
        }
        let slope = sum(&|it| weight(it) * (it.at - middle) * (it.log_ratio - mean)) / spread;
        let line = |at: f64| mean + slope * (at - middle);
        let distance = sum(&|it| weight(it) * (it.log_ratio - mean).powi(2));
        let rest = sum(&|it| weight(it) * (it.log_ratio - line(it.at)).powi(2));
        let count = u32::try_from(effects.len()).ok()?;
        let dispersion = (rest / f64::from(count - 2)).max(1.0);
        let deviation = (dispersion / spread).sqrt();
        let end = |choose: fn(f64, f64) -> f64| {
            effects.iter().map(|effect| effect.at).reduce(choose).unwrap_or(middle)
        };
        Some(Self {
            homogeneity: ChiSquare {
                statistic: distance,
                degrees: count - 1,
                p_value: chi_square_above(distance, count - 1),
            },
            slope,
            deviation,
            p_value: two_sided(slope / deviation),
            first: line(end(f64::min)),
            last: line(end(f64::max)),
        })
    }

    /// By how much the ratio changes from one to the next, in parts of it.
    pub fn step(&self) -> f64 {
        self.slope.exp_m1()
    }

    /// Where the step lies.
    pub fn step_interval(&self, confidence: f64) -> Interval {
        let half = deviations(confidence) * self.deviation;
        Interval { lower: (self.slope - half).exp_m1(), upper: (self.slope + half).exp_m1() }
    }

    /// Whether the line comes nearer to no effect.
    pub fn shrinks(&self) -> bool {
        self.last.abs() < self.first.abs()
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    /// The vectors of `oracles/trend.py`: a case is the lines of one number.
    #[test]
    fn trends_match_the_oracle() {
        let lines: Vec<Vec<&str>> = include_str!("oracles/trend.csv")
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect())
            .collect();
        let cases: std::collections::BTreeSet<&str> = lines.iter().map(|it| it[0]).collect();
        assert!(cases.len() >= 5);
        for case in cases {
            let own: Vec<_> = lines.iter().filter(|it| it[0] == case).collect();
            let count = |line: &[&str], at: usize| line[at].parse().unwrap();
            let effects: Vec<Effect> = own
                .iter()
                .map(|line| {
                    let (one, other) =
                        (of(count(line, 2), count(line, 3)), of(count(line, 4), count(line, 5)));
                    Effect::of_rates(line[1].parse().unwrap(), one, other).unwrap()
                })
                .collect();
            let found = Trend::of(&effects).unwrap();
            for (value, at) in [
                (found.homogeneity.statistic, 6),
                (found.homogeneity.p_value, 7),
                (found.slope, 8),
                (found.deviation, 9),
                (found.p_value, 10),
            ] {
                let expected: f64 = own[0][at].parse().unwrap();
                let is_near = (value - expected).abs() < 1e-9 * expected.abs().max(1.0);
                assert!(is_near, "{case}, column {at}: {value} {expected}");
            }
        }
    }

    #[test]
    fn few_successes_and_few_sendings_have_no_trend() {
        assert_eq!(Effect::of_rates(1.0, of(4, 100), of(50, 100)), None);
        assert_eq!(Effect::of_rates(1.0, of(5, 29), of(50, 100)), None);
        assert!(Effect::of_rates(1.0, of(5, 30), of(50, 100)).is_some());
        assert_eq!(Effect::of_rates(1.0, of(40, 40), of(50, 50)), None, "nothing varies");
        let none = Mean { sum: 0.0, sum_of_squares: 0.0, count: 100 };
        let some = Mean { sum: 50.0, sum_of_squares: 80.0, count: 100 };
        assert_eq!(Effect::of_means(1.0, none, some), None);
        let found = Effect::of_means(1.0, some, some).unwrap();
        assert!(found.lift().abs() < 1e-12);
        let effects = [1.0, 2.0, 3.0, 4.0].map(|at| Effect { at, ..found });
        assert!(Trend::of(&effects).is_some());
        assert_eq!(Trend::of(&effects[..3]), None);
        assert_eq!(Trend::of(&effects.map(|effect| Effect { at: 2.0, ..effect })), None);
    }

    #[test]
    fn an_effect_shrinks_where_its_line_comes_nearer_to_nothing() {
        let line = |from: f64, step: f64| {
            let effects: Vec<Effect> = (0..5_u8)
                .map(f64::from)
                .map(|at| Effect { at, log_ratio: from + step * at, variance: 1e-4 })
                .collect();
            Trend::of(&effects).unwrap()
        };
        for (from, step, shrinks) in
            [(0.2, -0.04, true), (-0.2, 0.04, true), (0.0, 0.04, false), (0.1, -0.06, false)]
        {
            let found = line(from, step);
            assert_eq!(found.shrinks(), shrinks, "{from} {step}");
            assert!((found.slope - step).abs() < 1e-12);
        }
    }

    /// Sendings to the same people, of whom a third open most messages and the others few.
    struct Situation {
        people: u32,
        sendings: u8,
        /// The lift in the first sending; from there it falls in a line to 0 at the last.
        lift: f64,
        /// By how much the lift of each sending differs from the line at random.
        scatter: f64,
        campaigns: u32,
    }

    /// The share of campaigns that are said to fade.
    fn fading(of_this: &Situation) -> f64 {
        let mut random = StdRng::seed_from_u64(20_261_124);
        let Situation { people, sendings, lift, scatter, campaigns } = *of_this;
        let mut fade = 0;
        for _ in 0..campaigns {
            let effects: Vec<Effect> = (0..sendings)
                .filter_map(|sending| {
                    let left = 1.0 - f64::from(sending) / f64::from(sendings - 1);
                    let factor = 1.0
                        + lift * left
                        + scatter * (random.random::<f64>() - 0.5) * 12_f64.sqrt();
                    let mut opens = |factor: f64| {
                        let open = (0..people).filter(|person| {
                            let habit = if person % 3 == 0 { 0.6 } else { 0.1 };
                            random.random::<f64>() < habit * factor
                        });
                        Proportion { successes: open.count() as u64, trials: u64::from(people) }
                    };
                    let (own, base) = (opens(factor), opens(1.0));
                    Effect::of_rates(f64::from(sending), own, base)
                })
                .collect();
            let found = Trend::of(&effects);
            fade += u32::from(found.is_some_and(|it| it.p_value < FADES_BELOW && it.shrinks()));
        }
        f64::from(fade) / f64::from(campaigns)
    }

    #[test]
    fn an_effect_that_fades_in_eight_sendings_is_found() {
        let of = Situation { people: 3_000, sendings: 8, lift: 0.2, scatter: 0.0, campaigns: 400 };
        let found = fading(&of);
        assert!(found >= 0.9, "{found}");
    }

    /// Also where effects differ from sending to sending without a trend.
    #[test]
    fn equal_variants_seldom_fade() {
        let situation =
            Situation { people: 1_000, sendings: 8, lift: 0.0, scatter: 0.0, campaigns: 3_000 };
        let found = fading(&situation);
        assert!(found <= 0.015, "{found}");
        let four = fading(&Situation { sendings: 4, ..situation });
        assert!(four <= 0.015, "{four}");
        let scattered = fading(&Situation { scatter: 0.1, ..situation });
        assert!(scattered <= 0.03, "{scattered}");
    }
}
