// @ts-check
// Building the page: elements are made by one function, and text is always text.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "rect", "line", "g", "text", "circle", "title"]);

/** Make an element. Properties starting with "on" are listeners; `class`, `aria-…`, `data-…` and the like are attributes.
 * @param {string} tag @param {Record<string, any>} [properties] @param {...(Node | string | null | undefined | false)} children @returns {any} */
export function el(tag, properties = {}, ...children) {
  const node = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Replace what an element holds. @param {Element} node @param {...(Node | string | null | undefined | false)} children */
export function fill(node, ...children) {
  node.replaceChildren(
    .../** @type {(Node | string)[]} */ (
      children.filter((child) => child !== null && child !== undefined && child !== false)
    ),
  );
}

/** A button. @param {string} text @param {(event: Event) => void} act @param {Record<string, any>} [properties] */
export function button(text, act, properties = {}) {
  return el("button", { type: "button", onclick: act, ...properties }, text);
}

/** Let the browser save a text or a picture. @param {string} name @param {Blob} content */
export function save(name, content) {
  const address = URL.createObjectURL(content);
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Set a length in percent, which styles read. @param {HTMLElement} node @param {string} name @param {number} fraction */
export function setShare(node, name, fraction) {
  node.style.setProperty(name, `${(100 * Math.min(1, Math.max(0, fraction))).toFixed(2)}%`);
}
