"""Score intervals of Miettinen and Nurminen at 95 %, for `score.rs`: writes score.csv.

Run by hand: `python3 score.py > score.csv` with mpmath 1.3 and statsmodels 0.15.0. The values are roots of the score
found with 40 digits. Ratios agree with statsmodels (`confint_proportions_2indep`, method "score", with correction) to 1e-12
where that finds them. Differences of statsmodels 0.15.0 do not hold the published values; these do, to the four digits that
Newcombe gives (Stat. Med. 17, 1998, 873-890, table II, method 6): 56/70 and 48/80 [0.0528, 0.3382], 9/10 and 3/10 [0.1700,
0.8406], 6/7 and 2/7 [0.0342, 0.8534], 5/56 and 0/29 [-0.0326, 0.1933].
"""

import sys
import warnings

import mpmath as mp
from statsmodels.stats.proportion import confint_proportions_2indep

mp.mp.dps = 40
Z = mp.sqrt(2) * mp.erfinv(mp.mpf("0.95"))


def bisect(low, high, falling):
    for _ in range(130):
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def part(count, rate):
    return mp.mpf(0) if count == 0 else count / rate


def likeliest(x1, n1, x0, n0, slope, offset):
    low, high = max(mp.mpf(0), -offset / slope), min(mp.mpf(1), (1 - offset) / slope)
    own = lambda p: slope * p + offset
    return bisect(
        low,
        high,
        lambda p: slope * part(x1, own(p))
        - slope * part(n1 - x1, 1 - own(p))
        + part(x0, p)
        - part(n0 - x0, 1 - p),
    )


def deviation(x1, n1, x0, n0, slope, offset):
    difference = mp.mpf(x1) / n1 - slope * mp.mpf(x0) / n0 - offset
    p0 = likeliest(x1, n1, x0, n0, slope, offset)
    p1 = slope * p0 + offset
    variance = (p1 * (1 - p1) / n1 + slope**2 * p0 * (1 - p0) / n0) * (n1 + n0) / (n1 + n0 - 1)
    if variance <= mp.mpf(10) ** -30:
        return mp.mpf(0) if abs(difference) < mp.mpf(10) ** -30 else mp.sign(difference) * mp.inf
    return difference / mp.sqrt(variance)


def difference(x1, n1, x0, n0):
    at = lambda d: deviation(x1, n1, x0, n0, mp.mpf(1), d)
    middle = mp.mpf(x1) / n1 - mp.mpf(x0) / n0
    return bisect(mp.mpf(-1), middle, lambda d: at(d) - Z), bisect(middle, mp.mpf(1), lambda d: at(d) + Z)


def ratio(x1, n1, x0, n0):
    if x0 == 0:
        return None
    at = lambda r: deviation(x1, n1, x0, n0, r, mp.mpf(0))
    middle = (mp.mpf(x1) / n1) / (mp.mpf(x0) / n0)
    high = max(middle, mp.mpf(1))
    while at(high) >= -Z:
        high *= 2
    low = mp.mpf(0) if x1 == 0 else bisect(mp.mpf(10) ** -20, middle, lambda r: at(r) - Z)
    return low, bisect(middle, high, lambda r: at(r) + Z)


CASES = [
    (250, 1000, 200, 1000), (30, 1000, 20, 1000), (9, 50, 5, 50), (40, 40, 40, 40), (0, 40, 0, 40), (0, 30, 5, 40),
    (40, 40, 30, 40), (7, 10, 1, 9), (1, 1, 1, 1), (1, 2, 1, 1), (5, 100, 0, 80), (107, 513, 109, 478),
    (56, 70, 48, 80), (9, 10, 3, 10), (6, 7, 2, 7), (5, 56, 0, 29),
    (300, 1000, 10, 20), (30000, 100000, 29500, 100000), (2, 100000, 1, 100000),
]

print("x1,n1,x0,n0,difference_lower,difference_upper,ratio_lower,ratio_upper")
for case in CASES:
    found, quotient = difference(*case), ratio(*case)
    # Its search fails where none or all succeed.
    if 0 < case[0] < case[1] and 0 < case[2] < case[3]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = confint_proportions_2indep(*case, compare="ratio", method="score", correction=True)
        worst = max(abs(float(a) - b) / max(1, b) for a, b in zip(quotient, other))
        print(case, "ratio off by", worst, file=sys.stderr)
    texts = [mp.nstr(value, 17) for value in found] + ([mp.nstr(v, 17) for v in quotient] if quotient else ["", ""])
    print(",".join([*map(str, case), *texts]))
