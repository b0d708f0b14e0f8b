// @ts-check
// Numbers as people read them; never NaN.

/** A probability in percent. @param {number | null | undefined} p */
export function percent(p) {
  if (p === null || p === undefined || Number.isNaN(p)) return "–";
  const own = 100 * p;
  if (p <= 0) return "0 %";
  if (p >= 1 - 1e-12) return "100 %";
  if (own < 0.01) return "<0.01 %";
  if (own > 99.99) return ">99.99 %";
  if (own < 1 || own > 99) return `${own.toFixed(own < 0.095 || own > 99.905 ? 2 : 1)} %`;
  return `${own.toFixed(own < 10 ? 1 : 0)} %`;
}

/** A change in percentage points, empty where there is none to speak of. @param {number} change */
export function points(change) {
  const own = 100 * change;
  if (!(Math.abs(own) >= 0.5)) return "";
  return `${own > 0 ? "+" : "−"}${Math.abs(own).toFixed(Math.abs(own) < 9.95 ? 1 : 0)}`;
}

/** A number in few digits. @param {number | null | undefined} value @param {boolean} [whole] */
export function number(value, whole = false) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (whole || (Number.isInteger(value) && size < 1e6)) return Math.round(value).toLocaleString("en").replace("-", "−");
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(2).replace("-", "−");
  return Number(value.toPrecision(size >= 100 ? 4 : 3))
    .toLocaleString("en", { maximumFractionDigits: 6 })
    .replace("-", "−");
}

/** A number that somebody has given, with all of its digits up to six; whole ones with all. @param {number} value */
export function givenNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return String(Number(value.toPrecision(6))).replaceAll("-", "−");
  const digits = Number.isInteger(value) ? 15 : 6;
  return value.toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "−");
}

/** How many times, in round numbers. @param {number} times */
export function timesText(times) {
  if (times >= 1e6) return `10${superscript(Math.round(Math.log10(times)))}`;
  if (times >= 10) return Number(times.toPrecision(2)).toLocaleString("en");
  return times.toFixed(1);
}

/** @param {number} n */
function superscript(n) {
  return [...String(n)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "").join("");
}

/** A probability given as a logarithm: in percent, or as one in so many. @param {number} log */
export function chanceOf(log) {
  if (log > Math.log(0.001)) return { fraction: percent(Math.exp(log)), rare: null };
  const digits = -log / Math.LN10;
  return { fraction: null, rare: digits > 6 ? `10${superscript(Math.round(digits))}` : timesText(Math.exp(-log)) };
}
