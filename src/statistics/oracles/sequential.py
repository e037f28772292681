"""Confidence sequences as GrowthBook computes them, and likelihood ratios of divisions to 40 digits.

gbstats and mpmath (versions are printed). Confidence sequences: gbstats.frequentist.tests.SequentialTwoSidedTTest on means.
Writes confidence_sequence.csv (units, variance a unit, narrowest at, alpha, difference, half width, p-value) and division.csv (counts, weights, logarithm of
the ratio under a Dirichlet prior of concentration 1,000).
"""
from importlib.metadata import version

import mpmath
from gbstats.frequentist.tests import SequentialConfig, SequentialTwoSidedTTest
from gbstats.models.statistics import SampleMeanStatistic

mpmath.mp.dps = 40


def ln_ratio(counts, weights, concentration=1000):
    shares = [mpmath.mpf(weight) / sum(weights) for weight in weights]
    n = sum(counts)
    ratio = mpmath.loggamma(concentration) - mpmath.loggamma(concentration + n)
    for count, share in zip(counts, shares):
        prior = concentration * share
        ratio += mpmath.loggamma(prior + count) - mpmath.loggamma(prior) - count * mpmath.log(share)
    return ratio


if __name__ == "__main__":
    with open("confidence_sequence.csv", "w") as out:
        out.write(f"# gbstats {version('gbstats')}: units, variance, narrowest at, alpha, difference, half width, p-value\n")
        for n_a, n_b in [(40, 60), (500, 500), (9000, 11000), (10**6, 10**6)]:
            for mean_a, mean_b in [(0.2, 0.22), (5.0, 5.4), (0.02, 0.0205)]:
                for narrowest_at, alpha in [(5000, 0.05), (300, 0.01)]:
                    sides = [
                        SampleMeanStatistic(n=n, sum=n * mean, sum_squares=n * (mean * mean + 3 * mean))
                        for n, mean in [(n_a, mean_a), (n_b, mean_b)]
                    ]
                    config = SequentialConfig(
                        difference_type="absolute", alpha=alpha, sequential_tuning_parameter=narrowest_at
                    )
                    test = SequentialTwoSidedTTest(*sides, config=config)
                    low, high = test.confidence_interval
                    units = n_a + n_b
                    row = [units, test.variance * units, narrowest_at, alpha, test.point_estimate, (high - low) / 2]
                    out.write(",".join(repr(float(it)) for it in [*row, test.p_value]) + "\n")
    with open("division.csv", "w") as out:
        out.write(f"# mpmath {version('mpmath')}: counts, weights, logarithm of the ratio\n")
        for counts, weights in [
            ([10000, 10000], [50, 50]), ([10400, 9600], [1, 1]), ([306, 288], [90, 10]), ([1, 19], [1, 99]),
            ([333, 340, 327], [1, 1, 1]), ([5, 0, 0, 0, 0, 0, 0, 700], [1, 1, 1, 1, 1, 1, 1, 93]), ([10**9, 10**9 + 40000], [1, 1]),
        ]:
            numbers = [*counts, *weights, mpmath.nstr(ln_ratio(counts, weights), 17)]
            out.write(",".join(str(number) for number in numbers) + "\n")
