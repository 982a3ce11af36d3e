import { $$ } from "./dom.js";

// Scrolls each graph to the selected node, but not the page.
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
// Scrolls rows of tabs and chips to the current one.
export const along = () => {
  for (const a of $$("nav.tabs [aria-current], nav.filters [aria-current]")) {
    const n = a.parentElement;
    n.scrollLeft = a.offsetLeft - n.offsetLeft - (n.clientWidth - a.offsetWidth) / 2;
  }
};
along();
document.addEventListener("htmx:oobAfterSwap", along);
