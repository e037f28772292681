//! Differences that are adjusted by what the same people did before they were assigned (CUPED: Deng, Xu, Kohavi, Walker,
//! WSDM 2013). What a person did before does not depend on the variant, so taking from each outcome what it predicts leaves
//! the difference as it is, and less varied.

use crate::{
    gamma::two_sided,
    proportion::{Interval, deviations, real},
};

/// A covariate whose squares are this small in parts does not vary but for rounding.
const ROUNDING: f64 = 1e-12;

/// Sums over the people of one side: of an outcome Y, of the messages M that it is a share of, and of a covariate X from
/// before. Outcomes a person have one M each.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the sum of the product that it is named by")]
pub struct Sums {
    pub people: u64,
    pub x: f64,
    pub y: f64,
    pub m: f64,
    pub xx: f64,
    pub yy: f64,
    pub mm: f64,
    pub xy: f64,
    pub xm: f64,
    pub ym: f64,
}

impl Sums {
    /// The same where each person counts once.
    #[must_use]
    pub fn by_person(self) -> Self {
        let people = real(self.people);
        Self { m: people, mm: people, xm: self.x, ym: self.y, ..self }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            people: self.people + other.people,
            x: self.x + other.x,
            y: self.y + other.y,
            m: self.m + other.m,
            xx: self.xx + other.xx,
            yy: self.yy + other.yy,
            mm: self.mm + other.mm,
            xy: self.xy + other.xy,
            xm: self.xm + other.xm,
            ym: self.ym + other.ym,
        }
    }

    /// The same with the covariate counted from here.
    fn counted_from(self, middle: f64) -> Self {
        Self {
            x: self.x - middle * real(self.people),
            xx: self.xx - 2.0 * middle * self.x + middle * middle * real(self.people),
            xy: self.xy - middle * self.y,
            xm: self.xm - middle * self.m,
            ..self
        }
    }

    fn covariance(&self, products: f64, one: f64, other: f64) -> f64 {
        let n = real(self.people);
        (products - one * other / n) / (n - 1.0)
    }

    fn variance_of_x(&self) -> f64 {
        self.covariance(self.xx, self.x, self.x)
    }

    /// Successes out of messages.
    fn rate(&self) -> f64 {
        self.y / self.m
    }

    /// How many messages a person has.
    fn messages(&self) -> f64 {
        self.m / real(self.people)
    }

    /// Of the outcome and the covariate: that of Y where each person counts once, else of what a person adds to the rate
    /// (delta method, as in `ratio`).
    fn covariance_with_x(&self) -> f64 {
        let (of_y, of_m) =
            (self.covariance(self.xy, self.x, self.y), self.covariance(self.xm, self.x, self.m));
        (of_y - self.rate() * of_m) / self.messages()
    }

    fn variance(&self) -> f64 {
        let (rate, messages) = (self.rate(), self.messages());
        let of = |products, one, other| self.covariance(products, one, other);
        let sum = of(self.yy, self.y, self.y) - 2.0 * rate * of(self.ym, self.y, self.m)
            + rate * rate * of(self.mm, self.m, self.m);
        sum / (messages * messages)
    }
}

/// The people of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Group {
    /// Those of whom the covariate is known.
    pub known: Sums,
    /// The others, of whom the mean of all is taken for it.
    pub unknown: Sums,
}

/// The adjustment of the outcomes of several sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjustment {
    /// How much of the outcome a unit of the covariate predicts: their covariance over its variance, over all sides
    /// together.
    pub theta: f64,
    /// By side, the covariate counted from its mean.
    sides: Vec<Sums>,
}

impl Adjustment {
    /// None where no covariate is known or it does not vary.
    pub fn of(groups: &[Group]) -> Option<Self> {
        let all = |of: fn(&Group) -> Sums| groups.iter().map(of).fold(Sums::default(), Sums::plus);
        let known = all(|group| group.known);
        if known.people == 0 {
            return None;
        }
        let middle = known.x / real(known.people);
        let sides: Vec<Sums> = groups
            .iter()
            .map(|group| group.known.counted_from(middle).plus(Sums { x: 0.0, ..group.unknown }))
            .collect();
        let joint = sides.iter().copied().fold(Sums::default(), Sums::plus);
        let varies = joint.xx > ROUNDING * known.xx && joint.people > 1 && joint.m > 0.0;
        varies.then(|| Self { theta: joint.covariance_with_x() / joint.variance_of_x(), sides })
    }

    /// What remains of an outcome of a person.
    pub fn rest(&self, outcome: f64, covariate: f64) -> f64 {
        outcome - self.theta * covariate
    }

    /// The adjusted rate or mean of a side.
    pub fn mean(&self, side: usize) -> Option<f64> {
        let sums = self.sides.get(side).filter(|sums| sums.people > 1 && sums.m > 0.0)?;
        Some(sums.rate() - self.theta * sums.x / real(sums.people))
    }

    /// The variance of that, and of the unadjusted one.
    fn variances(&self, side: usize) -> Option<Variances> {
        let sums = self.sides.get(side).filter(|sums| sums.people > 1 && sums.m > 0.0)?;
        let (n, raw) = (real(sums.people), sums.variance());
        let adjusted = raw - 2.0 * self.theta * sums.covariance_with_x()
            + self.theta * self.theta * sums.variance_of_x();
        Some(Variances { raw: raw / n, adjusted: adjusted.max(0.0) / n })
    }

    /// Compares one side with another. None where one has fewer than two people or nothing varies.
    pub fn compare(&self, own: usize, base: usize, confidence: f64) -> Option<Adjusted> {
        let (mean, other) = (self.mean(own)?, self.mean(base)?);
        let (own, base) = (self.variances(own)?, self.variances(base)?);
        let (raw, variance) = (own.raw + base.raw, own.adjusted + base.adjusted);
        if variance <= 0.0 {
            return None;
        }
        let deviation = variance.sqrt();
        let is_above = mean > 0.0 && other > 0.0;
        let lift_interval = is_above.then(|| {
            let of_log = own.adjusted / (mean * mean) + base.adjusted / (other * other);
            let (log, half) = ((mean / other).ln(), deviations(confidence) * of_log.sqrt());
            Interval { lower: (log - half).exp_m1(), upper: (log + half).exp_m1() }
        });
        Some(Adjusted {
            difference: mean - other,
            deviation,
            lift: (other > 0.0).then(|| mean / other - 1.0),
            lift_interval,
            p_value: two_sided((mean - other) / deviation),
            variance_reduction: 1.0 - variance / raw,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Variances {
    raw: f64,
    adjusted: f64,
}

/// The adjusted difference of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// Of the adjusted rates or means.
    pub difference: f64,
    /// The standard deviation of that.
    pub deviation: f64,
    /// The difference in parts of the other. None where that is not above 0.
    pub lift: Option<f64>,
    /// Where the lift lies, by the delta method on the logarithm of the ratio.
    pub lift_interval: Option<Interval>,
    /// How probable so great a difference would be if there were none.
    pub p_value: f64,
    /// The part of the difference's variance that the covariate explains.
    pub variance_reduction: f64,
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    /// The vectors of `oracles/adjustment.py`.
    #[test]
    fn adjusted_differences_match_the_oracle() {
        let lines: Vec<&str> = include_str!("oracles/adjustment.csv").lines().skip(1).collect();
        assert!(lines.len() >= 8);
        for line in lines {
            let values: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
            let group = |from: usize| {
                let of = |at: usize| values[from + at];
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count"
                )]
                let people = of(0) as u64;
                let sums = Sums {
                    people,
                    x: of(1),
                    xx: of(2),
                    y: of(3),
                    yy: of(4),
                    xy: of(5),
                    ..Sums::default()
                };
                Group { known: sums.by_person(), unknown: Sums::default() }
            };
            let adjustment = Adjustment::of(&[group(0), group(6)]).unwrap();
            let found = adjustment.compare(1, 0, 0.95).unwrap();
            for (value, expected) in
                [adjustment.theta, found.difference, found.deviation, found.p_value]
                    .into_iter()
                    .chain([found.variance_reduction])
                    .zip(&values[12..])
            {
                assert!(
                    (value - expected).abs() < 1e-9 * expected.abs().max(1.0),
                    "{line}: {value} {expected}"
                );
            }
        }
    }

    /// What is known of one person.
    #[derive(Debug, Clone, Copy)]
    struct Person {
        x: Option<f64>,
        y: f64,
        m: f64,
    }

    fn group(people: &[Person]) -> Group {
        let mut group = Group::default();
        for person in people {
            let sums = if person.x.is_some() { &mut group.known } else { &mut group.unknown };
            let (x, y, m) = (person.x.unwrap_or(0.0), person.y, person.m);
            *sums = sums.plus(Sums {
                people: 1,
                x,
                y,
                m,
                xx: x * x,
                yy: y * y,
                mm: m * m,
                xy: x * y,
                xm: x * m,
                ym: y * m,
            });
        }
        group
    }

    #[test]
    fn a_covariate_that_does_not_vary_adjusts_nothing() {
        let same = [0.0, 1.0, 1.0].map(|y| Person { x: Some(0.3), y, m: 1.0 });
        assert_eq!(Adjustment::of(&[group(&same), group(&same)]), None);
        let unknown = same.map(|person| Person { x: None, ..person });
        assert_eq!(Adjustment::of(&[group(&unknown), group(&unknown)]), None);
        assert_eq!(Adjustment::of(&[]), None);
        let known = [0.0, 1.0, 2.0].map(|x| Person { x: Some(x), y: x, m: 1.0 });
        let found = Adjustment::of(&[group(&known), group(&known[..1])]).unwrap();
        assert_eq!(found.compare(0, 1, 0.95), None, "one person does not vary");
        assert_eq!(found.compare(0, 2, 0.95), None, "there is no third side");
    }

    /// Who is not known counts as if what they did before were the mean.
    #[test]
    fn unknown_covariates_are_taken_for_the_mean() {
        let known = |x: f64, y: f64| Person { x: Some(x), y, m: 1.0 };
        let own = [known(1.0, 1.0), known(0.0, 0.0), known(0.5, 1.0)];
        let base = [known(0.0, 0.0), known(1.0, 1.0), known(0.5, 0.0)];
        let with = |unknown: Person| {
            let groups = [own, base]
                .map(|side| group(&side.into_iter().chain([unknown]).collect::<Vec<_>>()));
            Adjustment::of(&groups).unwrap().compare(0, 1, 0.95).unwrap()
        };
        let (unknown, mean) = (with(Person { x: None, ..known(0.0, 1.0) }), with(known(0.5, 1.0)));
        assert!((unknown.difference - mean.difference).abs() < 1e-12);
        assert!((unknown.deviation - mean.deviation).abs() < 1e-12);
    }

    /// Two standard normal variates (Box and Muller).
    fn normals(random: &mut StdRng) -> [f64; 2] {
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        let angle = std::f64::consts::TAU * random.random::<f64>();
        [radius * angle.cos(), radius * angle.sin()]
    }

    /// Campaigns of two equal sides, whose outcomes depend on what people did before.
    struct Found {
        /// The variance of the adjusted differences over that of the others.
        variance_ratio: f64,
        /// Shares of the campaigns with p below 0.05.
        significant: f64,
        /// The mean difference beyond the true one, in standard errors of one campaign.
        bias: f64,
        /// The mean reported reduction of the variance.
        reported: f64,
    }

    fn simulate(campaigns: u32, effect: f64, person: &dyn Fn(&mut StdRng) -> Person) -> Found {
        const PEOPLE: usize = 200;
        let mut random = StdRng::seed_from_u64(20_261_124);
        let (mut raw, mut adjusted, mut off) = (0.0, 0.0, 0.0);
        let (mut significant, mut reported, mut deviations) = (0, 0.0, 0.0);
        for _ in 0..campaigns {
            let mut side = |effect: f64| {
                let people: Vec<Person> = (0..PEOPLE)
                    .map(|_| {
                        let person = person(&mut random);
                        Person { y: person.y + effect * person.m, ..person }
                    })
                    .collect();
                group(&people)
            };
            let (own, base) = (side(effect), side(0.0));
            let rate = |group: Group| group.known.plus(group.unknown).rate();
            let found = Adjustment::of(&[base, own]).unwrap().compare(1, 0, 0.95).unwrap();
            raw += (rate(own) - rate(base) - effect).powi(2);
            adjusted += (found.difference - effect).powi(2);
            off += found.difference - effect;
            let z = (found.difference - effect) / found.deviation;
            significant += u32::from(two_sided(z) < 0.05);
            reported += found.variance_reduction;
            deviations += found.deviation;
        }
        let count = f64::from(campaigns);
        Found {
            variance_ratio: adjusted / raw,
            significant: f64::from(significant) / count,
            bias: (off / deviations).abs(),
            reported: reported / count,
        }
    }

    /// Two standard deviations of 20,000 campaigns are 0.3 % of false alarms, and 0.012 of the ratio.
    #[test]
    fn the_variance_falls_by_the_square_of_the_correlation() {
        for (correlation, expected) in [(0.4, 0.84), (0.6, 0.64)] {
            let found = simulate(20_000, 0.1, &|random| {
                let [x, other] = normals(random);
                let y = correlation * x + (1.0 - correlation * correlation).sqrt() * other;
                Person { x: Some(x), y: 2.0 + y, m: 1.0 }
            });
            assert!((found.variance_ratio - expected).abs() < 0.02, "{}", found.variance_ratio);
            assert!((1.0 - found.reported - expected).abs() < 0.02, "{}", found.reported);
            assert!((0.04..=0.06).contains(&found.significant), "{}", found.significant);
            assert!(found.bias < 0.1, "{}", found.bias);
        }
    }

    /// People with habits, a part of whom are new: three messages each before, and up to three now.
    #[test]
    fn opens_are_adjusted_by_earlier_opens() {
        for messages in [1_u8, 3] {
            let found = simulate(10_000, 0.0, &|random| {
                let habit = if random.random_bool(0.3) { 0.7 } else { 0.1 };
                let mut opens = |of: u8| {
                    f64::from(
                        u8::try_from((0..of).filter(|_| random.random_bool(habit)).count())
                            .unwrap(),
                    )
                };
                let (before, now) = (opens(3), 1 + (messages - 1) * u8::from(opens(1) > 0.0));
                let y = opens(now);
                let is_new = random.random_bool(0.2);
                Person { x: (!is_new).then_some(before / 3.0), y, m: f64::from(now) }
            });
            assert!((0.04..=0.06).contains(&found.significant), "{}", found.significant);
            assert!(found.bias < 0.1 && found.variance_ratio < 0.9, "{}", found.variance_ratio);
            assert!((1.0 - found.reported - found.variance_ratio).abs() < 0.02);
        }
    }
}
