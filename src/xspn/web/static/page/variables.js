// @ts-check
// The list of variables: one row each, with bars for now and before, and ways to set a value.
import { button, el, fill, setShare } from "./dom.js";
import { givenNumber, number, percent, points } from "./format.js";
import { curve } from "./charts.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

/** @typedef {import("./model.js").Variable} Variable */

const MOST_BARS = 8; // values of a category that each have a bar; others are in a menu
const FEW_BARS = 5;
const FIRST_ROWS = 250;
const MOST_POINTS = 2; // of a number that are told

/** One variable of the list. */
class Row {
  /** @param {Variable} variable @param {State} state */
  constructor(variable, state) {
    this.variable = variable;
    this.state = state;
    this.column = variable.column;
    this.node = el("div", { class: `row ${variable.kind}`, role: "group", tabindex: -1, "data-column": this.column });
    this.move = 0;
    this.uncertainty = 0;
    this.chance = 0;
  }
  /** Set a value, or clear it if it is set already. @param {number | null} value */
  toggle(value) {
    const isSet = this.state.facts.get(this.column) === value;
    this.state.set([[this.column, isSet ? null : value]]);
  }
  /** Set the likelier value; clear what is set. */
  toggleLikely() {
    this.toggle(this.state.facts.get(this.column) ?? this.likely());
  }
  /** @returns {number} */
  likely() {
    return 0;
  }
  /** @param {string} words what a screen reader says after the name */
  mark(words) {
    const known = this.state.facts.has(this.column);
    this.node.classList.toggle("known", known);
    this.node.setAttribute("aria-label", TEXTS.row(this.variable.name, known ? `${words}, ${TEXTS.isKnown}` : words));
  }
  update() {}
}

/** A variable with values: bars to click. */
class ValueRow extends Row {
  /** @param {Variable} variable @param {State} state */
  constructor(variable, state) {
    super(variable, state);
    this.labels = /** @type {string[]} */ (variable.labels);
    this.isBit = this.labels.length === 2;
    const many = this.labels.length > MOST_BARS;
    this.bars = (this.isBit ? [1] : this.labels.map((_, value) => value))
      .slice(0, many ? FEW_BARS : MOST_BARS)
      .map((value) => this._bar(value));
    this.name = el("span", { class: "name", title: variable.name }, variable.name);
    this.values = this.isBit ? [0, 1].map((value) => this._valueButton(value)) : [];
    this.menu = many ? this._menu() : null;
    if (this.isBit)
      this.node.append(
        this.name,
        this.bars[0].node,
        this.bars[0].fraction,
        this.bars[0].change,
        el("span", { class: "values" }, ...this.values),
      );
    else
      this.node.append(
        el("div", { class: "head" }, this.name, this.menu),
        el("div", { class: "bars" }, ...this.bars.map((bar) => bar.line)),
      );
  }
  /** @param {number} value */
  _valueButton(value) {
    const label = this.labels[value];
    return button(label, () => this.toggle(value), {
      class: "value",
      tabindex: -1,
      title: TEXTS.setTo(this.variable.name, label),
      "aria-pressed": "false",
    });
  }
  /** @param {number} value */
  _bar(value) {
    const bar = {
      value,
      node: el("span", { class: "bar", "aria-hidden": "true" }, el("i", { class: "now" }), el("i", { class: "was" })),
      fraction: el("span", { class: "fraction" }),
      change: el("span", { class: "change", title: TEXTS.changeTitle }),
      label: el("span", { class: "label" }),
      line: /** @type {any} */ (null),
    };
    if (this.isBit) bar.node.addEventListener("click", () => this.toggle(value));
    else
      bar.line = el(
        "button",
        { type: "button", class: "line", tabindex: -1, "aria-pressed": "false", onclick: () => this.toggle(bar.value) },
        bar.label,
        bar.node,
        bar.fraction,
        bar.change,
      );
    return bar;
  }
  _menu() {
    const menu = el(
      "select",
      {
        tabindex: -1,
        "aria-label": TEXTS.valueOf(this.variable.name),
        onchange: () => this.state.set([[this.column, menu.value === "" ? null : Number(menu.value)]]),
      },
      el("option", { value: "" }, TEXTS.choose),
      ...this.labels.map((label, value) => el("option", { value }, label)),
    );
    return menu;
  }
  likely() {
    const { shown, model } = this.state;
    const own = model.chances(this.column, /** @type {Float64Array} */ (shown.p));
    return own.indexOf(Math.max(...own));
  }
  update() {
    const { model, shown, reference, facts } = this.state;
    const now = model.chances(this.column, /** @type {Float64Array} */ (shown.p));
    const was = model.chances(this.column, /** @type {Float64Array} */ (reference.answer.p));
    const set = facts.get(this.column);
    if (this.menu) {
      const order = Array.from(now, (_, value) => value).sort(
        (a, b) => Number(b === set) - Number(a === set) || now[b] - now[a] || a - b,
      );
      this.bars.forEach((bar, place) => (bar.value = order[place]));
      this.menu.value = set === undefined ? "" : String(set);
    }
    for (const bar of this.bars) this._updateBar(bar, now[bar.value], was[bar.value], set);
    this.values.forEach((own, value) => own.setAttribute("aria-pressed", String(set === value)));
    this.move = Math.max(...Array.from(now, (p, value) => Math.abs(p - was[value])));
    this.uncertainty = -now.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
    this.chance = this.isBit ? now[1] : Math.max(...now);
    const likely = this.isBit ? 1 : this.likely();
    this.mark(set === undefined ? TEXTS.likely(this.labels[likely], percent(now[likely])) : this.labels[set]);
  }
  /** @param {any} bar @param {number} now @param {number} was @param {number | undefined} set */
  _updateBar(bar, now, was, set) {
    setShare(bar.node, "--now", now);
    setShare(bar.node, "--was", was);
    bar.fraction.textContent = percent(now);
    bar.change.textContent = points(now - was);
    bar.change.className = `change ${now > was ? "up" : "down"}`;
    if (!bar.line) return;
    bar.label.textContent = this.labels[bar.value];
    bar.line.title = TEXTS.setTo(this.variable.name, this.labels[bar.value]);
    bar.line.setAttribute("aria-pressed", String(set === bar.value));
    bar.line.classList.toggle("set", set === bar.value);
  }
}

/** A number: a curve, and a slider below it. */
class NumberRow extends Row {
  /** @param {Variable} variable @param {State} state */
  constructor(variable, state) {
    super(variable, state);
    const [low, high] = /** @type {[number, number]} */ (state.spans.get(this.column));
    this.low = low;
    this.high = high;
    this.name = el("span", { class: "name", title: variable.name }, variable.name);
    this.text = el("span", { class: "fraction", title: TEXTS.numberTitle });
    this.picture = el("div", { class: "curve" });
    const set = (/** @type {string} */ text, /** @type {boolean} */ sliding) => {
      if (text !== "" && Number.isFinite(Number(text)))
        state.set([[this.column, variable.whole ? Math.round(Number(text)) : Number(text)]], sliding);
    };
    this.slider = el("input", {
      type: "range",
      tabindex: -1,
      min: low,
      max: high,
      step: variable.whole ? 1 : (high - low) / 500,
      "aria-label": TEXTS.valueOf(variable.name),
      oninput: () => set(this._snapped(Number(this.slider.value)), true),
    });
    this.input = el("input", {
      type: "number",
      tabindex: -1,
      step: "any",
      placeholder: "…",
      "aria-label": TEXTS.valueOf(variable.name),
      onchange: () => set(this.input.value, false),
    });
    this.clear = button(TEXTS.clear, () => state.set([[this.column, null]]), { class: "value", tabindex: -1 });
    this.node.append(
      el("div", { class: "head" }, this.name, this.text),
      this.picture,
      this.slider,
      el("div", { class: "setter" }, this.input, this.clear),
    );
  }
  likely() {
    const median = this.state.shown.curves.find((own) => own.column === this.column)?.median ?? 0;
    return this.variable.whole ? Math.round(median) : median;
  }
  /** A number that the slider is at: few digits, or a value near it that has a probability. @param {number} value */
  _snapped(value) {
    const { points } = this.state.prior.answer.curves.find((own) => own.column === this.column);
    const near = (/** @type {[number, number]} */ [point]) => Math.abs(point - value) <= (this.high - this.low) / 300;
    return String(points.find(near)?.[0] ?? Number(value.toPrecision(4)));
  }
  /** Values that have a probability, and the range of the others. @param {any} found a curve */
  _text({ points, rest, low, median, high }) {
    const of = (/** @type {number} */ value) => number(value, this.variable.whole);
    const range = rest ?? (points.length ? null : [low, median, high]);
    const others = range ? TEXTS.numberNow(of(range[1]), of(range[0]), of(range[2])) : "";
    const likely = [...points].sort((a, b) => b[1] - a[1]).slice(0, MOST_POINTS);
    const named = likely.map(([value, p]) => TEXTS.numberPoint(of(value), percent(p))).join(", ");
    return named && others ? TEXTS.numberElse(named, others) : named || others;
  }
  update() {
    const { shown, reference, facts } = this.state;
    const own = shown.curves.find((found) => found.column === this.column);
    const before = reference.answer.curves.find((found) => found.column === this.column);
    const set = facts.get(this.column);
    const words = set !== undefined ? givenNumber(set) : own ? this._text(own) : "–";
    this.text.textContent = words;
    fill(
      this.picture,
      curve(
        set === undefined ? own : null,
        before,
        (value) => (value - this.low) / (this.high - this.low),
        set,
      ),
    );
    this.slider.value = String(set ?? own?.median ?? (this.low + this.high) / 2);
    if (document.activeElement !== this.input) this.input.value = set === undefined ? "" : String(set);
    this.clear.hidden = set === undefined;
    const [now, was] = [set ?? own?.mean, before?.mean ?? this.state.reference.facts.get(this.column)];
    this.move = now === undefined || was === undefined ? 0 : Math.min(1, Math.abs(now - was) / (this.high - this.low));
    this.uncertainty = set === undefined && own ? Math.max(0, 4 + Math.log2(own.std / (this.high - this.low))) : 0;
    this.chance = 0;
    this.mark(words);
  }
}

export class VariableList {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    /** @type {Row[]} */
    this.rows = state.model.variables.map((variable) =>
      variable.labels ? new ValueRow(variable, state) : new NumberRow(variable, state),
    );
    this.sort = "table";
    this.most = FIRST_ROWS;
    /** @type {Row} the one that Tab reaches */
    this.active = this.rows[0];
    this.search = el("input", {
      type: "search",
      id: "search",
      placeholder: TEXTS.search,
      "aria-label": TEXTS.search,
      oninput: () => this.arrange(),
    });
    this.sorting = this._menu(TEXTS.sorts, (key) => {
      this.sort = key;
      this.arrange();
    });
    this.baseline = this._menu(TEXTS.baselines, (key) => {
      state.baseline = key;
      state.tell();
    });
    this.count = el("p", { class: "count", role: "status" });
    this.list = el("div", {
      class: "rows",
      role: "list",
      "aria-label": TEXTS.variables,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onfocusin: (/** @type {FocusEvent} */ event) => this._follow(event),
    });
    this.more = button(
      "",
      () => {
        this.most = Infinity;
        this.arrange();
      },
      { class: "more" },
    );
    this.tools = el(
      "div",
      { class: "tools" },
      this.search,
      el("label", {}, el("span", {}, TEXTS.sortBy), this.sorting),
      el("label", {}, el("span", {}, TEXTS.compareWith), this.baseline),
    );
    this.node = el(
      "section",
      { class: "variables", "aria-label": TEXTS.variables },
      this.tools,
      this.count,
      this.list,
      this.more,
    );
    this.items = new Map(this.rows.map((row) => [row, el("div", { role: "listitem", class: "item" }, row.node)]));
  }
  /** @param {Record<string, string>} options @param {(key: string) => void} choose */
  _menu(options, choose) {
    const menu = el(
      "select",
      { onchange: () => choose(menu.value) },
      ...Object.entries(options).map(([key, text]) => el("option", { value: key }, text)),
    );
    return menu;
  }
  /** Show what is believed now. */
  update() {
    for (const row of this.rows) row.update();
    this.baseline.value = this.state.baseline;
    this.baseline.querySelector('[value="pin"]').disabled = !this.state.pinned;
    this.node.classList.toggle("impossible", !this.state.isPossible);
    this.arrange();
  }
  /** The rows that are looked for, in order. */
  chosen() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.rows.filter((row) => !wanted || row.variable.name.toLowerCase().includes(wanted));
    const orders = /** @type {Record<string, (a: Row, b: Row) => number>} */ ({
      table: (a, b) => a.column - b.column,
      name: (a, b) => a.variable.name.localeCompare(b.variable.name, "en", { numeric: true }),
      probability: (a, b) => b.chance - a.chance,
      moved: (a, b) => b.move - a.move,
      open: (a, b) => b.uncertainty - a.uncertainty,
    });
    return found.sort((a, b) => orders[this.sort](a, b) || a.column - b.column);
  }
  arrange() {
    const chosen = this.chosen();
    const shown = chosen.slice(0, this.most);
    const items = shown.map((row) => this.items.get(row));
    const same = items.length === this.list.children.length && items.every((item, i) => item === this.list.children[i]);
    if (!same) {
      const focused = document.activeElement;
      fill(this.list, ...items);
      if (focused instanceof HTMLElement && this.list.contains(focused)) focused.focus({ preventScroll: true });
    }
    this.count.textContent = chosen.length ? TEXTS.shown(chosen.length, this.rows.length) : TEXTS.noMatch;
    this.more.hidden = shown.length === chosen.length;
    this.more.textContent = TEXTS.showAll(chosen.length - shown.length);
    if (shown.length && !shown.includes(this.active)) this.activate(shown[0]);
    else this.activate(this.active);
  }
  /** Let Tab reach one row and what is in it. @param {Row} row */
  activate(row) {
    for (const one of new Set([this.active, row])) {
      const reach = one === row ? 0 : -1;
      one.node.tabIndex = reach;
      for (const control of one.node.querySelectorAll("button, input, select")) control.tabIndex = reach;
    }
    this.active = row;
  }
  /** @param {FocusEvent} event */
  _follow(event) {
    const row = this.rowOf(/** @type {Element} */ (event.target));
    if (row && row !== this.active) this.activate(row);
  }
  /** @param {Element} node */
  rowOf(node) {
    const own = node.closest(".row");
    return this.rows.find((row) => row.node === own);
  }
  /** Show a variable and give it the focus. @param {number} column */
  goTo(column) {
    const row = this.rows.find((one) => one.column === column);
    if (!row) return;
    if (!this.chosen().slice(0, this.most).includes(row)) {
      this.search.value = "";
      this.most = Infinity;
      this.arrange();
    }
    this.activate(row);
    row.node.focus();
    row.node.scrollIntoView({ block: "center" });
  }
  /** @param {KeyboardEvent} event */
  key(event) {
    const row = this.rowOf(/** @type {Element} */ (event.target));
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (!row || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const labels = row.variable.labels;
    const digit = /^[0-9]$/.test(event.key) ? Number(event.key) : { y: 1, n: 0 }[event.key];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") this._step(row, event.key === "ArrowDown" ? 1 : -1);
    else if (labels && digit !== undefined && digit < labels.length && (labels.length === 2 || /[0-9]/.test(event.key)))
      row.toggle(digit);
    else if (event.key === "Enter" && event.target === row.node) row.toggleLikely();
    else if (event.key === "Delete" || event.key === "Backspace") this.state.set([[row.column, null]]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  /** @param {Row} row @param {number} step */
  _step(row, step) {
    const shown = this.chosen().slice(0, this.most);
    const next = shown[shown.indexOf(row) + step];
    if (next) {
      this.activate(next);
      next.node.focus();
    }
  }
}
