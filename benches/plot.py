#!/usr/bin/env python3
"""Draws benches/figures.svg from "Figures of the whole" in benches/README.md: python3 benches/plot.py"""

import pathlib
import re

HERE = pathlib.Path(__file__).parent
# Label, the beginning of the figure's item, and which of the item's numbers is meant.
ROWS = [
    ("events acknowledged, on disk", "- **batches of 500, fsynced", 0),
    ("events landed in ClickHouse", "- **the same, landed in ClickHouse", 0),
    ("text messages handed over", "- **campaign to 100,000", 1),
    ("emails handed over", "- **campaign to 100,000", 2),
]
MACHINES = [("Xeon", "#8da9c4"), ("EPYC", "#134074")]
WIDTH, LEFT, RIGHT, BAR, GAP = 720, 200, 110, 14, 14


def rates():
    text = (HERE / "README.md").read_text().replace("\n  ", " ")
    items = [line for line in text.splitlines() if line.startswith("- ")]
    for label, start, part in ROWS:
        item = next(it for it in items if it.startswith(start))
        for machine, colour in MACHINES:
            value = re.search(rf"\*{machine}\*: (.*?)(?:; \*|$)", item).group(1)
            figure = re.match(r"([\d,.]+)( k)?", value.split("; ")[part])
            rate = float(figure.group(1).replace(",", "")) * (1000 if figure.group(2) else 1)
            yield label, machine, colour, rate


def main():
    bars, y, most = [], 40, {}
    figures = list(rates())
    for label, _, _, rate in figures:
        unit = label.split()[0] == "events"
        most[unit] = max(rate, most.get(unit, 0))
    for index, (label, machine, colour, rate) in enumerate(figures):
        first = index % len(MACHINES) == 0
        y += GAP if first else 0
        length = (WIDTH - LEFT - RIGHT) * rate / most[label.split()[0] == "events"]
        if first:
            bars.append(f'<text x="{LEFT - 10}" y="{y + BAR + 4}" text-anchor="end">{label}</text>')
        bars.append(f'<rect x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR - 2}" fill="{colour}"/>')
        bars.append(f'<text x="{LEFT + length + 6:.0f}" y="{y + BAR - 3}">{rate:,.0f}/s</text>')
        y += BAR
    legend = "".join(
        f'<rect x="{LEFT + 170 * i}" y="14" width="12" height="12" fill="{colour}"/>'
        f'<text x="{LEFT + 18 + 170 * i}" y="24">{machine}, 2 cores</text>'
        for i, (machine, colour) in enumerate(MACHINES)
    )
    style = 'font-family="sans-serif" font-size="12" fill="#222"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 16}" {style}>\n'
    svg += f'<rect width="100%" height="100%" fill="#fff"/>\n{legend}\n' + "\n".join(bars) + "\n</svg>\n"
    (HERE / "figures.svg").write_text(svg)


main()
