// @ts-check
// What is believed of each variable: probabilities of values, or a mixture of normal distributions.
import { logNormal, normalCdf } from "./numbers.js";

/** @typedef {{weight: number, mean: number, std: number}} Component */

const QUANTILE_STEPS = 60;
const NEGLIGIBLE = 1e-9;

/** Probabilities of discrete values, and components of real variables, added up over leaves. */
export class Beliefs {
  /** @param {Int32Array} start where each column's values begin @param {Int32Array} sizes their number; 0 for reals and columns outside */
  constructor(start, sizes) {
    this.start = start;
    this.sizes = sizes;
    this.p = new Float64Array(start[start.length - 1]);
    /** @type {Component[][]} */
    this.normals = Array.from({ length: sizes.length }, () => []);
  }

  /** @param {number} column @param {number} value @param {number} p */
  add(column, value, p) {
    this.p[this.start[column] + value] += p;
  }

  /** @param {number} column @param {number} weight @param {number} mean @param {number} std */
  addNormal(column, weight, mean, std) {
    if (weight > 0) this.normals[column].push({ weight, mean, std });
  }

  /** The probabilities of a column's values. @param {number} column */
  of(column) {
    return this.p.subarray(this.start[column], this.start[column] + this.sizes[column]);
  }
}

/** Mean and standard deviation of a mixture. @param {Component[]} parts */
export function mixtureMoments(parts) {
  let total = 0;
  let mean = 0;
  for (const part of parts) total += part.weight;
  for (const part of parts) mean += (part.weight / total) * part.mean;
  let variance = 0;
  for (const part of parts) variance += (part.weight / total) * (part.std ** 2 + (part.mean - mean) ** 2);
  return { mean, std: Math.sqrt(variance) };
}

/** P(X ≤ x) of a mixture. @param {Component[]} parts @param {number} x */
export function mixtureCdf(parts, x) {
  let total = 0;
  let below = 0;
  for (const { weight, mean, std } of parts) {
    total += weight;
    below += weight * (std > 0 ? normalCdf((x - mean) / std) : x >= mean ? 1 : 0);
  }
  return below / total;
}

/** The number below which a fraction of a mixture lies, by bisection. @param {Component[]} parts @param {number} fraction */
export function mixtureQuantile(parts, fraction) {
  const heavy = parts.filter((part) => part.weight > NEGLIGIBLE);
  const used = heavy.length ? heavy : parts;
  let low = Infinity;
  let high = -Infinity;
  for (const { mean, std } of used) {
    low = Math.min(low, mean - 9 * std);
    high = Math.max(high, mean + 9 * std);
  }
  const width = high - low;
  for (let step = 0; step < QUANTILE_STEPS && high - low > 1e-9 * width; step++) {
    const middle = 0.5 * (low + high);
    if (mixtureCdf(used, middle) < fraction) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

/** The density of a mixture at evenly spaced points. @param {Component[]} parts @param {number} low @param {number} high @param {number} count */
export function mixtureDensity(parts, low, high, count) {
  const found = new Float64Array(count);
  let total = 0;
  for (const part of parts) total += part.weight;
  for (const { weight, mean, std } of parts) {
    if (weight < NEGLIGIBLE * total) continue;
    for (let i = 0; i < count; i++) {
      const x = low + ((high - low) * i) / (count - 1);
      found[i] += (weight / total) * Math.exp(logNormal(x, mean, std));
    }
  }
  return found;
}
