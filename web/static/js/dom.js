// Helpers that all modules share.
export const body = document.body;
export const $ = (css) => document.querySelector(css);
export const $$ = (css) => [...document.querySelectorAll(css)];
export const word = (name) => body.getAttribute("data-w-" + name) || name;
export const say = (text) => {
  const el = $("#say");
  if (el) el.textContent = text;
};
export const cookie = (name, value) => {
  document.cookie =
    name +
    "=" +
    value +
    "; path=/; max-age=31536000; samesite=strict" +
    (location.protocol === "https:" ? "; secure" : "");
};
export const cookies = () => Object.fromEntries(document.cookie.split("; ").map((c) => c.split("=")));
