import { $, $$ } from "./dom.js";

// Selecting rows: their count, and ranges with Shift.
let anchor = null;
export const boxes = () => $$("#bulk input[name=run]");
export const count = () => {
  const el = $("#selected"),
    n = boxes().filter((b) => b.checked).length;
  if (el) el.textContent = n || "";
  for (const b of $$("#bulk [data-exactly]")) b.hidden = n !== Number(b.dataset.exactly);
};
document.addEventListener("click", (e) => {
  if (!e.target.matches("#bulk input[name=run]")) return;
  const all = boxes(),
    i = all.indexOf(e.target);
  if (e.shiftKey && anchor !== null)
    for (const b of all.slice(Math.min(i, anchor), Math.max(i, anchor) + 1)) b.checked = e.target.checked;
  anchor = i;
  count();
});
