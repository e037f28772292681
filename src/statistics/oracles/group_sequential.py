"""Bounds of group sequential tests, Lan-DeMets spending of O'Brien and Fleming's shape, two-sided.

numpy 2, scipy 1 (versions are printed). The density of the sum is followed on a fine uniform grid (20,001 points, Simpson's
rule), independently of the quadrature of the crate. Writes group_sequential.csv: alpha, times, informations, bounds.
"""
import numpy, scipy
from scipy.integrate import simpson
from scipy.optimize import brentq
from scipy.stats import norm


def bounds(alpha, times, informations):
    found, spent, grid, density, before = [], 0.0, None, None, 0.0
    for time, information in zip(times, informations):
        until = 4 * norm.sf(norm.isf(alpha / 4) / numpy.sqrt(time))
        deviation, step = numpy.sqrt(information), numpy.sqrt(information - before)

        def beyond(bound):
            end = bound * deviation
            if grid is None:
                return 2 * norm.sf(end / step)
            return simpson(density * (norm.sf((end - grid) / step) + norm.cdf((-end - grid) / step)), x=grid)

        bound = 8.0 if beyond(8.0) >= until - spent else brentq(lambda b: beyond(b) - (until - spent), 0, 8.0, xtol=1e-12)
        new = numpy.linspace(-bound, bound, 20001) * deviation
        if grid is None:
            after = norm.pdf(new / step) / step
        else:
            after = numpy.array([simpson(density * norm.pdf((at - grid) / step) / step, x=grid) for at in new[::20]])
            new = new[::20]
        grid, density, before, spent = new, after, information, until
        found.append(bound)
    return found


CASES = [
    (0.05, [0.2, 0.4, 0.6, 0.8, 1.0], [0.2, 0.4, 0.6, 0.8, 1.0]),
    (0.05, [0.25, 0.5, 0.75, 1.0], [10, 15, 18, 20]),
    (0.01, [0.3, 0.7, 1.0], [5, 9, 12]),
    (0.0125, [0.125, 0.5, 0.625, 1.0], [100, 300, 420, 800]),
    (0.1, [1.0], [7]),
    (0.05, [k / 16 for k in range(1, 17)], [k / 16 for k in range(1, 17)]),
]
if __name__ == "__main__":
    with open("group_sequential.csv", "w") as out:
        out.write(f"# numpy {numpy.__version__}, scipy {scipy.__version__}: alpha, times, informations, bounds\n")
        for alpha, times, informations in CASES:
            row = [alpha, *times, *informations, *bounds(alpha, times, informations)]
            out.write(",".join(repr(float(value)) for value in row) + "\n")
