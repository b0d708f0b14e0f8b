// @ts-check
// Distributions of one real variable, of which beliefs are mixtures: in the variable's own units.
import { logNormal, normalCdf } from "./numbers.js";
import { Scale } from "./scales.js";

const REACH_OF_LAW = 9; // deviations, beyond which there is nothing

/** What a mixture asks of each of its parts.
 * @typedef {object} Law
 * @property {number} mean
 * @property {number} std
 * @property {[number, number]} reach where it is, but for next to nothing
 * @property {number} size how wide its middle is
 * @property {number | null} point the only value, of a law that has but one
 * @property {boolean} isShared whether it belongs to a leaf, whatever is known
 * @property {(x: number) => number} logDensity
 * @property {(x: number) => number} below P(X ≤ x)
 * @property {(x: number) => [number, number]} tails P(at most x) and P(at least x) of numbers as they are written: rounded
 * @property {(from: number, to: number) => number} density the one to draw at a short interval */

/** A normal distribution. @implements {Law} */
export class NormalLaw {
  /** @param {number} mean @param {number} std @param {boolean} [isShared] */
  constructor(mean, std, isShared = false) {
    this.isShared = isShared;
    this.mean = mean;
    this.std = std;
    this.size = std;
    this.point = null;
  }
  /** @returns {[number, number]} */
  get reach() {
    return [this.mean - REACH_OF_LAW * this.std, this.mean + REACH_OF_LAW * this.std];
  }
  /** @param {number} x */
  logDensity(x) {
    return logNormal(x, this.mean, this.std);
  }
  /** @param {number} x */
  below(x) {
    return normalCdf((x - this.mean) / this.std);
  }
  /** @param {number} x */
  above(x) {
    return normalCdf((this.mean - x) / this.std);
  }
  /** Both, as a small one cannot be told from 1 less the other. @param {number} x @returns {[number, number]} */
  tails(x) {
    return [this.below(x), this.above(x)];
  }
  /** @param {number} from @param {number} to */
  density(from, to) {
    return Math.exp(this.logDensity(0.5 * (from + to)));
  }
}

/** Normal on a scale. What is shown and drawn is reflected at the ends of the scale; the density of a fact is not. @implements {Law} */
export class ScaledLaw {
  /** @param {Scale} scale @param {NormalLaw} normal */
  constructor(scale, normal) {
    this.isShared = normal.isShared;
    this.scale = scale;
    this.normal = normal;
    this.point = null;
    /** @type {{mean: number, std: number} | null} */
    this.found = null;
  }
  get moments() {
    this.found ??= this.scale.moments(this.normal.mean, this.normal.std);
    return this.found;
  }
  get mean() {
    return this.moments.mean;
  }
  get std() {
    return this.moments.std;
  }
  get size() {
    const { mean, std } = this.normal;
    return 0.5 * (this.scale.inverse(mean + std) - this.scale.inverse(mean - std));
  }
  /** @returns {[number, number]} */
  get reach() {
    const { least, most } = this.scale;
    let [low, high] = this.normal.reach.map((y) => this.scale.inverse(y));
    if (!Number.isNaN(least)) [low, high] = [Math.max(low, least), Math.max(high, 2 * least - low)];
    if (!Number.isNaN(most)) [low, high] = [Math.min(low, 2 * most - high), Math.min(high, most)];
    return [Number.isNaN(least) ? low : Math.max(low, least), high];
  }
  /** @param {number} x */
  logDensity(x) {
    const derivative = this.scale.logDerivative(x);
    return derivative === -Infinity ? derivative : this.normal.logDensity(this.scale.forward(x)) + derivative;
  }
  /** P(X ≤ x) or, if `up`, P(X ≥ x), before anything is reflected. @param {number} x @param {boolean} up */
  _tail(x, up) {
    const [low, high] = this.scale.range;
    if (x <= low || x >= high) return x <= low === up ? 1 : 0;
    const y = this.scale.forward(x);
    return up ? this.normal.above(y) : this.normal.below(y);
  }
  /** The same after what is below `least` was reflected. @param {number} x @param {boolean} up */
  _tailFrom(x, up) {
    const { least } = this.scale;
    if (Number.isNaN(least)) return this._tail(x, up);
    if (x < least) return up ? 1 : 0;
    const mirrored = this._tail(2 * least - x, false);
    return up ? this._tail(x, true) + mirrored : this._tail(x, false) - mirrored;
  }
  /** @param {number} x */
  below(x) {
    const { most } = this.scale;
    if (Number.isNaN(most)) return this._tailFrom(x, false);
    return x >= most ? 1 : this._tailFrom(x, false) + this._tailFrom(2 * most - x, true);
  }
  /** @param {number} x */
  above(x) {
    const { most } = this.scale;
    if (Number.isNaN(most)) return this._tailFrom(x, true);
    return x > most ? 0 : this._tailFrom(x, true) - this._tailFrom(2 * most - x, true);
  }
  /** @param {number} x @returns {[number, number]} */
  tails(x) {
    const half = this.scale.isRounded(x) ? this.scale.step / 2 : 0;
    return [this.below(x + half), this.above(x - half)];
  }
  /** On average, as it may be without bound at an end. @param {number} from @param {number} to */
  density(from, to) {
    return Math.max(0, this.below(to) - this.below(from)) / (to - from);
  }
}

/** A single value, spread over the numbers that are rounded to it. @implements {Law} */
export class PointLaw {
  /** @param {number} value @param {number} width */
  constructor(value, width) {
    this.isShared = true;
    this.mean = value;
    this.point = value;
    this.width = width;
    this.std = width / Math.sqrt(12);
    this.size = width;
    /** @type {[number, number]} */
    this.reach = [value, value];
  }
  /** @param {number} x */
  isNear(x) {
    return Math.abs(x - this.mean) <= this.width / 2;
  }
  /** @param {number} x */
  logDensity(x) {
    return this.isNear(x) ? -Math.log(this.width) : -Infinity;
  }
  /** @param {number} x */
  below(x) {
    return x >= this.mean ? 1 : 0;
  }
  /** @param {number} x @returns {[number, number]} */
  tails(x) {
    const isNear = this.isNear(x);
    return [x >= this.mean || isNear ? 1 : 0, x <= this.mean || isNear ? 1 : 0];
  }
  /** A point is drawn as a bar, and not as a part of a curve. */
  density() {
    return 0;
  }
}
