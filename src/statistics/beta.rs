//! The beta distribution: the posterior of a rate after a number of successes and failures.
//!
//! The incomplete beta function is here because `statrs` 0.18 is not exact enough at many trials: `comparison` holds both
//! against values of 40 digits. Draws are here because `rand_distr` takes other random numbers from the same seed, which
//! would change the figures of campaigns that learn.

use rand::{Rng, SeedableRng as _, rngs::StdRng};
use statrs::function::gamma::ln_gamma;

use crate::quadrature::{ends, integral};

/// Terms of the continued fraction; it settles within about the square root of the larger parameter.
const TERMS_MAX: u32 = 1_000_000;
/// Change below which the continued fraction has settled.
const SETTLED: f64 = 1e-15;
/// Halvings of the unit interval in a search: as many as a double has bits.
const HALVINGS: u32 = 60;
/// Smallest parameters for which Stirling's series is good to twelve digits.
const STIRLING_MIN: f64 = 10.0;
/// Largest distance for which ln(1 + x) − x is taken from its series.
const LINEAR_MAX: f64 = 0.5;
/// Terms of that series: the last is below 1e-17 of the first.
const SERIES_TERMS: u32 = 14;
/// Share of the distribution left out at each end of an integral.
const LEFT_OUT: f64 = 1e-12;

/// A rate of which `alpha - 1` successes and `beta - 1` failures were seen, nothing being known before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    /// One more than the successes.
    pub alpha: f64,
    /// One more than the failures.
    pub beta: f64,
}

impl Beta {
    /// Its mean, alpha / (alpha + beta).
    pub fn mean(self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }

    /// The square root of its variance.
    fn deviation(self) -> f64 {
        let sum = self.alpha + self.beta;
        (self.alpha / sum * (self.beta / sum) / (sum + 1.0)).sqrt()
    }

    fn density(self, x: f64) -> f64 {
        power_term(self.alpha, self.beta, x) / (x * (1.0 - x))
    }

    /// The share of it that lies below `x`: the regularised incomplete beta function.
    pub fn below(self, x: f64) -> f64 {
        let Self { alpha, beta } = self;
        if x <= 0.0 {
            return 0.0;
        }
        if x >= 1.0 {
            return 1.0;
        }
        let power = power_term(alpha, beta, x);
        // How far x is below the mean, times the trials. The fraction is for that side; above, the other tail is counted.
        let below_mean = alpha - (alpha + beta) * x;
        if below_mean >= 0.0 {
            (power * fraction(alpha, beta, x, below_mean)).min(1.0)
        } else {
            (1.0 - power * fraction(beta, alpha, 1.0 - x, -below_mean)).max(0.0)
        }
    }

    /// The value below which a share `p` of it lies, by halving.
    pub fn quantile(self, p: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.below(middle) < p { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// A rate drawn from it, as the quotient of two gamma variates.
    pub fn draw(self, random: &mut impl Rng) -> f64 {
        let (x, y) = (gamma(self.alpha, random), gamma(self.beta, random));
        x / (x + y)
    }
}

/// For each of several rates the probability that it is the greatest: the integral of its density over
/// the others' distributions. They add up to 1.
pub fn probabilities_to_be_best(rates: &[Beta]) -> Vec<f64> {
    let pieces = pieces(rates);
    let best = |own: usize, rate: Beta| {
        let others_below = |x: f64| -> f64 {
            let others = rates.iter().enumerate().filter(|(at, _)| *at != own);
            others.map(|(_, other)| other.below(x)).product()
        };
        let (low, high) = (rate.quantile(LEFT_OUT), rate.quantile(1.0 - LEFT_OUT));
        integral(low, high, &pieces, |x| rate.density(x) * others_below(x))
    };
    let found: Vec<f64> = rates.iter().enumerate().map(|(at, rate)| best(at, *rate)).collect();
    let sum: f64 = found.iter().sum();
    found.into_iter().map(|share| share / sum).collect()
}

/// For each of several rates how much is lost on average if it is chosen: the expectation of what the greatest has more
/// (Stucchio, Bayesian A/B Testing at VWO, 2014). From E[max] = ∫ 1 − ∏ F(x) dx.
pub fn expected_losses(rates: &[Beta]) -> Vec<f64> {
    let end = |p: f64| rates.iter().map(|rate| rate.quantile(p)).fold(0.0, f64::max);
    let (low, high) = (end(LEFT_OUT), end(1.0 - LEFT_OUT));
    let all_below = |x: f64| rates.iter().map(|rate| rate.below(x)).product::<f64>();
    let greatest = high - integral(low, high, &pieces(rates), all_below);
    rates.iter().map(|rate| (greatest - rate.mean()).max(0.0)).collect()
}

/// Where the distributions change fast.
fn pieces(rates: &[Beta]) -> Vec<f64> {
    rates.iter().flat_map(|rate| ends(rate.mean(), rate.deviation())).collect()
}

/// The random draws of an estimate.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    /// How many draws are made.
    pub count: usize,
    /// Seed of the generator: the same seed gives the same estimate.
    pub seed: u64,
}

/// How much better than the rate that looks best the truly best could still be, in parts of that one: the
/// given percentile of (greatest - best) / best, over random draws. Scott, Appl. Stochastic Models Bus.
/// Ind. 31 (2015), 37-45, calls it the value remaining.
pub fn value_remaining(rates: &[Beta], percentile: f64, draws: Draws) -> f64 {
    let best = rates.iter().enumerate().max_by(|(at, one), (later, other)| {
        one.mean().total_cmp(&other.mean()).then(later.cmp(at))
    });
    let Some((best, _)) = best else { return 0.0 };
    let mut random = StdRng::seed_from_u64(draws.seed);
    let mut remaining: Vec<f64> = (0..draws.count)
        .map(|_| {
            let drawn: Vec<f64> = rates.iter().map(|rate| rate.draw(&mut random)).collect();
            let greatest = drawn.iter().copied().fold(0.0, f64::max);
            (greatest - drawn[best]) / drawn[best].max(f64::MIN_POSITIVE)
        })
        .collect();
    remaining.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list of thousands"
    )]
    let place = (percentile * draws.count as f64) as usize;
    remaining.get(place.min(draws.count.saturating_sub(1))).copied().unwrap_or_default()
}

/// The continued fraction of the incomplete beta function in the form of Didonato and Morris (TOMS 708, 1992, BFRAC), in
/// which nothing cancels: `below_mean` is alpha − (alpha + beta)·x, at least 0.
fn fraction(alpha: f64, beta: f64, x: f64, below_mean: f64) -> f64 {
    let first = 1.0 + below_mean;
    let (quotient, inverse) = (beta / alpha, 1.0 + 1.0 / alpha);
    let (mut growth, mut shift) = (1.0, alpha + 1.0);
    let (mut numerator_before, mut denominator_before) = (0.0, 1.0);
    let (mut numerator, mut denominator) = (1.0, first / inverse);
    let mut value = inverse / first;
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        let (share, weight) = (n / alpha, n * (beta - n) * x);
        let scale = alpha / shift;
        let partial_numerator = growth * (growth + quotient) * scale * scale * (weight * x);
        let scale = (1.0 + share) / (inverse + share + share);
        let partial_denominator = n + weight / shift + scale * (first + n * (2.0 - x));
        growth = 1.0 + share;
        shift += 2.0;
        let next_numerator = partial_numerator * numerator_before + partial_denominator * numerator;
        let next_denominator =
            partial_numerator * denominator_before + partial_denominator * denominator;
        let before = value;
        value = next_numerator / next_denominator;
        if (value - before).abs() <= SETTLED * value {
            break;
        }
        // Scaled, so that neither grows.
        (numerator_before, denominator_before) =
            (numerator / next_denominator, denominator / next_denominator);
        (numerator, denominator) = (value, 1.0);
    }
    value
}

/// x^alpha (1 - x)^beta / B(alpha, beta).
///
/// The logarithms of large gamma functions would cancel to nine digits or fewer. In Stirling's formula the large parts
/// cancel before they are computed (Loader, Fast and Accurate Computation of Binomial Probabilities, 2000; Didonato and
/// Morris, TOMS 708, 1992): what remains is the distance of x from the mean, and the rests of the series.
fn power_term(alpha: f64, beta: f64, x: f64) -> f64 {
    let sum = alpha + beta;
    let (smaller, larger) = (alpha.min(beta), alpha.max(beta));
    if larger < STIRLING_MIN {
        let ln_beta = ln_gamma(alpha) + ln_gamma(beta) - ln_gamma(sum);
        return (alpha * x.ln() + beta * (-x).ln_1p() - ln_beta).exp();
    }
    if smaller < STIRLING_MIN {
        let ln_beta = ln_gamma(smaller) - ln_gamma_difference(larger, smaller);
        return (alpha * x.ln() + beta * (-x).ln_1p() - ln_beta).exp();
    }
    let (mean, rest) = (alpha / sum, beta / sum);
    let off = x - mean;
    // The parts that are linear in the distance add up to nothing.
    let powers = alpha * ln_1p_less(off / mean) + beta * ln_1p_less(-off / rest);
    let rests = stirling_rest(alpha) + stirling_rest(beta) - stirling_rest(sum);
    (alpha * beta / (sum * std::f64::consts::TAU)).sqrt() * (powers - rests).exp()
}

/// ln Γ(z + a) − ln Γ(z) of a large z.
fn ln_gamma_difference(z: f64, a: f64) -> f64 {
    (z + a - 0.5) * (a / z).ln_1p() + a * (z.ln() - 1.0) + stirling_rest(z + a) - stirling_rest(z)
}

/// ln(1 + x) − x, without cancellation near 0.
fn ln_1p_less(x: f64) -> f64 {
    if x.abs() > LINEAR_MAX {
        return x.ln_1p() - x;
    }
    // ln(1 + x) = 2 artanh(y) with y = x / (2 + x), and x = 2y / (1 − y).
    let y = x / (2.0 + x);
    let square = y * y;
    let mut term = 2.0 * y * square;
    let mut sum = 0.0;
    for n in 1..SERIES_TERMS {
        sum += term / f64::from(2 * n + 1);
        term *= square;
    }
    sum - x * y
}

/// What Stirling's series adds to the logarithm of the gamma function (DLMF 5.11.1), four terms.
fn stirling_rest(z: f64) -> f64 {
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

/// A gamma variate of this shape (at least 1) and scale 1: Marsaglia and Tsang, ACM Trans. Math. Softw. 26
/// (2000), 363-372.
fn gamma(shape: f64, random: &mut impl Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = standard_normal(random);
        let cube = (1.0 + c * normal).powi(3);
        if cube <= 0.0 {
            continue;
        }
        let uniform: f64 = 1.0 - random.random::<f64>();
        if uniform.ln() < 0.5 * normal * normal + d - d * cube + d * cube.ln() {
            return d * cube;
        }
    }
}

/// Box and Muller's transform, one of its two values.
fn standard_normal(random: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(successes: f64, of: f64) -> Beta {
        Beta { alpha: 1.0 + successes, beta: 1.0 + of - successes }
    }

    fn near(one: f64, other: f64, within: f64) -> bool {
        (one - other).abs() < within
    }

    /// Rows of `oracles/beta.csv` of a kind, as numbers.
    fn vectors(kind: &str) -> Vec<Vec<f64>> {
        let rows = include_str!("oracles/beta.csv").lines();
        let of_kind = rows.filter_map(|row| row.strip_prefix(kind)?.strip_prefix(','));
        let found: Vec<Vec<f64>> = of_kind
            .map(|row| row.split(',').map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(found.len() >= 5, "{kind}");
        found
    }

    #[test]
    fn the_distribution_matches_values_of_40_digits_up_to_ten_thousand_million_trials() {
        for row in vectors("below") {
            let found = Beta { alpha: row[0], beta: row[1] }.below(row[2]);
            assert!(near(found, row[3], 1e-9), "{row:?}: {found}");
        }
    }

    #[test]
    fn the_better_of_two_and_the_loss_match_values_of_40_digits() {
        for row in vectors("better") {
            let rates =
                [Beta { alpha: row[0], beta: row[1] }, Beta { alpha: row[2], beta: row[3] }];
            let found = probabilities_to_be_best(&rates);
            assert!(near(found[0], row[4], 1e-9), "{row:?}: {found:?}");
            let losses = expected_losses(&rates);
            assert!(near(losses[0], row[5], 1e-9), "{row:?}: {losses:?}");
            // What the second loses is more by what it has less on average.
            let other = row[5] + rates[0].mean() - rates[1].mean();
            assert!(near(losses[1], other, 1e-9), "{row:?}: {losses:?}");
        }
    }

    /// Two rates each, by Evan Miller's closed form.
    #[test]
    fn probability_of_the_better_rate_matches_the_closed_form() {
        let table = [
            ((200.0, 1000.0), (250.0, 1000.0), 0.9963),
            ((20.0, 1000.0), (30.0, 1000.0), 0.9223),
            ((5.0, 50.0), (9.0, 50.0), 0.8684),
        ];
        for (a, b, expected) in table {
            let found = probabilities_to_be_best(&[seen(a.0, a.1), seen(b.0, b.1)]);
            assert!(near(found[1], expected, 5e-5), "{a:?} {b:?}: {found:?}");
            assert!(near(found[0] + found[1], 1.0, 1e-12));
        }
    }

    #[test]
    fn without_data_all_arms_are_equal() {
        for count in 1..=8_u32 {
            let rates = vec![seen(0.0, 0.0); count as usize];
            for share in probabilities_to_be_best(&rates) {
                assert!(near(share, 1.0 / f64::from(count), 1e-9), "{count}: {share}");
            }
        }
    }

    #[test]
    fn the_distribution_matches_tables() {
        // Uniform; a power; and by symmetry.
        assert!(near(seen(0.0, 0.0).below(0.3), 0.3, 1e-13));
        assert!(near(Beta { alpha: 3.0, beta: 1.0 }.below(0.5), 0.125, 1e-13));
        assert!(near(Beta { alpha: 5000.0, beta: 5000.0 }.below(0.5), 0.5, 1e-10));
        // R: pbeta(0.2, 2, 5) = 0.34464; qbeta(0.975, 2, 5) = 0.6412346
        assert!(near(Beta { alpha: 2.0, beta: 5.0 }.below(0.2), 0.344_64, 1e-10));
        assert!(near(Beta { alpha: 2.0, beta: 5.0 }.quantile(0.975), 0.641_234_6, 1e-6));
        assert!(near(seen(0.0, 0.0).quantile(0.025), 0.025, 1e-12));
    }

    #[test]
    fn value_remaining_matches_the_closed_form_and_is_zero_when_settled() {
        // Of two unknown rates: P(other > (1 + x) own) = 1 / (2 (1 + x)) is 5 % at x = 9.
        let unknown = [seen(0.0, 0.0), seen(0.0, 0.0)];
        let found = value_remaining(&unknown, 0.95, Draws { count: 200_000, seed: 1 });
        assert!(near(found, 9.0, 0.3), "{found}");
        let again = value_remaining(&unknown, 0.95, Draws { count: 200_000, seed: 1 });
        assert!(found.to_bits() == again.to_bits(), "the same draws each time");
        // Nothing, where the matter is settled or there is but one.
        let settled = [seen(10.0, 100_000.0), seen(50_000.0, 100_000.0)];
        assert!(value_remaining(&settled, 0.95, Draws { count: 1_000, seed: 1 }) < 1e-9);
        assert!(value_remaining(&[seen(1.0, 2.0)], 0.95, Draws { count: 1_000, seed: 1 }) < 1e-9);
        assert!(value_remaining(&[], 0.95, Draws { count: 1_000, seed: 1 }) < 1e-9);
    }

    #[test]
    fn draws_have_the_mean_and_spread_of_their_distribution() {
        let rate = Beta { alpha: 3.0, beta: 9.0 };
        let mut random = StdRng::seed_from_u64(7);
        let drawn: Vec<f64> = (0..40_000).map(|_| rate.draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / 40_000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40_000.0;
        assert!(near(mean, 0.25, 0.003), "{mean}");
        assert!(near(variance, 27.0 / (144.0 * 13.0), 0.0005), "{variance}");
    }

    proptest! {
        #[test]
        fn shares_add_up_to_one(arms in prop::collection::vec((0_u32..200, 0_u32..2000), 1..6)) {
            let rates: Vec<Beta> = arms
                .iter()
                .map(|(s, f)| Beta { alpha: 1.0 + f64::from(*s), beta: 1.0 + f64::from(*f) })
                .collect();
            let found = probabilities_to_be_best(&rates);
            prop_assert!(near(found.iter().sum(), 1.0, 1e-9));
            prop_assert!(found.iter().all(|share| (0.0..=1.0).contains(share)));
        }

        #[test]
        fn quantiles_invert_the_distribution(alpha in 1_u32..5000, beta in 1_u32..5000, p in 0.001..0.999_f64) {
            let rate = Beta { alpha: f64::from(alpha), beta: f64::from(beta) };
            prop_assert!(near(rate.below(rate.quantile(p)), p, 1e-8));
        }
    }
}
