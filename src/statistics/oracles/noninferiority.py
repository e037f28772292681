"""One-sided p-values of the score test that a rate is higher than another by less than a margin, for `noninferiority.rs`:
writes noninferiority.csv.

Run by hand: `python3 noninferiority.py > noninferiority.csv` with mpmath 1.4.1 and statsmodels 0.15.0. The rates under the
margin are the closed form that Farrington and Manning give (Stat. Med. 9, 1990, 1447-1454: the root of a cubic, by
trigonometry), with 60 digits, which is another way than that of `score.rs`; the variance has the factor N / (N - 1) of
Miettinen and Nurminen (1985). The worst difference from statsmodels (`test_proportions_2indep`, method "score", with
correction) is written to the error output: 1e-4, since its rates under the margin are not those of the greatest likelihood.
"""

import sys
import warnings

import mpmath as mp
from statsmodels.stats.proportion import test_proportions_2indep

mp.mp.dps = 60


def constrained(x1, n1, x2, n2, s):
    """The likeliest rates with p1 - p2 = s."""
    theta, p1, p2 = mp.mpf(n2) / n1, mp.mpf(x1) / n1, mp.mpf(x2) / n2
    a = 1 + theta
    b = -(1 + theta + p1 + theta * p2 + s * (theta + 2))
    c = s * s + s * (2 * p1 + theta + 1) + p1 + theta * p2
    d = -p1 * s * (1 + s)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = mp.sign(v) * mp.sqrt(b * b / (3 * a) ** 2 - c / (3 * a))
    w = (mp.pi + mp.acos(min(mp.mpf(1), v / u**3) if u else mp.mpf(0))) / 3
    first = 2 * u * mp.cos(w) - b / (3 * a)
    return first, first - s


def z(x1, n1, x2, n2, s):
    if s == 0:
        p1 = p2 = mp.mpf(x1 + x2) / (n1 + n2)
    else:
        p1, p2 = constrained(x1, n1, x2, n2, s)
    variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * (n1 + n2) / (n1 + n2 - 1)
    difference = mp.mpf(x1) / n1 - mp.mpf(x2) / n2 - s
    return mp.mpf(0) if variance == 0 else difference / mp.sqrt(variance)


CASES = [
    (50, 10000, 50, 10000, "0.002"), (60, 10000, 50, 10000, "0.002"), (100, 10000, 50, 10000, "0.002"),
    (3, 20000, 1, 20000, "0.0005"), (0, 5000, 0, 5000, "0.0005"), (0, 4000, 12, 5000, "0.005"),
    (250, 9000, 20, 1000, "0.01"), (30, 1000, 300, 9000, "0.01"), (40, 40, 38, 40, "0.01"),
    (5600, 1000000, 5000, 1000000, "0.002"), (7, 30, 0, 30, "0.01"), (1, 100000, 900, 100000, "0.0005"),
]

print("x1,n1,x0,n0,margin,p_within,p_worse")
worst = 0
for x1, n1, x0, n0, margin in CASES:
    within = mp.ncdf(z(x1, n1, x0, n0, mp.mpf(margin)))
    worse = mp.ncdf(-z(x1, n1, x0, n0, mp.mpf(0)))
    if 0 < x1 < n1 and 0 < x0 < n0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = test_proportions_2indep(
                x1, n1, x0, n0, value=float(margin), compare="diff", method="score", correction=True,
                alternative="smaller",
            ).pvalue
        worst = max(worst, abs(other - float(within)))
    print(",".join([*map(str, (x1, n1, x0, n0)), margin, mp.nstr(within, 17), mp.nstr(worse, 17)]))
print("statsmodels differs by", worst, file=sys.stderr)
