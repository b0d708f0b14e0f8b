// @ts-check
// The model as the page knows it: variables by column, their values in words, and scenarios as the address holds them.
import { givenNumber } from "./format.js";

/** @typedef {{column: number, name: string, kind: string, labels?: string[], literals?: string[], plain?: boolean, whole?: boolean}} Variable */
/** @typedef {Map<number, number>} Facts columns and their values */
/** @typedef {{node: number, variables: number[], law: string, alike: boolean}} Block */
/** @typedef {{node: number, variables: number[], total: number, contexts: Context[]}} Mixture */
/** @typedef {{node: number, blocks: Block[], mixtures: Mixture[], alone: number[]}} Context */

const RESERVED = "~"; // begins what is not a variable in an address

export class Model {
  /** @param {any} header what Python wrote */
  constructor(header) {
    this.header = header;
    this.title = /** @type {string} */ (header.title);
    this.source = /** @type {string} */ (header.source);
    this.structure = header.structure;
    /** @type {Variable[]} */
    this.variables = header.variables;
    this.byColumn = new Map(this.variables.map((variable) => [variable.column, variable]));
    this.byName = new Map(this.variables.map((variable) => [variable.name, variable]));
    this.start = new Map();
    let at = 0;
    for (const variable of this.variables) {
      this.start.set(variable.column, at);
      at += variable.labels?.length ?? 0;
    }
  }

  /** @param {number} column @returns {Variable} */
  variable(column) {
    return /** @type {Variable} */ (this.byColumn.get(column));
  }

  /** A value in words. @param {number} column @param {number} value */
  label(column, value) {
    const variable = this.variable(column);
    return variable.labels ? variable.labels[value] : givenNumber(value);
  }

  /** A value as commands and addresses write it. @param {number} column @param {number} value */
  plainValue(column, value) {
    const variable = this.variable(column);
    return variable.labels ? variable.labels[value] : String(value);
  }

  /** Probabilities of a variable's values. @param {number} column @param {Float64Array} p */
  chances(column, p) {
    const first = this.start.get(column);
    return p.subarray(first, first + /** @type {string[]} */ (this.variable(column).labels).length);
  }

  /** A scenario as the part of an address after #. @param {Facts} facts @param {Record<string, string>} settings */
  address(facts, settings = {}) {
    const found = new URLSearchParams();
    for (const [column, value] of facts) {
      const { name } = this.variable(column);
      found.append(name.startsWith(RESERVED) ? RESERVED + name : name, this.plainValue(column, value));
    }
    for (const [key, value] of Object.entries(settings)) if (value) found.append(`${RESERVED}.${key}`, value);
    return found.toString();
  }

  /** Read an address; what the model lacks is told. @param {string} text */
  read(text) {
    /** @type {Facts} */
    const facts = new Map();
    /** @type {Record<string, string>} */
    const settings = {};
    /** @type {string[]} */
    const unknown = [];
    for (const [key, value] of new URLSearchParams(text.replace(/^#/, ""))) {
      if (key.startsWith(`${RESERVED}.`)) {
        settings[key.slice(2)] = value;
        continue;
      }
      const variable = this.byName.get(key.startsWith(RESERVED + RESERVED) ? key.slice(1) : key);
      const code = variable?.labels ? variable.labels.indexOf(value) : Number(value);
      if (!variable || (code < 0 && variable.labels) || !Number.isFinite(code) || value === "")
        unknown.push(`${key} = ${value}`);
      else facts.set(variable.column, code);
    }
    return { facts, settings, unknown };
  }

  /** The nodes whose probability the page shows. @returns {number[]} */
  shownNodes() {
    /** @type {Set<number>} */
    const found = new Set();
    const visit = (/** @type {any} */ part) => {
      found.add(part.node);
      for (const context of part.contexts ?? []) visit(context);
      for (const mixture of part.mixtures ?? []) visit(mixture);
    };
    visit(this.structure);
    return [...found];
  }
}
