// Light or dark: as the system says, until the button says otherwise.

import { find, make } from "./dom.js";

const listeners = [];
const system = window.matchMedia("(prefers-color-scheme: dark)");

const isDark = () => document.documentElement.dataset.theme === "dark";

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "muted", "surface", "line", "node", "faint", "faint-edge", "positive", "negative", "chosen", "cause", "effect"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export const onTheme = (listener) => listeners.push(listener);

export function startTheme() {
  const button = find("theme");
  const use = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.replaceChildren(make("span", {}, dark ? "☀" : "☾"), make("span", { class: "wide" }, dark ? " Light" : " Dark"));
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
    for (const listener of listeners) listener();
  };
  button.addEventListener("click", () => use(!isDark()));
  system.addEventListener("change", () => use(system.matches));
  use(system.matches);
}
