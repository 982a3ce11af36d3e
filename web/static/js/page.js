import { $, cookie, cookies, say } from "./dom.js";
import { fire } from "./live.js";

// Send the browser's time zone to the server, which formats all times.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !cookies().zone) cookie("zone", zone);

// To speed up the first paint, rows outside the viewport are not rendered until the page has
// loaded. Then they are, because screen readers skip rows that are not rendered.
addEventListener("load", () =>
  (window.requestIdleCallback || setTimeout)(() => {
    document.documentElement.dataset.drawn = "";
  }),
);

// The title and the icon of the tab follow the page's live region.
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
// The error message of an invalid filter replaces the list.
document.addEventListener("htmx:beforeSwap", (e) => {
  if (e.detail.xhr.status === 400 && e.target.id === "list") {
    e.detail.shouldSwap = true;
    e.detail.isError = false;
  }
});
// A region with selected text is not replaced. It reloads when the selection ends.
const held = new Set();
document.addEventListener("htmx:beforeSwap", (e) => {
  const s = getSelection();
  if (!s || s.isCollapsed || !e.target.dataset || !e.target.dataset.live || !e.target.contains(s.anchorNode))
    return;
  e.detail.shouldSwap = false;
  e.target.dataset.live.split(" ").forEach((topic) => held.add(topic));
});
document.addEventListener("selectionchange", () => {
  if (!held.size || !getSelection().isCollapsed) return;
  held.forEach(fire);
  held.clear();
});
