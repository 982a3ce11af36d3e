import { $, cookie, cookies, say } from "./dom.js";
import { fire } from "./live.js";

// The browser's zone, told once: the server writes all times.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !cookies().zone) cookie("zone", zone);

// Rows that nobody sees are not drawn before those that are seen. Then they are, since
// what was never drawn is not there for a screen reader.
addEventListener("load", () =>
  (window.requestIdleCallback || setTimeout)(() => {
    document.documentElement.dataset.drawn = "";
  }),
);

// The title and the icon of the tab follow the page's live part (R27).
document.addEventListener("htmx:afterSettle", () => {
  const head = $("[data-title]");
  if (!head) return;
  if (document.title !== head.dataset.title) {
    document.title = head.dataset.title;
    say(head.dataset.title);
  }
  const icon = $("#favicon");
  if (icon && head.dataset.icon && icon.getAttribute("href") !== head.dataset.icon)
    icon.href = head.dataset.icon;
});
// What is wrong with a filter is said where the list was.
document.addEventListener("htmx:beforeSwap", (e) => {
  if (e.detail.xhr.status === 400 && e.target.id === "list") {
    e.detail.shouldSwap = true;
    e.detail.isError = false;
  }
});
// Leave alone what is held: text selected in a live part stays selected; once it
// is let go, the part catches up.
const held = new Set();
document.addEventListener("htmx:beforeSwap", (e) => {
  const s = getSelection();
  if (!s || s.isCollapsed || !e.target.dataset || !e.target.dataset.live || !e.target.contains(s.anchorNode))
    return;
  e.detail.shouldSwap = false;
  held.add(e.target.dataset.live);
});
document.addEventListener("selectionchange", () => {
  if (!held.size || !getSelection().isCollapsed) return;
  held.forEach(fire);
  held.clear();
});
