"""Cochran's Q and the weighted line through effects of several sendings, for `trend.rs`: writes trend.csv.

Run by hand: `python3 trend.py > trend.csv` with statsmodels 0.15.0 and scipy 1.17.1. Q is that of
`statsmodels.stats.meta_analysis.combine_effects`, the line that of `statsmodels.WLS`, whose standard error is brought to the
scale of known variances, times the square root of the dispersion where that is above 1. Counts are drawn by numpy 1.26.4.
"""

import math

import numpy as np
import statsmodels.api as sm
from scipy.stats import chi2, norm
from statsmodels.stats.meta_analysis import combine_effects

random = np.random.default_rng(20261124)


def case(sendings, people, rate, lifts):
    rows = []
    for at, lift in zip(sendings, lifts):
        own, base = int(people * random.uniform(0.8, 1.2)), people
        rows.append((at, random.binomial(own, rate * (1 + lift)), own, random.binomial(base, rate), base))
    return rows


CASES = [
    case(range(1, 9), 3000, 0.25, np.linspace(0.2, 0, 8)),
    case(range(1, 5), 500, 0.1, [0, 0, 0, 0]),
    case([1, 2, 5, 6, 9], 20000, 0.02, [0.3, 0.3, 0.3, 0.3, 0.3]),
    case(range(1, 13), 5000, 0.3, [0.3, -0.1] * 6),
    case(range(1, 7), 40000, 0.5, np.linspace(-0.1, 0.1, 6)),
]

print("case,at,x1,n1,x0,n0,q,q_p,slope,deviation,p")
for number, rows in enumerate(CASES, 1):
    effects = np.array([math.log((x1 / n1) / (x0 / n0)) for _, x1, n1, x0, n0 in rows])
    variances = np.array([(1 - x1 / n1) / x1 + (1 - x0 / n0) / x0 for _, x1, n1, x0, n0 in rows])
    combined = combine_effects(effects, variances)
    assert abs(combined.q - float(np.sum((effects - combined.mean_effect_fe) ** 2 / variances))) < 1e-9
    line = sm.WLS(effects, sm.add_constant([float(row[0]) for row in rows]), weights=1 / variances).fit()
    # WLS scales by the dispersion, also where that is below 1.
    deviation = line.bse[1] / math.sqrt(line.scale) * math.sqrt(max(1, line.scale))
    answers = [
        combined.q, chi2.sf(combined.q, len(rows) - 1), line.params[1], deviation,
        2 * norm.sf(abs(line.params[1] / deviation)),
    ]
    for row in rows:
        print(",".join([str(number), *map(str, row), *map(lambda value: repr(float(value)), answers)]))
