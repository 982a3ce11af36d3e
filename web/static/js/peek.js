import { plain } from "./plain.js";

// A look at a run, below its row; a second time closes it.
const peek = async (a, then) => {
  const row = a.closest("tr"),
    there = row.nextElementSibling;
  const close = there && there.classList.contains("peek");
  a.setAttribute("aria-expanded", String(!close));
  if (close) {
    there.remove();
    return;
  }
  try {
    const r = await fetch(a.href + "&span=" + a.dataset.peek, {
      headers: { "HX-Request": "true", "HX-Target": "peek" },
    });
    if (!r.ok) {
      location.href = a.href;
      return;
    }
    const t = document.createElement("template");
    t.innerHTML = await r.text();
    row.after(t.content);
    if (then) then(row.nextElementSibling);
  } catch {
    location.href = a.href;
  }
};

export const peeks = () => {
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[data-peek]");
    if (a && plain(e)) {
      e.preventDefault();
      peek(a);
    }
  });
  document.addEventListener("k:peek", (e) => {
    const a = e.target.querySelector("a[data-peek]");
    if (a)
      peek(
        a,
        e.detail &&
          ((p) => {
            const b = p.querySelector("a, button");
            if (b) b.focus();
          }),
      );
  });
};
