// @ts-check
// Exchangeable columns: a weight for each number of ones, combination of counts, or total.
import { argMax, compositions, drawn, logAdd, logBinomials, logFactorial, logSum, logSumCounts } from "./numbers.js";
import { Beliefs } from "./beliefs.js";
import { LeafFamily, shuffled } from "./leaf.js";

/** @typedef {import("./leaf.js").Alternatives} Alternatives */

/** Exchangeable bits: a weight for each number of ones. */
export class CountLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} weights */
  constructor(columns, weights) {
    super(columns);
    this.weights = weights;
    this.lastMissing = -1; // what was believed last is often asked again
    this.lastOnes = -1;
    this.zero = 0;
    this.one = 0;
  }
  /** @param {Float64Array} x */
  key(x) {
    let missing = 0;
    let ones = 0;
    for (const column of this.columns) {
      if (x[column] === 1) ones++;
      else if (x[column] !== 0) missing++;
    }
    return { missing, ones };
  }
  /** log P of one assignment that is known but for some columns, with so many ones. @param {number} missing @param {number} ones */
  at(missing, ones) {
    if (missing === 0) return this.weights[ones];
    const ways = logBinomials(missing);
    let top = -Infinity;
    for (let j = 0; j <= missing; j++) top = Math.max(top, this.weights[ones + j] + ways[j]);
    if (top === -Infinity) return top;
    let sum = 0;
    for (let j = 0; j <= missing; j++) sum += Math.exp(this.weights[ones + j] + ways[j] - top);
    return top + Math.log(sum);
  }
  /** @param {Float64Array} x */
  logp(x) {
    const { missing, ones } = this.key(x);
    return this.at(missing, ones);
  }
  /** @param {Float64Array} x */
  best(x) {
    const { missing, ones } = this.key(x);
    return this.weights[ones + argMax(this.weights.subarray(ones, ones + missing + 1))];
  }
  /** @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    const { missing, ones } = this.key(x);
    if (missing && (missing !== this.lastMissing || ones !== this.lastOnes)) {
      const logs = [this.at(missing - 1, ones), this.at(missing - 1, ones + 1)];
      const total = logSum(logs);
      this.zero = Math.exp(logs[0] - total);
      this.one = Math.exp(logs[1] - total);
      [this.lastMissing, this.lastOnes] = [missing, ones];
    }
    const { zero, one } = this;
    for (const column of this.columns) {
      if (Number.isNaN(x[column])) {
        out.add(column, 0, weight * zero);
        out.add(column, 1, weight * one);
      } else out.add(column, x[column], weight);
    }
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    const { missing, ones } = this.key(x);
    const logs = [ones - 1, ones, ones + 1].map((t) =>
      t < 0 || t + missing > this.columns.length ? -Infinity : outside + this.at(missing, t),
    );
    for (const column of this.columns) {
      if (Number.isNaN(x[column])) continue;
      const own = x[column];
      out.add(column, own, logs[1]);
      out.add(column, 1 - own, own === 1 ? logs[0] : logs[2]);
    }
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const { missing, ones } = this.key(x);
    const own = this.weights.subarray(ones, ones + missing + 1);
    const needed = random
      ? drawn(
          own.map((w, j) => w + logBinomials(missing)[j]),
          random,
        )
      : argMax(own);
    shuffled(this.unknown(x), random).forEach((column, rank) => (out[column] = rank < needed ? 1 : 0));
  }
  /** @param {Float64Array} x @param {Uint8Array} chosen */
  counts(x, chosen) {
    const { missing, ones } = this.key(x);
    const inside = this.unknown(x).filter((column) => chosen[column]).length;
    const ways = logBinomials(inside);
    const logs = Array.from(ways, (way, j) => way + this.at(missing - inside, ones + j));
    const total = logSum(logs);
    return Float64Array.from(logs, (log) => Math.exp(log - total));
  }
}

/** Exchangeable values: a weight for each combination of how often values occur in each group of columns. */
export class ClassesLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} weights @param {ArrayLike<number>} layout values, groups, the group of each column */
  constructor(columns, weights, layout) {
    super(columns);
    this.weights = weights;
    this.k = layout[0];
    /** @type {number[][]} */
    this.groups = Array.from({ length: layout[1] }, () => []);
    columns.forEach((column, place) => this.groups[layout[2 + place]].push(column));
    this.tables = this.groups.map((group) => compositions(group.length, this.k));
  }
  /** How often each value is known in each group. @param {Float64Array} x */
  seen(x) {
    return this.groups.map((group) => {
      const counts = new Array(this.k).fill(0);
      for (const column of group) if (!Number.isNaN(x[column])) counts[x[column]]++;
      return counts;
    });
  }
  /** log of the completions of what is known, for each composition of a group. @param {number} g @param {number[]} seen */
  ways(g, seen) {
    const left = this.groups[g].length - seen.reduce((a, b) => a + b, 0);
    return this.tables[g].map((counts) => {
      let log = logFactorial(left);
      for (let v = 0; v < this.k; v++) {
        if (counts[v] < seen[v]) return -Infinity;
        log -= logFactorial(counts[v] - seen[v]);
      }
      return log;
    });
  }
  /** log-weight plus log of completions of every class. @param {number[][]} seen */
  joint(seen) {
    let logs = [0];
    seen.forEach((own, g) => {
      const ways = this.ways(g, own);
      const next = new Array(logs.length * ways.length);
      let at = 0;
      for (const log of logs) for (const way of ways) next[at++] = log + way;
      logs = next;
    });
    return logs.map((log, t) => log + this.weights[t]);
  }
  /** @param {Float64Array} x */
  logp(x) {
    return logSum(this.joint(this.seen(x)));
  }
  /** Which composition each group has in class t. @param {number} t */
  compositionsOf(t) {
    const places = new Array(this.tables.length);
    for (let g = this.tables.length - 1; g >= 0; g--) {
      places[g] = this.tables[g][t % this.tables[g].length];
      t = Math.floor(t / this.tables[g].length);
    }
    return places;
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const seen = this.seen(x);
    const joint = this.joint(seen);
    const t = random
      ? drawn(joint, random)
      : argMax(joint.map((log, i) => (log === -Infinity ? log : this.weights[i])));
    this.compositionsOf(t).forEach((counts, g) => {
      const order = shuffled(
        this.groups[g].filter((column) => Number.isNaN(x[column])),
        random,
      );
      let rank = 0;
      for (let v = 0; v < this.k; v++)
        for (let i = seen[g][v]; i < counts[v] && rank < order.length; i++) out[order[rank++]] = v;
    });
  }
  /** @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    const seen = this.seen(x);
    this.groups.forEach((group, g) => {
      const unknown = group.filter((column) => Number.isNaN(x[column]));
      for (const column of group) if (!Number.isNaN(x[column])) out.add(column, x[column], weight);
      if (!unknown.length) return;
      const logs = [];
      for (let v = 0; v < this.k; v++) {
        seen[g][v]++;
        logs.push(logSum(this.joint(seen)));
        seen[g][v]--;
      }
      const total = logSum(logs);
      for (const column of unknown) logs.forEach((log, v) => out.add(column, v, weight * Math.exp(log - total)));
    });
  }
  /** Columns of one group with one value share an answer. @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    const seen = this.seen(x);
    this.groups.forEach((group, g) => {
      /** @type {Map<number, number[]>} */
      const known = new Map();
      for (const column of group) {
        if (Number.isNaN(x[column])) continue;
        let logs = known.get(x[column]);
        if (!logs) {
          seen[g][x[column]]--;
          logs = [];
          for (let v = 0; v < this.k; v++) {
            seen[g][v]++;
            logs.push(outside + logSum(this.joint(seen)));
            seen[g][v]--;
          }
          seen[g][x[column]]++;
          known.set(x[column], logs);
        }
        logs.forEach((log, v) => out.add(column, v, log));
      }
    });
  }
  /** Bits only: how many of the chosen ones in each group, and how many ways. @param {Float64Array} x @param {Uint8Array} chosen */
  counts(x, chosen) {
    const seen = this.seen(x);
    const inside = this.groups.map(
      (group) => group.filter((column) => chosen[column] && Number.isNaN(x[column])).length,
    );
    const logs = new Array(inside.reduce((a, b) => a + b, 0) + 1).fill(-Infinity);
    const visit = (/** @type {number} */ g, /** @type {number} */ ones, /** @type {number} */ ways) => {
      if (g === this.groups.length) {
        logs[ones] = logAdd(logs[ones], ways + logSum(this.joint(seen)));
        return;
      }
      for (let j = 0; j <= inside[g]; j++) {
        seen[g][1] += j;
        seen[g][0] += inside[g] - j;
        visit(g + 1, ones + j, ways + logBinomials(inside[g])[j]);
        seen[g][1] -= j;
        seen[g][0] -= inside[g] - j;
      }
    };
    visit(0, 0, 0);
    const total = logSum(logs);
    return Float64Array.from(logs, (log) => Math.exp(log - total));
  }
}

/** Exchangeable ordered values: a weight for each total of the codes 0..k−1. */
export class TotalLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} weights @param {number} k */
  constructor(columns, weights, k) {
    super(columns);
    this.weights = weights;
    this.k = k;
  }
  /** @param {Float64Array} x */
  key(x) {
    let missing = 0;
    let total = 0;
    for (const column of this.columns) {
      if (Number.isNaN(x[column])) missing++;
      else total += x[column];
    }
    return { missing, total };
  }
  /** log P and completions for each rest of the total. @param {number} missing @param {number} total */
  joint(missing, total) {
    return Array.from(logSumCounts(missing, this.k), (way, s) => way + this.weights[total + s]);
  }
  /** @param {number} missing @param {number} total */
  at(missing, total) {
    return missing ? logSum(this.joint(missing, total)) : this.weights[total];
  }
  /** @param {Float64Array} x */
  logp(x) {
    const { missing, total } = this.key(x);
    return this.at(missing, total);
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const { missing, total } = this.key(x);
    const own = this.weights.subarray(total, total + missing * (this.k - 1) + 1);
    let rest = random ? drawn(this.joint(missing, total), random) : argMax(own);
    let left = missing;
    for (const column of this.unknown(x)) {
      const ways = logSumCounts(--left, this.k);
      const logs = Array.from({ length: this.k }, (_, v) =>
        rest - v >= 0 && rest - v < ways.length ? ways[rest - v] : -Infinity,
      );
      const value = random ? drawn(logs, random) : logs.findIndex((log) => log > -Infinity);
      out[column] = value;
      rest -= value;
    }
  }
  /** @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    const { missing, total } = this.key(x);
    const logs = missing ? Array.from({ length: this.k }, (_, v) => this.at(missing - 1, total + v)) : [];
    const whole = logSum(logs);
    for (const column of this.columns) {
      if (!Number.isNaN(x[column])) out.add(column, x[column], weight);
      else logs.forEach((log, v) => out.add(column, v, weight * Math.exp(log - whole)));
    }
  }
}
