//! Comparison of a campaign's variants by one metric, and the significant winner.

use analytics::messages::PeopleSums;
use statistics::{
    beta::{Beta, expected_losses as expected_losses_of_rates, probabilities_to_be_best},
    mean::{Mean, expected_losses as expected_losses_of_means, probabilities_to_be_greatest},
    multiplicity::holm,
    proportion::{EXPECTED_MIN, Interval, Proportion, TRIALS_MIN, real},
    ratio::PersonSums,
    revenue::{self, Draws, Group, PAYERS_MIN},
    score,
};

use super::{outcome::Earned, sequential_result::Sequential, warning::Warning};

/// The measured metric of a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// Each person counts once.
    Rate(Proportion),
    /// Each message counts, of people with several of them.
    Ratio(PersonSums),
    /// The mean revenue of a person.
    Money(Revenue),
}

/// The revenue of a variant's people, in whole units of the currency.
#[derive(Debug, Clone, PartialEq)]
pub struct Revenue {
    pub mean: Mean,
    /// What each person who paid has paid; the others paid nothing.
    pub by_payer: Vec<f64>,
}

impl Measure {
    /// Opens out of the messages that were sent and did not bounce.
    pub fn of_opens(people: &PeopleSums) -> Self {
        let own = PeopleSums { ..*people };
        Self::of_messages(&own, own.opened, own.opened_squared, own.opened_messages)
    }

    /// Clicks out of the messages that were sent and did not bounce.
    pub fn of_clicks(people: &PeopleSums) -> Self {
        let own = PeopleSums { ..*people };
        Self::of_messages(&own, own.clicked, own.clicked_squared, own.clicked_messages)
    }

    fn of_messages(people: &PeopleSums, successes: u64, squared: u64, by_messages: u64) -> Self {
        if people.messages_squared == people.messages {
            return Self::Rate(Proportion { successes, trials: people.messages });
        }
        Self::Ratio(PersonSums {
            people: people.reached,
            successes: real(successes),
            messages: real(people.messages),
            successes_squared: real(squared),
            successes_messages: real(by_messages),
            messages_squared: real(people.messages_squared),
        })
    }

    /// Revenue of this many people, in ten thousandths.
    pub fn money(earned: &Earned, people: u64) -> Self {
        Self::Money(Revenue::new(earned, people))
    }

    /// The rate or the mean amount.
    pub fn value(&self) -> f64 {
        match self {
            Self::Rate(rate) => rate.rate(),
            Self::Ratio(ratio) => ratio.rate(),
            Self::Money(revenue) => revenue.mean.value(),
        }
    }

    pub fn interval(&self, confidence: f64) -> Interval {
        match self {
            Self::Rate(rate) => rate.interval(confidence),
            Self::Ratio(ratio) => ratio.interval(confidence),
            Self::Money(revenue) => revenue.mean.interval(confidence),
        }
    }

    /// Number of people, or of messages to as many people.
    pub fn sample(&self) -> u64 {
        match self {
            Self::Rate(rate) => rate.trials,
            Self::Ratio(ratio) => ratio.people,
            Self::Money(revenue) => revenue.mean.count,
        }
    }

    /// The variance of the value.
    pub fn variance(&self) -> f64 {
        match self {
            Self::Rate(rate) if rate.trials == 0 => 0.0,
            Self::Rate(rate) => rate.rate() * (1.0 - rate.rate()) / real(rate.trials),
            Self::Ratio(ratio) => ratio.variance(),
            Self::Money(revenue) => revenue.mean.variance(),
        }
    }

    /// How many independent trials it is of, and how many of them succeeded. Of revenue a payment is a success.
    pub(super) fn trials(&self) -> Trials {
        match self {
            Self::Rate(rate) => {
                Trials { count: real(rate.trials), successes: real(rate.successes) }
            }
            Self::Ratio(ratio) => {
                let count = ratio.effective_trials();
                Trials { count, successes: count * ratio.rate() }
            }
            Self::Money(revenue) => Trials {
                count: real(revenue.mean.count),
                successes: real(revenue.by_payer.len() as u64),
            },
        }
    }

    /// Successes and trials, if each person counts once.
    pub fn proportion(&self) -> Option<Proportion> {
        match self {
            Self::Rate(rate) => Some(*rate),
            Self::Ratio(_) | Self::Money(_) => None,
        }
    }

    /// Compares it with another of the same metric. Where people of one side got several messages, both sides count by
    /// person.
    pub fn against(&self, base: &Self, rules: Compare) -> Comparison {
        let confidence = rules.confidence;
        match (self, base) {
            (Self::Rate(own), Self::Rate(base)) => Comparison {
                lift: own.lift(*base),
                lift_interval: score::lift(*own, *base, confidence),
                adjusted_interval: None,
                z_score: own.z_above(*base),
                p_value: own.p_value(*base),
                warnings: too_small(*own, *base).into_iter().collect(),
                is_mature: true,
                sequential: None,
            },
            (Self::Money(own), Self::Money(base)) => own.against(base, rules),
            _ => match (self.by_person(), base.by_person()) {
                (Some(own), Some(base)) => {
                    let few = own.people < TRIALS_MIN || base.people < TRIALS_MIN;
                    Comparison {
                        lift: own.lift(&base),
                        lift_interval: own.lift_interval(&base, confidence),
                        adjusted_interval: None,
                        z_score: own.z_above(&base),
                        p_value: own.p_value(&base),
                        warnings: few
                            .then_some(Warning::FewRecipients(TRIALS_MIN))
                            .into_iter()
                            .collect(),
                        is_mature: true,
                        sequential: None,
                    }
                }
                _ => Comparison::default(),
            },
        }
    }

    fn by_person(&self) -> Option<PersonSums> {
        match self {
            Self::Rate(rate) => Some(PersonSums::one_message_each(*rate)),
            Self::Ratio(ratio) => Some(*ratio),
            Self::Money(_) => None,
        }
    }

    /// The posterior of a rate; of people with several messages with as many trials as would vary as much.
    fn posterior(&self) -> Option<Beta> {
        match self {
            Self::Rate(rate) => Some(Beta {
                alpha: 1.0 + real(rate.successes),
                beta: 1.0 + real(rate.trials - rate.successes),
            }),
            Self::Ratio(ratio) => {
                let trials = ratio.effective_trials();
                let rate = ratio.rate();
                Some(Beta { alpha: 1.0 + rate * trials, beta: 1.0 + (1.0 - rate) * trials })
            }
            Self::Money(_) => None,
        }
    }
}

/// Independent trials, and how many of them succeeded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trials {
    pub(super) count: f64,
    pub(super) successes: f64,
}

/// How two measures are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compare {
    /// The confidence of intervals, below 1.
    pub confidence: f64,
    /// Of random draws: the same seed gives the same result.
    pub seed: u64,
}

impl Revenue {
    /// Of amounts in ten thousandths, and of this many people.
    pub fn new(earned: &Earned, people: u64) -> Self {
        Self {
            mean: earned.mean(people),
            by_payer: earned.by_payer.iter().map(|amount| amount / 1e4).collect(),
        }
    }

    /// The same with each amount cut to the cap.
    #[must_use]
    pub fn capped(&self, cap: f64) -> Self {
        let by_payer: Vec<f64> = self.by_payer.iter().map(|amount| amount.min(cap)).collect();
        let mean = Group { amounts: &by_payer, people: self.mean.count }.mean();
        Self { mean, by_payer }
    }

    /// The amounts, and how many people they are of.
    pub fn group(&self) -> Group<'_> {
        Group { amounts: &self.by_payer, people: self.mean.count }
    }

    fn against(&self, base: &Self, Compare { confidence, seed }: Compare) -> Comparison {
        let draws = Draws::of(self.by_payer.len() + base.by_payer.len(), seed);
        let found = revenue::difference(self.group(), base.group(), confidence, draws);
        let mean = base.mean.value();
        let in_parts = |interval: Interval| Interval {
            lower: interval.lower / mean,
            upper: interval.upper / mean,
        };
        Comparison {
            lift: self.mean.lift(base.mean),
            lift_interval: found.filter(|_| mean > 0.0).map(|found| in_parts(found.interval)),
            adjusted_interval: None,
            z_score: self.mean.z_above(base.mean),
            p_value: found.map(|found| found.p_value),
            warnings: few_payers(self, base).into_iter().collect(),
            is_mature: true,
            sequential: None,
        }
    }
}

/// Whether too few people paid for a comparison.
pub fn few_payers(own: &Revenue, base: &Revenue) -> Option<Warning> {
    let is_few = |of: &Revenue| of.by_payer.len() < PAYERS_MIN;
    (is_few(own) || is_few(base)).then_some(Warning::FewPayers(PAYERS_MIN))
}

/// Why samples are too small for a test, if they are.
pub fn too_small(own: Proportion, base: Proportion) -> Option<Warning> {
    if own.trials < TRIALS_MIN || base.trials < TRIALS_MIN {
        return Some(Warning::FewRecipients(TRIALS_MIN));
    }
    (own.fewest_expected(base) < EXPECTED_MIN).then_some(Warning::FewExpected(EXPECTED_MIN))
}

/// The comparison of a variant with another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The difference relative to the other.
    pub lift: Option<f64>,
    pub lift_interval: Option<Interval>,
    /// That of all comparisons together.
    pub adjusted_interval: Option<Interval>,
    /// The difference in standard deviations.
    pub z_score: Option<f64>,
    /// The probability of such a difference if both were the same.
    pub p_value: Option<f64>,
    /// Whether enough attribution windows are over.
    pub is_mature: bool,
    /// Why the comparison is not conclusive.
    pub warnings: Vec<Warning>,
    /// The comparison by all looks together.
    pub sequential: Option<Sequential>,
}

impl Comparison {
    /// Leaves out what would look like a result.
    #[must_use]
    pub fn without_result(mut self, why: Warning) -> Self {
        self.p_value = None;
        self.z_score = None;
        self.sequential = self.sequential.map(Sequential::without_result);
        self.warnings.push(why);
        self
    }

    /// Whether the difference is significant: while more is to come by all looks together, at the end by a p-value
    /// adjusted for the number of comparisons.
    pub fn is_significant(&self, adjusted_p: Option<f64>, confidence: f64) -> bool {
        let by_value = match self.sequential.filter(|sequential| !sequential.is_final) {
            Some(sequential) => sequential.is_significant,
            None => adjusted_p.is_some_and(|p| p < 1.0 - confidence),
        };
        self.warnings.is_empty() && self.is_mature && by_value
    }
}

/// For each the probability that it is the best: rates by their posterior, means as normally distributed.
pub fn probabilities(measures: &[Measure]) -> Vec<f64> {
    match posteriors(measures) {
        Some(rates) => probabilities_to_be_best(&rates),
        None => probabilities_to_be_greatest(&means(measures)),
    }
}

/// For each how much of the metric is lost on average if it is chosen: the mean of what the best has more.
pub fn expected_losses(measures: &[Measure]) -> Vec<f64> {
    match posteriors(measures) {
        Some(rates) => expected_losses_of_rates(&rates),
        None => expected_losses_of_means(&means(measures)),
    }
}

fn posteriors(measures: &[Measure]) -> Option<Vec<Beta>> {
    measures.iter().map(Measure::posterior).collect()
}

fn means(measures: &[Measure]) -> Vec<Mean> {
    let mean = |measure: &Measure| match measure {
        Measure::Money(revenue) => revenue.mean,
        Measure::Rate(_) | Measure::Ratio(_) => Mean::default(),
    };
    measures.iter().map(mean).collect()
}

/// The index of the best; the first of equals. None for an empty list.
pub fn best(measures: &[Measure]) -> Option<usize> {
    let numbered = measures.iter().enumerate();
    let found = numbered.max_by(|(at, one), (later, other)| {
        one.value().total_cmp(&other.value()).then(later.cmp(at))
    });
    found.map(|(at, _)| at)
}

/// The best measure against each other one.
#[derive(Debug, Clone, PartialEq)]
pub struct Contest {
    /// The index of the best.
    pub best: usize,
    /// Whether it beats each of the others significantly: with the confidence, adjusted for their number, and with large
    /// enough samples.
    pub is_won: bool,
    /// The adjusted p-value against each of the others, by their index.
    pub p_values: Vec<(usize, f64)>,
}

/// Compares the best with each of the others. None for an empty list.
pub fn contest(measures: &[Measure], rules: Compare) -> Option<Contest> {
    let best = best(measures)?;
    let others: Vec<usize> = (0..measures.len()).filter(|at| *at != best).collect();
    let compared: Vec<Comparison> =
        others.iter().map(|at| measures[best].against(&measures[*at], rules)).collect();
    let adjusted = holm(&compared.iter().map(|one| one.p_value).collect::<Vec<_>>());
    let is_sure = |(one, p): (&Comparison, &Option<f64>)| one.is_significant(*p, rules.confidence);
    Some(Contest {
        best,
        is_won: !compared.is_empty() && compared.iter().zip(&adjusted).all(is_sure),
        p_values: others
            .into_iter()
            .zip(adjusted)
            .filter_map(|(at, p)| p.map(|p| (at, p)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    fn rate(successes: u64, trials: u64) -> Measure {
        Measure::Rate(Proportion { successes, trials })
    }

    fn winner(measures: &[Measure], confidence: f64) -> Option<usize> {
        let rules = Compare { confidence, seed: 1 };
        contest(measures, rules).filter(|contest| contest.is_won).map(|contest| contest.best)
    }

    #[test]
    fn the_winner_beats_all_others() {
        assert_eq!(winner(&[rate(200, 1000), rate(250, 1000)], 0.95), Some(1));
        assert_eq!(winner(&[rate(20, 1000), rate(30, 1000)], 0.95), None);
        assert_eq!(winner(&[rate(20, 1000), rate(30, 1000)], 0.8), Some(1));
        // Better than the first, not than the third.
        assert_eq!(winner(&[rate(200, 1000), rate(250, 1000), rate(245, 1000)], 0.95), None);
        // Too few.
        assert_eq!(winner(&[rate(0, 29), rate(29, 29)], 0.95), None);
        assert_eq!(winner(&[rate(10, 100)], 0.95), None);
        assert_eq!((winner(&[], 0.95), best(&[])), (None, None));
        assert_eq!(best(&[rate(1, 10), rate(2, 20)]), Some(0), "the first of equals");
    }

    #[test]
    fn probabilities_match_the_closed_form() {
        let found = probabilities(&[rate(200, 1000), rate(250, 1000)]);
        assert!((found[1] - 0.9963).abs() < 5e-5, "{found:?}");
    }

    /// Of tests of two equal variants, one in twenty finds a difference. Two thousand of them are within 4 %
    /// and 6 % (two standard deviations).
    #[test]
    fn equal_variants_differ_significantly_in_one_of_twenty_tests() {
        const TESTS: u32 = 2_000;
        const RECIPIENTS: u64 = 2_000;
        let mut random = StdRng::seed_from_u64(20_261_121);
        let (mut significant, mut among_three) = (0, 0);
        for _ in 0..TESTS {
            let mut arm = || {
                rate((0..RECIPIENTS).filter(|_| random.random_bool(0.2)).count() as u64, RECIPIENTS)
            };
            let (a, b, c) = (arm(), arm(), arm());
            significant += u32::from(winner(&[a.clone(), b.clone()], 0.95).is_some());
            among_three += u32::from(winner(&[a, b, c], 0.95).is_some());
        }
        let share = f64::from(significant) / f64::from(TESTS);
        assert!((0.04..=0.06).contains(&share), "{share}");
        // A significant win over two others is rarer still.
        assert!(f64::from(among_three) / f64::from(TESTS) < 0.05, "{among_three}");
    }
}
