import { $$ } from "./dom.js";

// A graph begins with the chosen node in view; the page itself does not move.
export const centre = () => {
  for (const box of $$(".dag")) {
    const n = box.querySelector(".sel");
    if (!n) continue;
    const b = box.getBoundingClientRect(),
      r = n.getBoundingClientRect();
    box.scrollLeft += r.left - b.left - b.width / 2 + r.width / 2;
    box.scrollTop += r.top - b.top - b.height / 2 + r.height / 2;
  }
};
centre();
// So does a row of tabs or chips with the current one.
export const along = () => {
  for (const a of $$("nav.tabs [aria-current], nav.filters [aria-current]")) {
    const n = a.parentElement;
    n.scrollLeft = a.offsetLeft - n.offsetLeft - (n.clientWidth - a.offsetWidth) / 2;
  }
};
along();
document.addEventListener("htmx:oobAfterSwap", along);
