"""Values of the beta distribution with 40 digits, for `beta.rs`: writes beta.csv. Run by hand with mpmath 1.3.

Rows `below`: alpha, beta, x, the regularised incomplete beta function. Rows `better`: alpha and beta of two rates, the
probability that the first is the greater, and how much is lost on average if the first, or the second, is chosen.
"""

import mpmath as mp

mp.mp.dps = 40


def below(a, b, x):
    # The continued fraction of DLMF 8.17.22 on the side where it settles fast.
    if x > (a + 1) / (a + b + 2):
        return 1 - below(b, a, 1 - x)
    front = mp.exp(mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b) + a * mp.log(x) + b * mp.log1p(-x)) / a
    c, d = mp.mpf(1), 1 / (1 - (a + b) * x / (a + 1))
    value = d
    m = 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + even * d)
        c = 1 + even / c
        value *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + odd * d)
        c = 1 + odd / c
        step = c * d
        value *= step
        if abs(step - 1) < mp.mpf(10) ** -30:
            return front * value


def points(a, b, zs):
    mean, deviation = mp.mpf(a) / (a + b), mp.sqrt(mp.mpf(a) * b / (a + b) ** 2 / (a + b + 1))
    return [float(mean + z * deviation) for z in zs if 0 < mean + z * deviation < 1]


for a, b in [(1, 2), (3, 5), (2, 10**4), (31, 10**5), (5, 10**8), (10**4, 10**5), (3 * 10**6, 7 * 10**6), (10**7, 9 * 10**7), (2, 10**10)]:
    for x in points(a, b, (-2, -0.5, 0.3, 1, 3)):
        print("below", a, b, repr(x), mp.nstr(below(mp.mpf(a), mp.mpf(b), mp.mpf(x)), 17), sep=",")
# Sums of whole numbers: P(first > second) = sum over i < a1 of B(a2 + i, b1 + b2) / ((b1 + i) B(1 + i, b1) B(a2, b2)).
ln_beta = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def better(a1, b1, a2, b2):
    return mp.fsum(
        mp.exp(ln_beta(a2 + i, b1 + b2) - mp.log(b1 + i) - ln_beta(1 + i, b1) - ln_beta(a2, b2)) for i in range(a1)
    )


def loss(a1, b1, a2, b2):
    # E[(second - first)+] = m2 P'(second with alpha + 1 is better) - m1 P''(first with alpha + 1 is worse).
    m1, m2 = mp.mpf(a1) / (a1 + b1), mp.mpf(a2) / (a2 + b2)
    return m2 * (1 - better(a1, b1, a2 + 1, b2)) - m1 * (1 - better(a1 + 1, b1, a2, b2))


for rates in [(4, 8, 5, 7), (7, 25, 25_001, 75_001), (31, 71, 200, 800), (10, 22, 3 * 10**7, 7 * 10**7), (201, 801, 251, 751)]:
    print("better", *rates, mp.nstr(better(*rates), 17), mp.nstr(loss(*rates), 17), sep=",")
