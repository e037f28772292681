// Draws every chart of the page with uPlot, from the numbers in its attribute.

import uPlot from "asset:uplot.js";

const HEIGHT = 288;
const FONT = "12px system-ui";
// Colours of the style sheet. When they are used up, lines have them once more with other dashes.
const COLOURS = 12;
// Dashes of a line and of the period before it, as the chart has them and as the border in the legend.
const DASHES = [
  { own: [], before: [6, 4], border: "solid" },
  { own: [2, 3], before: [8, 3, 2, 3], border: "dotted" },
  { own: [16, 4], before: [16, 3, 2, 3, 2, 3], border: "double" },
];

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function shown(value, unit) {
  if (value == null) return "–";
  return unit === "percent" ? `${number.format(value * 100)} %` : number.format(value);
}

// The look of each line. A line of the period before follows the line that it belongs to, and has its colour.
function looks(series) {
  let own = -1;
  return series.map(({ isCompared }) => {
    if (!isCompared || own < 0) own += 1;
    const { own: line, before, border } = DASHES[Math.floor(own / COLOURS) % DASHES.length];
    return {
      stroke: token(`--series-${(own % COLOURS) + 1}`),
      dash: isCompared ? before : line,
      border: isCompared ? "dashed" : border,
    };
  });
}

// The width of the widest label below the chart.
function widest(labels) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = FONT;
  return Math.ceil(Math.max(0, ...labels.map((label) => pen.measureText(label).width)));
}

function options(data, width) {
  const lines = looks(data.series);
  const label = widest(data.labels);
  const axis = { stroke: token("--quiet"), grid: { stroke: token("--line"), width: 1 }, ticks: { stroke: token("--line") } };
  return {
    width,
    height: HEIGHT,
    // The last label stands in the middle below its point: half of it is right of the lines.
    padding: [null, Math.min(label / 2 + 4, width / 4), null, null],
    legend: { markers: { width: 3, dash: (_, at) => lines[at - 1]?.border ?? "solid" } },
    scales: { x: { time: false } },
    series: [
      { label: "Interval", value: (_, at) => (at == null ? "–" : data.labels[at]) },
      ...data.series.map((series, index) => ({
        label: series.label,
        stroke: lines[index].stroke,
        width: 2,
        dash: lines[index].dash,
        points: { show: data.times.length < 60 },
        value: (_, value) => shown(value, data.unit),
      })),
    ],
    axes: [
      { ...axis, font: FONT, space: label + 16, values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? data.labels[at] ?? "" : "")) },
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
