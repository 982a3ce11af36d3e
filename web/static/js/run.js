import { $, $$, body } from "./dom.js";
import { tail } from "./log.js";
import { along, centre } from "./view.js";

// On the page of a run, another step swaps the inspector, another view the pane:
// the same addresses, which the server has pushed.
const pane = () => $("#pane");
let chosen = "";
const get = (address, target) => {
  chosen = address;
  window.htmx.ajax("GET", address, { target: target, swap: "outerHTML" });
};
document.addEventListener("click", (e) => {
  const a = e.target.closest("#tabs a, #pane a"),
    address = a && a.getAttribute("href");
  if (
    !address ||
    e.button ||
    e.ctrlKey ||
    e.metaKey ||
    e.shiftKey ||
    e.altKey ||
    e.defaultPrevented ||
    !window.htmx ||
    !pane() ||
    a.hasAttribute("download")
  )
    return;
  const to = new URL(address, location.href),
    line = a.closest(".log a.ln");
  if (to.origin !== location.origin || to.pathname !== location.pathname || line) return;
  if (to.hash !== "#inspector") {
    e.preventDefault();
    get(to.pathname + to.search, "#pane");
  } else if ($("#inspector")) {
    e.preventDefault();
    get(to.pathname + to.search, "#inspector");
  }
});
// What was asked for before another view was chosen comes too late.
document.addEventListener("htmx:beforeSwap", (e) => {
  const c = e.detail.requestConfig;
  if (!c || !c.elt || !c.elt.hasAttribute("data-here") || c.path === location.pathname + location.search)
    return;
  e.detail.shouldSwap = false;
  setTimeout(live, 50);
});
const live = () => {
  const h = $("#head[data-live]");
  if (h) body.dispatchEvent(new CustomEvent("k:" + h.dataset.live));
};
document.addEventListener("htmx:afterSettle", (e) => {
  const id = e.target.id;
  if (id !== "pane" && id !== "inspector") return;
  if (document.activeElement === body && chosen) {
    const a =
      $$("#tabs a, #pane a").find((x) => {
        const to = new URL(x.getAttribute("href"), location.href);
        return to.pathname + to.search === chosen;
      }) || $("#tabs [aria-current]");
    if (a) a.focus({ preventScroll: true });
  }
  if (id === "pane") {
    centre();
    along();
    tail();
    return;
  }
  tail();
  if (chosen) live(); // the rows say which one is chosen
  const i = $("#inspector");
  if (chosen && i.getBoundingClientRect().top > innerHeight - 80) i.scrollIntoView({ block: "start" });
});
// While nobody has chosen a step, the inspector goes along with what runs.
const busy = (i) =>
  i.contains(document.activeElement) ||
  i.querySelector("form, details[open]") ||
  (getSelection() && !getSelection().isCollapsed && i.contains(getSelection().anchorNode));
document.addEventListener("htmx:afterSettle", (e) => {
  const i = $("#inspector"),
    row = $("#view tr.sel a.go");
  if (
    e.target.id !== "view" ||
    !i ||
    !row ||
    busy(i) ||
    !window.htmx ||
    /[?&](step|node)=/.test(location.search)
  )
    return;
  const step = new URL(row.getAttribute("href"), location.href).searchParams.get("step");
  if (
    step &&
    (i.dataset.step !== step || !row.closest("tr").querySelector(".st").classList.contains(i.dataset.state))
  ) {
    get(location.pathname + location.search, "#inspector");
    chosen = "";
  }
});
