// Elements are made here and nowhere else: text goes in as text, so that no name can become markup.

export const find = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

// A number as people write it: no exponent within reach, a real minus sign.
export function number(value) {
  if (value == null) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(1) : plain.format(value);
  return text.replace("-", "−");
}

export const count = (value) => value.toLocaleString("en");
export const percent = (value) => (value == null ? "–" : `${Math.round(100 * value)} %`);
export const plural = (value, thing) => `${count(value)} ${thing}${value === 1 ? "" : "s"}`;
