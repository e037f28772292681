//! Rates of harm that must not rise: whether one is no higher than another by more than a margin (non-inferiority).

use crate::{
    gamma::normal_below,
    multiplicity::holm,
    proportion::{Interval, Proportion, TRIALS_MIN},
    score,
};

/// The comparison of a rate of harm with another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonInferiority {
    /// This rate less the other.
    pub difference: f64,
    /// Where that lies. With a confidence of 1 − 2α its upper end is below the margin where `p_value` is below α.
    pub interval: Interval,
    /// How probable so small a difference would be if the true one were the margin: small means "not worse by more".
    pub p_value: f64,
    /// How probable so great a difference would be if there were none: small means "worse".
    pub worse_p_value: f64,
}

impl NonInferiority {
    /// Compares by the score test at the margin. `alpha` is one-sided. None below [`TRIALS_MIN`] trials.
    pub fn new(own: Proportion, base: Proportion, margin: f64, alpha: f64) -> Option<Self> {
        if own.trials.min(base.trials) < TRIALS_MIN {
            return None;
        }
        Some(Self {
            difference: own.rate() - base.rate(),
            interval: score::difference(own, base, 1.0 - 2.0 * alpha)?,
            p_value: normal_below(score::z_above(own, base, margin)?),
            worse_p_value: normal_below(-score::z_above(own, base, 0.0)?),
        })
    }
}

/// What is known about a rate of harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not higher than the other by more than the margin.
    Ok,
    /// Higher than the other.
    Worse,
    /// Neither can be shown yet.
    Inconclusive,
}

/// A comparison beside others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// The p-value, adjusted for the number of comparisons (Holm).
    pub adjusted_p: Option<f64>,
    /// By the adjusted p-values.
    pub verdict: Verdict,
}

/// The verdicts on all comparisons together. Within the margin comes before worse: what is shown to be higher by less than
/// the margin is ok.
pub fn check(compared: &[Option<NonInferiority>], alpha: f64) -> Vec<Checked> {
    let p_values = |of: fn(NonInferiority) -> f64| -> Vec<Option<f64>> {
        holm(&compared.iter().map(|one| one.map(of)).collect::<Vec<_>>())
    };
    let (within, worse) = (p_values(|one| one.p_value), p_values(|one| one.worse_p_value));
    let is_below = |p: Option<f64>| p.is_some_and(|p| p < alpha);
    within
        .into_iter()
        .zip(worse)
        .map(|(within, worse)| Checked {
            adjusted_p: within,
            verdict: match (is_below(within), is_below(worse)) {
                (true, _) => Verdict::Ok,
                (false, true) => Verdict::Worse,
                (false, false) => Verdict::Inconclusive,
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    fn verdict(own: Proportion, base: Proportion, margin: f64) -> Verdict {
        check(&[NonInferiority::new(own, base, margin, 0.05)], 0.05)[0].verdict
    }

    /// The vectors of `oracles/noninferiority.py`.
    #[test]
    fn p_values_match_the_oracle() {
        let lines: Vec<&str> = include_str!("oracles/noninferiority.csv").lines().skip(1).collect();
        assert!(lines.len() >= 10);
        for line in lines {
            let fields: Vec<&str> = line.split(',').collect();
            let count = |at: usize| fields[at].parse().unwrap();
            let value = |at: usize| fields[at].parse::<f64>().unwrap();
            let (own, base) = (of(count(0), count(1)), of(count(2), count(3)));
            let found = NonInferiority::new(own, base, value(4), 0.05).unwrap();
            assert!((found.p_value - value(5)).abs() < 1e-9, "{line}: {found:?}");
            assert!((found.worse_p_value - value(6)).abs() < 1e-9, "{line}: {found:?}");
        }
    }

    #[test]
    fn verdicts_are_ok_worse_or_inconclusive() {
        let table = [
            (of(50, 10_000), of(50, 10_000), Verdict::Ok),
            // Twice as many: shown.
            (of(100, 10_000), of(50, 10_000), Verdict::Worse),
            // Worse, and by less than the margin.
            (of(5_600, 1_000_000), of(5_000, 1_000_000), Verdict::Ok),
            (of(2, 400), of(2, 400), Verdict::Inconclusive),
            (of(0, 100), of(0, 100), Verdict::Inconclusive),
            (of(0, 5_000), of(0, 5_000), Verdict::Ok),
            // Too few for any.
            (of(29, 29), of(0, 10_000), Verdict::Inconclusive),
            (of(30, 30), of(0, 10_000), Verdict::Worse),
        ];
        for (own, base, expected) in table {
            assert_eq!(verdict(own, base, 0.003), expected, "{own:?} {base:?}");
        }
    }

    #[test]
    fn the_interval_agrees_with_the_p_value() {
        for successes in (0..80).step_by(4) {
            let found =
                NonInferiority::new(of(successes, 3_000), of(30, 3_000), 0.005, 0.05).unwrap();
            assert_eq!(found.interval.upper < 0.005, found.p_value < 0.05, "{found:?}");
            assert_eq!(found.interval.lower > 0.0, found.worse_p_value < 0.05, "{found:?}");
        }
    }

    #[test]
    fn comparisons_are_checked_together() {
        let one = NonInferiority::new(of(60, 10_000), of(50, 10_000), 0.003, 0.05);
        let alone = check(&[one], 0.05)[0];
        let among = check(&[one, None, one, one, one], 0.05);
        assert_eq!(alone.verdict, Verdict::Ok);
        assert!(among[0].adjusted_p > alone.adjusted_p);
        assert_eq!(among[1], Checked { adjusted_p: None, verdict: Verdict::Inconclusive });
    }

    /// Shares of unsubscribed, complaining, bounced and failed.
    const RATES: [f64; 4] = [0.004, 0.0004, 0.01, 0.02];
    const MARGINS: [f64; 4] = [0.002, 0.0005, 0.005, 0.01];

    /// So many of so many, each with this probability: the distance from one to the next is drawn.
    fn drawn(random: &mut StdRng, trials: u32, rate: f64) -> Proportion {
        let (mut at, mut successes) = (0.0, 0);
        loop {
            let uniform: f64 = 1.0 - random.random::<f64>();
            at += (uniform.ln() / (-rate).ln_1p()).floor() + 1.0;
            if at > f64::from(trials) {
                return of(successes, u64::from(trials));
            }
            successes += 1;
        }
    }

    /// Of so many campaigns the share in which each verdict was found for any of the metrics.
    fn simulate(people: u32, excess: [f64; 4], campaigns: u32) -> [(f64, f64); 4] {
        let mut random = StdRng::seed_from_u64(20_261_124);
        let mut found = [(0.0, 0.0); 4];
        for _ in 0..campaigns {
            let compared: Vec<Option<NonInferiority>> = (0..4)
                .map(|at| {
                    let own = drawn(&mut random, people, RATES[at] + excess[at]);
                    let base = drawn(&mut random, people, RATES[at]);
                    NonInferiority::new(own, base, MARGINS[at], 0.05)
                })
                .collect();
            for (found, checked) in found.iter_mut().zip(check(&compared, 0.05)) {
                found.0 += f64::from(u8::from(checked.verdict == Verdict::Ok));
                found.1 += f64::from(u8::from(checked.verdict == Verdict::Worse));
            }
        }
        found.map(|(ok, worse)| (ok / f64::from(campaigns), worse / f64::from(campaigns)))
    }

    /// Two standard deviations of 2,000 campaigns are 1 %.
    #[test]
    fn harm_at_the_margin_is_seldom_called_ok() {
        let found = simulate(20_000, MARGINS, 2_000);
        assert!(found.iter().all(|(ok, _)| *ok <= 0.05), "{found:?}");
        // Each is worse, and most are found to be.
        assert!(found.iter().all(|(_, worse)| *worse >= 0.6), "{found:?}");
    }

    #[test]
    fn where_nothing_differs_little_is_called_worse_and_most_ok() {
        let found = simulate(20_000, [0.0; 4], 2_000);
        assert!(found.iter().map(|(_, worse)| worse).sum::<f64>() <= 0.05, "{found:?}");
        assert!(found.iter().all(|(ok, _)| *ok >= 0.6), "{found:?}");
    }
}
