// @ts-check
// Small drawings: curves of numbers and histograms of counts.
import { el } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 40;
const BAR = 5; // the width of a single value

/** @typedef {{density: Float64Array, points: [number, number][]}} Drawn */

/** A bar of a value that has a probability: as high as the drawing if it is sure. @param {string} kind @param {number} place a fraction of the width @param {number} p */
function pointBar(kind, place, p) {
  const height = Math.max(1.5, HEIGHT * p);
  const x = Math.min(WIDTH - BAR, Math.max(0, WIDTH * place - BAR / 2));
  return kind === "was"
    ? el("path", { class: "was", d: `M${x},${HEIGHT} v${-height} h${BAR} v${height}` })
    : el("rect", { class: "point", x, y: HEIGHT - height, width: BAR, height });
}

/** A number now and before, or where its known value is. @param {Drawn | null | undefined} own @param {Drawn | null | undefined} before @param {(value: number) => number} placed where on the width a value is, as a fraction @param {number | undefined} set the known value */
export function curve(own, before, placed, set) {
  const [now, was] = [own?.density, before?.density];
  const known = set === undefined ? null : placed(set);
  const bars = (/** @type {string} */ kind, /** @type {Drawn | null | undefined} */ of) =>
    (of?.points ?? []).map(([value, p]) => pointBar(kind, placed(value), p));
  const top = Math.max(...(now ?? []), ...(was ?? []), 1e-300);
  const path = (/** @type {ArrayLike<number>} */ density) =>
    Array.from(
      density,
      (p, i) => `${((WIDTH * i) / (density.length - 1)).toFixed(1)},${(HEIGHT - (HEIGHT - 2) * (p / top)).toFixed(1)}`,
    ).join(" L");
  return el(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    now ? el("path", { class: "now", d: `M0,${HEIGHT} L${path(now)} L${WIDTH},${HEIGHT} Z` }) : null,
    was ? el("path", { class: "was", d: `M${path(was)}` }) : null,
    ...bars("now", own),
    ...bars("was", before),
    known === null
      ? null
      : el("rect", {
          class: "known",
          x: Math.min(WIDTH - 3, Math.max(0, WIDTH * known - 1.5)),
          y: 0,
          width: 3,
          height: HEIGHT,
        }),
    el("line", { class: "axis", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
  );
}

/** P(count = k), now as bars and before as a line of steps. @param {Float64Array} now @param {Float64Array | null} was @param {string} title */
export function histogram(now, was, title) {
  const top = Math.max(...now, ...(was ?? []), 1e-300);
  const step = WIDTH / now.length;
  const gap = Math.min(1.5, step / 5);
  const height = 56;
  const y = (/** @type {number} */ p) => (height * (1 - p / top)).toFixed(1);
  const steps = was
    ? Array.from(was, (p, k) => `L${(k * step).toFixed(1)},${y(p)} L${((k + 1) * step).toFixed(1)},${y(p)}`).join(" ")
    : "";
  return el(
    "svg",
    {
      class: "histogram",
      viewBox: `0 0 ${WIDTH} ${height}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": title,
    },
    ...Array.from(now, (p, k) =>
      el("rect", {
        class: "now",
        x: (k * step + gap).toFixed(2),
        y: y(p),
        width: Math.max(0.5, step - 2 * gap).toFixed(2),
        height: (height * (p / top)).toFixed(1),
      }),
    ),
    was ? el("path", { class: "was", d: `M0,${height} ${steps} L${WIDTH},${height}` }) : null,
    el("line", { class: "axis", x1: 0, x2: WIDTH, y1: height, y2: height }),
  );
}
