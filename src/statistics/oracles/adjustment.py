"""Differences adjusted by a covariate from before, for `adjustment.rs`: writes adjustment.csv.

Run by hand: `python3 adjustment.py > adjustment.csv` with gbstats 0.8.0, numpy 1.26.4 and scipy 1.17.1. Theta is
`compute_theta`, the means and variances are those of `RegressionAdjustedStatistic`, the difference and its variance those of
`TwoSidedTTest` (absolute). The p-value is of the normal distribution, as this crate takes it for large samples.
"""

import dataclasses
import math

import numpy as np
from gbstats.frequentist.tests import FrequentistConfig, TwoSidedTTest
from gbstats.models.statistics import RegressionAdjustedStatistic, SampleMeanStatistic, compute_theta
from scipy.stats import norm

random = np.random.default_rng(20261124)


def normal(n, correlation, effect):
    x = random.normal(3, 2, n)
    return x, 5 + effect + correlation * x + random.normal(0, 2, n)


def opens(n, effect):
    habit = np.where(random.random(n) < 0.3, 0.7, 0.1)
    return random.binomial(4, habit) / 4, random.binomial(1, np.clip(habit * (1 + effect), 0, 1))


def money(n, effect):
    habit = random.gamma(0.5, 0.2, n)
    amount = lambda: random.poisson(habit) * np.exp(random.normal(3, 1, n))
    return amount(), amount() * (1 + effect)


def statistic(pair):
    x, y = pair
    return RegressionAdjustedStatistic(
        n=len(x),
        post_statistic=SampleMeanStatistic(n=len(x), sum=float(y.sum()), sum_squares=float((y * y).sum())),
        pre_statistic=SampleMeanStatistic(n=len(x), sum=float(x.sum()), sum_squares=float((x * x).sum())),
        post_pre_sum_of_products=float((x * y).sum()),
        theta=0,
    )


CASES = [
    (normal(400, 0.4, 0), normal(300, 0.4, 0.2)), (normal(5000, 0.9, 0), normal(5000, 0.9, 0.1)),
    (normal(20, -0.5, 0), normal(2000, -0.5, 0)), (normal(200, 0.0, 0), normal(200, 0.0, 0)),
    (opens(1000, 0), opens(1200, 0.1)), (opens(20000, 0), opens(1000, 0)), (opens(40, 0), opens(50, 0.5)),
    (money(3000, 0), money(3000, 0.3)), (money(9000, 0), money(1000, 0)),
]

sides = ["people", "x", "xx", "y", "yy", "xy"]
print(",".join([*(f"{name}0" for name in sides), *(f"{name}1" for name in sides)] + [
    "theta", "difference", "deviation", "p", "variance_reduction"]))
for base, own in CASES:
    a, b = statistic(base), statistic(own)
    theta = compute_theta(a, b)
    adjusted = [dataclasses.replace(it, theta=theta) for it in (a, b)]
    test = TwoSidedTTest(*adjusted, FrequentistConfig(difference_type="absolute"))
    difference, deviation = test.point_estimate, math.sqrt(test.variance)
    raw = TwoSidedTTest(a.post_statistic, b.post_statistic, FrequentistConfig(difference_type="absolute"))
    answers = [theta, difference, deviation, 2 * norm.sf(abs(difference) / deviation), 1 - test.variance / raw.variance]
    sums = [
        value
        for it in (a, b)
        for value in (it.n, it.pre_statistic.sum, it.pre_statistic.sum_squares, it.post_statistic.sum,
                      it.post_statistic.sum_squares, it.post_pre_sum_of_products)
    ]
    print(",".join(repr(float(value)) for value in [*sums, *answers]))
