// @ts-check
// The questions that every family of leaves answers about its own columns, and what families share.
import { logSum } from "./numbers.js";
import { Beliefs } from "./beliefs.js";

/** Log-probabilities P(row, but column = value), and for reals the mixture given the others, added up over leaves.
 * @typedef {{add(column: number, value: number, log: number): void,
 *            addReal(column: number, log: number, law: import("./laws.js").Law): void}} Alternatives */

/** A distribution over some columns. Rows are (columns of the table), NaN where nothing is known. */
export class LeafFamily {
  /** @param {Uint32Array} columns */
  constructor(columns) {
    this.columns = columns;
  }
  /** log P(what the row knows). @param {Float64Array} x @returns {number} */
  logp(x) {
    throw new Error(`no evaluation of this family for ${x.length} columns`);
  }
  /** The logarithm for the best completion of a row. @param {Float64Array} x @returns {number} */
  best(x) {
    const filled = x.slice();
    this.fill(x, filled, null);
    return this.logp(filled);
  }
  /** Add weight times what the leaf believes of each of its columns. @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    const own = x.slice();
    for (const column of this.columns) {
      if (!Number.isNaN(x[column])) {
        out.add(column, x[column], weight);
        continue;
      }
      const logs = this.logsOf(own, column, out.sizes[column]);
      const total = logSum(logs);
      logs.forEach((log, value) => out.add(column, value, weight * Math.exp(log - total)));
    }
  }
  /** log P(row with each value of one column). @param {Float64Array} own a copy to write to @param {number} column @param {number} size */
  logsOf(own, column, size) {
    const before = own[column];
    const logs = [];
    for (let value = 0; value < size; value++) {
      own[column] = value;
      logs.push(this.logp(own));
    }
    own[column] = before;
    return logs;
  }
  /** Add log P(row, but one known column has another value), for each of them. @param {Float64Array} x @param {number} outside @param {Alternatives} out @param {Int32Array} sizes */
  alternatives(x, outside, out, sizes) {
    const own = x.slice();
    for (const column of this.columns) {
      if (Number.isNaN(x[column])) continue;
      this.logsOf(own, column, sizes[column]).forEach((log, value) => out.add(column, value, outside + log));
    }
  }
  /** Fill what is unknown: the best completion, or by chance. @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    throw new Error(`no completion of this family for ${x.length} columns (${out.length}, ${random})`);
  }
  /** P(number of ones among the chosen unknown columns = k | what the row knows). @param {Float64Array} x @param {Uint8Array} chosen @returns {Float64Array} */
  counts(x, chosen) {
    throw new Error(`no counts of this family for ${x.length} columns (${chosen.length})`);
  }
  /** The unknown columns. @param {Float64Array} x */
  unknown(x) {
    return [...this.columns].filter((column) => Number.isNaN(x[column]));
  }
}

/** Put the ranks of some columns in random order if there is chance. @param {number[]} columns @param {(() => number) | null} random */
export function shuffled(columns, random) {
  const order = columns.slice();
  if (random) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
  }
  return order;
}

/** The distribution of a sum of two independent counts. @param {Float64Array} a @param {Float64Array} b */
export function convolved(a, b) {
  const found = new Float64Array(a.length + b.length - 1);
  for (let i = 0; i < a.length; i++) if (a[i] > 0) for (let j = 0; j < b.length; j++) found[i + j] += a[i] * b[j];
  return found;
}
