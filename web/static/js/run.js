import { $, $$, body } from "./dom.js";
import { tail } from "./log.js";
import { plain } from "./plain.js";
import { along, centre } from "./view.js";

// The browser, not htmx, handles a click that opens another tab or window.
document.addEventListener(
  "click",
  (e) => {
    if (e.target.closest("a[hx-get]") && !plain(e)) e.stopPropagation();
  },
  true,
);

const below = (i) => i && i.getBoundingClientRect().top > innerHeight - 80;
document.addEventListener("htmx:afterSettle", (e) => {
  const asked = e.detail.requestConfig;
  if (e.target.id === "inspector") tail();
  if (e.target.id !== "pane" || !asked) return;
  if (document.activeElement === body) {
    const a = $$("[hx-get]").find((x) => x.getAttribute("hx-get") === asked.path);
    (a || $("#tabs [aria-current]")).focus({ preventScroll: true });
  }
  if (!/#inspector$/.test(asked.elt.getAttribute("href"))) centre();
  else if (below($("#inspector"))) $("#inspector").scrollIntoView({ block: "start" });
  along();
  tail();
});

// Until the reader selects a step, the inspector shows the running one.
const busy = (i) =>
  i.contains(document.activeElement) ||
  i.querySelector("form, details[open]") ||
  (getSelection() && !getSelection().isCollapsed && i.contains(getSelection().anchorNode));
document.addEventListener("htmx:afterSettle", (e) => {
  const i = $("#inspector"),
    row = $("#view tr.sel a.go");
  if (e.target.id !== "view" || !i || !row || busy(i) || /[?&](step|node)=/.test(location.search)) return;
  const step = new URL(row.href).searchParams.get("step");
  if (
    step &&
    (i.dataset.step !== step || !row.closest("tr").querySelector(".st").classList.contains(i.dataset.state))
  )
    window.htmx.ajax("GET", location.pathname + location.search, { target: "#inspector", swap: "outerHTML" });
});

// A one-click action redirects to the current view.
document.addEventListener("submit", (e) => {
  const form = e.target;
  if (form.matches(".once") && location.pathname.startsWith("/runs/"))
    form.action = form.action.split("?")[0] + location.search;
});
