// Draws every chart of the page with uPlot, from the numbers in its attribute.

import uPlot from "asset:uplot.js";

const HEIGHT = 288;
const SERIES = 6;

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function shown(value, unit) {
  if (value == null) return "–";
  return unit === "percent" ? `${number.format(value * 100)} %` : number.format(value);
}

function options(data, width) {
  const axis = { stroke: token("--quiet"), grid: { stroke: token("--line"), width: 1 }, ticks: { stroke: token("--line") } };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false } },
    series: [
      { label: "Interval", value: (_, at) => (at == null ? "–" : data.labels[at]) },
      ...data.series.map((series, index) => ({
        label: series.label,
        stroke: token(`--series-${(index % SERIES) + 1}`),
        width: 2,
        dash: series.isCompared ? [6, 4] : undefined,
        points: { show: data.times.length < 60 },
        value: (_, value) => shown(value, data.unit),
      })),
    ],
    axes: [
      { ...axis, values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? data.labels[at] ?? "" : "")) },
      { ...axis, size: 70, values: (_, splits) => splits.map((value) => shown(value, data.unit)) },
    ],
  };
}

function draw(holder) {
  const data = JSON.parse(holder.dataset.chart);
  const at = data.times.map((_, index) => index);
  const values = [at, ...data.series.map((series) => series.values)];
  let plot;
  const render = () => {
    plot?.destroy();
    plot = new uPlot(options(data, Math.max(holder.clientWidth, 200)), values, holder);
  };
  render();
  new ResizeObserver(() => {
    const width = Math.max(holder.clientWidth, 200);
    if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }).observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
}

function drawAll(root) {
  for (const holder of root.querySelectorAll("[data-chart]:not([data-drawn])")) {
    holder.dataset.drawn = "";
    draw(holder);
  }
}

drawAll(document);
document.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
