import { body, say, word } from "./dom.js";

// Copying also works over plain HTTP, where browsers lack the clipboard API.
export const copy = async (text) => {
  try {
    if (navigator.clipboard && window.isSecureContext) await navigator.clipboard.writeText(text);
    else {
      const t = document.createElement("textarea");
      t.value = text;
      body.append(t);
      t.select();
      document.execCommand("copy");
      t.remove();
    }
    say(word("copied"));
    return true;
  } catch {
    say(word("nocopy"));
    return false;
  }
};
document.addEventListener("click", async (e) => {
  const b = e.target.closest("[data-copy]");
  if (!b) return;
  const from = document.getElementById(b.dataset.copy);
  let text = from ? from.textContent : b.dataset.text || "";
  if (b.dataset.url) {
    const r = await fetch(b.dataset.url);
    if (r.ok) text = await r.text();
  }
  if (!(await copy(text))) return;
  const old = b.textContent;
  b.textContent = word("copied");
  setTimeout(() => {
    b.textContent = old;
  }, 2000);
});

// Copies a part of a value in full, even if the page shows only its beginning.
document.addEventListener("click", async (e) => {
  const b = e.target.closest("[data-at]");
  if (!b) return;
  e.preventDefault();
  const box = b.closest("[data-values]"),
    own = b.parentElement.querySelector(".s,.n,.w");
  let text = own ? own.textContent : "";
  if (box && box.dataset.values) {
    const r = await fetch(box.dataset.values + "?path=" + encodeURIComponent(b.dataset.at));
    if (r.ok) text = await r.text();
  }
  if (!text || !(await copy(text))) return;
  const old = b.textContent;
  b.textContent = word("copied");
  setTimeout(() => {
    b.textContent = old;
  }, 2000);
});
