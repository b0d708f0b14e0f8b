// @ts-check
// Leaves over a few discrete columns that are not interchangeable: trees, and tables of all assignments.
import { argMax, drawn, logAdd, logSum } from "./numbers.js";
import { Beliefs } from "./beliefs.js";
import { LeafFamily, convolved } from "./leaf.js";

/** A directed tree over bits: each depends on at most one parent. */
export class TreeLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} logs (n, parent's value, own value) @param {ArrayLike<number>} parents */
  constructor(columns, logs, parents) {
    super(columns);
    this.logs = logs;
    this.parents = Array.from(parents);
    /** @type {number[]} */
    this.order = [];
    /** @type {number[][]} */
    this.below = this.parents.map(() => []);
    this.parents.forEach((parent, i) => (parent < 0 ? this.order.push(i) : this.below[parent].push(i)));
    for (let at = 0; at < this.order.length; at++) this.order.push(...this.below[this.order[at]]);
  }
  /** log P(what is known at and below i | own value): (n, 2). @param {Float64Array} x @param {boolean} best */
  upward(x, best) {
    const up = new Float64Array(2 * this.parents.length);
    for (let at = this.order.length - 1; at >= 0; at--) {
      const i = this.order[at];
      const value = x[this.columns[i]];
      if (value === 0) up[2 * i + 1] = -Infinity;
      else if (value === 1) up[2 * i] = -Infinity;
      const parent = this.parents[i];
      if (parent >= 0) for (const u of [0, 1]) up[2 * parent + u] += this.message(i, u, up, best);
    }
    return up;
  }
  /** @param {number} i @param {number} u the parent's value @param {Float64Array} up @param {boolean} best */
  message(i, u, up, best) {
    const zero = up[2 * i] + this.logs[4 * i + 2 * u];
    const one = up[2 * i + 1] + this.logs[4 * i + 2 * u + 1];
    return best ? Math.max(zero, one) : logAdd(zero, one);
  }
  /** @param {Float64Array} up @param {boolean} best */
  root(up, best) {
    let sum = 0;
    this.parents.forEach((parent, i) => (sum += parent < 0 ? this.message(i, 0, up, best) : 0));
    return sum;
  }
  /** @param {Float64Array} x */
  logp(x) {
    return this.root(this.upward(x, false), false);
  }
  /** @param {Float64Array} x */
  best(x) {
    return this.root(this.upward(x, true), true);
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const up = this.upward(x, !random);
    for (const i of this.order) {
      const column = this.columns[i];
      const u = this.parents[i] < 0 ? 0 : out[this.columns[this.parents[i]]];
      const logs = [0, 1].map((v) => up[2 * i + v] + this.logs[4 * i + 2 * u + v]);
      out[column] = Number.isNaN(x[column]) ? (random ? drawn(logs, random) : argMax(logs)) : x[column];
    }
  }
  /** @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    const up = this.upward(x, false);
    const own = new Float64Array(2 * this.parents.length);
    for (const i of this.order) {
      for (const u of [0, 1]) {
        const above = this.parents[i] < 0 ? 1 - u : own[2 * this.parents[i] + u];
        if (above <= 0) continue;
        const total = this.message(i, u, up, false);
        for (const v of [0, 1])
          own[2 * i + v] += above * Math.exp(up[2 * i + v] + this.logs[4 * i + 2 * u + v] - total);
      }
      out.add(this.columns[i], 0, weight * own[2 * i]);
      out.add(this.columns[i], 1, weight * own[2 * i + 1]);
    }
  }
  /** By polynomials up the tree: for each value of a node, how many of the chosen below are one. @param {Float64Array} x @param {Uint8Array} chosen */
  counts(x, chosen) {
    const up = this.upward(x, false);
    /** @type {Float64Array[][]} */
    const found = this.parents.map(() => []);
    let total = Float64Array.of(1);
    for (let at = this.order.length - 1; at >= 0; at--) {
      const i = this.order[at];
      const counted = chosen[this.columns[i]] && Number.isNaN(x[this.columns[i]]);
      const own = [0, 1].map((v) => {
        const below = this.below[i].reduce((sum, c) => convolved(sum, found[c][v]), Float64Array.of(1));
        return counted ? convolved(below, Float64Array.of(1 - v, v)) : below;
      });
      found[i] = [0, 1].map((u) => {
        const whole = this.message(i, u, up, false);
        const [zero, one] = [0, 1].map((v) =>
          whole === -Infinity ? 1 - v : Math.exp(up[2 * i + v] + this.logs[4 * i + 2 * u + v] - whole),
        );
        return own[0].map((p, k) => zero * p + one * own[1][k]);
      });
      if (this.parents[i] < 0) total = convolved(total, found[i][0]);
    }
    return total;
  }
}

/** A table of all assignments of a few columns. */
export class JointLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} logs @param {ArrayLike<number>} sizes */
  constructor(columns, logs, sizes) {
    super(columns);
    this.logs = logs;
    this.strides = new Array(columns.length);
    this.sizes = Array.from(sizes);
    let stride = 1;
    for (let i = columns.length - 1; i >= 0; i--) {
      this.strides[i] = stride;
      stride *= sizes[i];
    }
  }
  /** @param {number} place @param {number} i */
  valueAt(place, i) {
    return Math.floor(place / this.strides[i]) % this.sizes[i];
  }
  /** The logarithms of assignments that agree with a row, −inf for others. @param {Float64Array} x */
  agreeing(x) {
    return this.logs.map((log, place) =>
      this.columns.every((column, i) => Number.isNaN(x[column]) || x[column] === this.valueAt(place, i))
        ? log
        : -Infinity,
    );
  }
  /** @param {Float64Array} x */
  logp(x) {
    return logSum(this.agreeing(x));
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const logs = this.agreeing(x);
    const place = random ? drawn(logs, random) : argMax(logs);
    this.columns.forEach((column, i) => (out[column] = Number.isNaN(x[column]) ? this.valueAt(place, i) : x[column]));
  }
  /** @param {Float64Array} x @param {Uint8Array} chosen */
  counts(x, chosen) {
    const inside = this.columns.map((column) => (chosen[column] && Number.isNaN(x[column]) ? 1 : 0));
    const found = new Float64Array(inside.reduce((a, b) => a + b, 0) + 1);
    const logs = this.agreeing(x);
    const total = logSum(logs);
    logs.forEach((log, place) => {
      let ones = 0;
      inside.forEach((one, i) => (ones += one * this.valueAt(place, i)));
      found[ones] += Math.exp(log - total);
    });
    return found;
  }
}
