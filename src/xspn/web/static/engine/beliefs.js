// @ts-check
// What is believed of each variable: probabilities of values, or a mixture of distributions of a number.

/** @typedef {{weight: number, law: import("./laws.js").Law}} Component */

const QUANTILE_STEPS = 200;
const NEGLIGIBLE = 1e-9;

/** Probabilities of discrete values, and components of real variables, added up over leaves. */
export class Beliefs {
  /** @param {Int32Array} start where each column's values begin @param {Int32Array} sizes their number; 0 for reals and columns outside */
  constructor(start, sizes) {
    this.start = start;
    this.sizes = sizes;
    this.p = new Float64Array(start[start.length - 1]);
    /** @type {Component[][]} */
    this.reals = Array.from({ length: sizes.length }, () => []);
  }

  /** @param {number} column @param {number} value @param {number} p */
  add(column, value, p) {
    this.p[this.start[column] + value] += p;
  }

  /** @param {number} column @param {number} weight @param {import("./laws.js").Law} law */
  addReal(column, weight, law) {
    if (weight > 0) this.reals[column].push({ weight, law });
  }

  /** The probabilities of a column's values. @param {number} column */
  of(column) {
    return this.p.subarray(this.start[column], this.start[column] + this.sizes[column]);
  }
}

/** The weight of all parts. @param {Component[]} parts */
function totalWeight(parts) {
  return parts.reduce((sum, part) => sum + part.weight, 0);
}

/** Mean and standard deviation of a mixture. @param {Component[]} parts */
export function mixtureMoments(parts) {
  const total = totalWeight(parts);
  let mean = 0;
  for (const { weight, law } of parts) mean += (weight / total) * law.mean;
  let variance = 0;
  for (const { weight, law } of parts) variance += (weight / total) * (law.std ** 2 + (law.mean - mean) ** 2);
  return { mean, std: Math.sqrt(variance) };
}

/** P(X ≤ x) of a mixture. @param {Component[]} parts @param {number} x */
export function mixtureCdf(parts, x) {
  let below = 0;
  for (const { weight, law } of parts) below += weight * law.below(x);
  return below / totalWeight(parts);
}

/** The values of a mixture that have a probability, and this. @param {Component[]} parts @returns {[number, number][]} */
export function mixturePoints(parts) {
  const total = totalWeight(parts);
  /** @type {Map<number, number>} */
  const found = new Map();
  for (const { weight, law } of parts)
    if (law.point !== null) found.set(law.point, (found.get(law.point) ?? 0) + weight / total);
  return [...found].filter(([, p]) => p > NEGLIGIBLE).sort(([a], [b]) => a - b);
}

/** The number below which a fraction of a mixture lies: one of its points, or by bisection. @param {Component[]} parts @param {number} fraction */
export function mixtureQuantile(parts, fraction) {
  const heavy = parts.filter((part) => part.weight > NEGLIGIBLE);
  const used = heavy.length ? heavy : parts;
  let low = Infinity;
  let high = -Infinity;
  let size = Infinity;
  for (const { law } of used) {
    low = Math.min(low, law.reach[0]);
    high = Math.max(high, law.reach[1]);
    size = Math.min(size, law.size);
  }
  for (const [value, p] of mixturePoints(used)) {
    const below = mixtureCdf(used, value);
    if (fraction > below) low = Math.max(low, value);
    else if (fraction > below - p) return value;
    else high = Math.min(high, value);
  }
  for (let step = 0; step < QUANTILE_STEPS && high - low > 1e-9 * size; step++) {
    const middle = 0.5 * (low + high);
    if (mixtureCdf(used, middle) < fraction) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

/** What a drawing of a mixture spans: all its points, nearly all of the rest but for long tails, and nothing that is impossible. @param {Component[]} parts @returns {[number, number]} */
export function mixtureSpan(parts) {
  const points = mixturePoints(parts).map(([value]) => value);
  const others = parts.filter(({ law }) => law.point === null);
  if (!others.length) {
    const [low, high] = [Math.min(...points), Math.max(...points)];
    const margin = 0.04 * (high - low) || Math.max(1, Math.abs(low));
    return [low - margin, high + margin];
  }
  const [first, left, right, last] = [0.001, 0.05, 0.95, 0.999].map((fraction) => mixtureQuantile(others, fraction));
  const [low, high] = [Math.max(first, 2 * left - right), Math.min(last, 2 * right - left)];
  const margin = 0.04 * (high - low);
  const least = Math.min(...others.map(({ law }) => law.reach[0]));
  const most = Math.max(...others.map(({ law }) => law.reach[1]));
  return [Math.min(Math.max(low - margin, least), ...points), Math.max(Math.min(high + margin, most), ...points)];
}

/** The density of a mixture at evenly spaced points, but for its own points. @param {Component[]} parts @param {number} low @param {number} high @param {number} count */
export function mixtureDensity(parts, low, high, count) {
  const found = new Float64Array(count);
  const total = totalWeight(parts);
  const half = (high - low) / (count - 1) / 2;
  for (const { weight, law } of parts) {
    if (weight < NEGLIGIBLE * total || law.point !== null) continue;
    for (let i = 0; i < count; i++) {
      const x = low + 2 * half * i;
      found[i] += (weight / total) * law.density(Math.max(x - half, low), Math.min(x + half, high));
    }
  }
  return found;
}
