// @ts-check
// The whole page: header, what is known, the list of variables and the panels beside it.
import { AskPanel } from "./ask.js";
import { ComparePanel } from "./compare.js";
import { ContextsPanel } from "./contexts.js";
import { button, el, fill } from "./dom.js";
import { Engine } from "./engine.js";
import { FactsBar } from "./facts.js";
import { Model } from "./model.js";
import { RowsPanel } from "./rows.js";
import { shareDialog } from "./share.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";
import { VariableList } from "./variables.js";

const WIDE = matchMedia("(min-width: 900px)");

class App {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.list = new VariableList(state);
    this.facts = new FactsBar(state);
    const goTo = (/** @type {number} */ column) => {
      if (!WIDE.matches) this.show("variables");
      this.list.goTo(column);
    };
    this.panels = /** @type {Record<string, {node: any, update?: () => any, show?: (isSeen: boolean) => void}>} */ ({
      contexts: new ContextsPanel(state, goTo),
      ask: new AskPanel(state, goTo),
      rows: new RowsPanel(state, goTo),
      compare: new ComparePanel(state, goTo),
    });
    this.tabs = new Map(
      ["variables", ...Object.keys(this.panels)].map((key) => [
        key,
        button(TEXTS.panels[key], () => this.show(key), {
          role: "tab",
          id: `tab-${key}`,
          "aria-controls": `panel-${key}`,
          class: key,
        }),
      ]),
    );
    this.holders = new Map(
      Object.entries(this.panels).map(([key, panel]) => [
        key,
        el(
          "div",
          { role: "tabpanel", id: `panel-${key}`, "aria-labelledby": `tab-${key}`, class: "panel" },
          panel.node,
        ),
      ]),
    );
    this.list.node.id = "panel-variables";
    this.tabBar = el(
      "div",
      {
        role: "tablist",
        class: "tabs",
        "aria-label": TEXTS.views,
        onkeydown: (/** @type {KeyboardEvent} */ event) => this._tabKey(event),
      },
      ...this.tabs.values(),
    );
    this.second = el("section", { class: "second", "aria-label": TEXTS.views }, this.tabBar);
    this.node = el(
      "main",
      {},
      this.list.node,
      el("section", { class: "side", "aria-label": TEXTS.panels.contexts }, ...this.holders.values()),
    );
    this.shown = "";
    this.sticky = el("div", { class: "sticky" }, this.facts.node, this.second);
    new ResizeObserver(() =>
      document.documentElement.style.setProperty("--top", `${this.sticky.offsetHeight}px`),
    ).observe(this.sticky);
  }
  /** Show a panel; on narrow screens one at a time, the list of variables being one of them. @param {string} key */
  show(key) {
    this.shown = key;
    if (WIDE.matches)
      this.second.prepend(this.list.tools); // stays in sight beside the tabs
    else this.list.node.prepend(this.list.tools);
    const side = key === "variables" ? (WIDE.matches ? "contexts" : "") : key;
    for (const [name, tab] of this.tabs) {
      const isShown = name === (WIDE.matches ? side : key);
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
    this.list.node.classList.toggle("hidden", !WIDE.matches && key !== "variables");
    for (const [name, holder] of this.holders) {
      holder.hidden = name !== side;
      this.panels[name].show?.(name === side);
    }
    if (side === "contexts" || side === "compare") this.panels[side].update?.();
  }
  /** @param {KeyboardEvent} event */
  _tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const keys = [...this.tabs.keys()].filter((key) => /** @type {HTMLElement} */ (this.tabs.get(key)).offsetParent);
    const next = keys[(keys.indexOf(String(document.activeElement?.id.slice(4))) + step + keys.length) % keys.length];
    this.show(next);
    this.tabs.get(next).focus();
    event.preventDefault();
  }
  update() {
    const { now, reference } = this.state;
    this.node.classList.toggle("same", !now.facts.size && !reference.facts.size); // there is no before yet
    this.facts.update();
    this.list.update();
    for (const [name, panel] of Object.entries(this.panels)) if (!this.holders.get(name).hidden) panel.update?.();
  }
  /** Keys that work wherever the focus is. @param {KeyboardEvent} event */
  key(event) {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input, select, textarea");
    if (event.key === "Escape" && target === this.list.search) {
      this.list.search.value = "";
      this.list.arrange();
    }
    if (event.key === "ArrowDown" && target === this.list.search) {
      this.list.active.node.focus();
      event.preventDefault();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const acts = /** @type {Record<string, () => void>} */ ({
      "/": () => this.list.search.focus(),
      u: () => this.state.undo(),
      c: () => {
        if (this.state.facts.size) this.state.replace(new Map());
      },
      p: () => this.state.pin(),
      "?": () => this.help(),
    });
    if (acts[event.key]) {
      acts[event.key]();
      event.preventDefault();
    }
  }
  /** @param {any} dialog */
  open(dialog) {
    document.body.append(dialog);
    dialog.showModal();
  }
  help() {
    const dialog = el(
      "dialog",
      { class: "dialog", "aria-label": TEXTS.helpTitle },
      el(
        "div",
        { class: "head" },
        el("h2", {}, TEXTS.helpTitle),
        button(TEXTS.close, () => dialog.close()),
      ),
      ...TEXTS.helpText.map((text) => el("p", {}, text)),
      el("dl", { class: "keys" }, ...TEXTS.keys.flatMap(([key, text]) => [el("dt", {}, key), el("dd", {}, text)])),
    );
    dialog.addEventListener("close", () => dialog.remove());
    this.open(dialog);
  }
  share() {
    this.open(shareDialog(this.state, this.list));
  }
}

/** Change between light and dark; the system's choice counts until then. */
function changeTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}

/** @param {string} id */
function embedded(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id)).textContent ?? "";
}

async function start() {
  const holder = /** @type {HTMLElement} */ (document.getElementById("app"));
  fill(holder, el("p", { class: "opening", role: "status" }, TEXTS.opening));
  const header = JSON.parse(embedded("model"));
  const model = new Model(header);
  const engine = new Engine(embedded("engine"));
  try {
    const state = new State(model, engine, await engine.ask("open", header, model.shownNodes()));
    const app = new App(state);
    const top = el(
      "header",
      { class: "top" },
      el(
        "div",
        {},
        el("h1", {}, model.title),
        el("p", { class: "subtitle" }, TEXTS.subtitle(model.variables.length, header.size.nodes)),
      ),
      el(
        "nav",
        { class: "acts", "aria-label": TEXTS.share },
        button(TEXTS.share, () => app.share()),
        button("◐", changeTheme, { "aria-label": TEXTS.theme, title: TEXTS.theme }),
        button("?", () => app.help(), { "aria-label": TEXTS.help, title: TEXTS.help }),
      ),
    );
    fill(holder, top, app.sticky, app.node);
    state.listeners.push(() => app.update());
    document.addEventListener("keydown", (event) => app.key(event));
    WIDE.addEventListener("change", () => app.show(WIDE.matches && app.shown === "variables" ? "contexts" : app.shown));
    app.show(WIDE.matches ? "contexts" : "variables");
    await state.followAddress();
    Object.assign(window, { explorer: { state, engine, app, ready: performance.now() } });
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    fill(holder, el("p", { class: "opening", role: "alert" }, TEXTS.failed + String(error)));
  }
}

start();
