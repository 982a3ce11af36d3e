import { $, $$ } from "./dom.js";

// A log follows its end until the reader scrolls up, selects text, or focuses it. Then it shows the
// number of new lines.
let following = true,
  top = 0,
  high = 0;
const seen = {};
const logs = () => $$(".log[data-follow]");
export const tail = () => {
  const tools = $("#logtools"),
    button = $("#follow"),
    loud = $("#announce");
  if (tools) tools.hidden = false;
  let fresh = 0;
  for (const l of logs()) {
    if (following || !(l.id in seen)) {
      l.scrollTop = l.scrollHeight;
      top = l.scrollTop;
      high = l.scrollHeight;
      seen[l.id] = Number(l.dataset.newest);
    }
    if (l.id === "log") fresh = Number(l.dataset.newest) - seen.log;
    if (loud) l.setAttribute("aria-live", loud.getAttribute("aria-pressed") === "true" ? "polite" : "off");
  }
  if (!button) return;
  button.hidden = following;
  const text = button.dataset.word || (button.dataset.word = button.textContent);
  button.textContent = text + (fresh > 0 ? " (" + fresh + " " + button.dataset.new + ")" : "");
};
const look = (at) => {
  if (following && at && at.closest && at.closest(".log[data-follow]")) {
    following = false;
    tail();
  }
};
addEventListener("wheel", (e) => look(e.target), { passive: true });
document.addEventListener("focusin", (e) => look(e.target));
document.addEventListener("selectionchange", () => {
  const s = getSelection();
  if (s && !s.isCollapsed && s.anchorNode) look(s.anchorNode.parentElement);
});
addEventListener("pointerdown", (e) => look(e.target)); // includes its scroll bar
document.addEventListener(
  "scroll",
  (e) => {
    const l = e.target;
    if (!l.matches || !l.matches(".log[data-follow]")) return;
    if (l.scrollHeight !== high && following) return tail(); // layout changed the height of lines; the reader did not scroll
    if (l.scrollTop < top - 2) look(l);
    top = l.scrollTop;
  },
  true,
);
document.addEventListener("htmx:afterSettle", (e) => {
  if (e.target.id === "view" || e.target.id === "steplog") tail();
});
document.addEventListener("click", (e) => {
  const b = e.target.closest("#follow, #announce, #nowrap"),
    a = e.target.closest(".log a.ln");
  if (b && b.id === "follow") {
    following = true;
    tail();
  } else if (b) {
    const on = b.getAttribute("aria-pressed") !== "true";
    b.setAttribute("aria-pressed", String(on));
    if (b.id === "nowrap") $("#pane").classList.toggle("no-wrap", on);
    else tail();
  }
  if (!a || e.ctrlKey || e.metaKey || e.button) return;
  e.preventDefault(); // the address contains the line, or with Shift the range
  const to = new URL(location.href),
    n = Number(a.textContent),
    first = Number((to.searchParams.get("line") || "").split("-")[0]);
  const from = e.shiftKey && first ? Math.min(n, first) : n,
    until = e.shiftKey && first ? Math.max(n, first) : n;
  to.searchParams.set("line", until > from ? from + "-" + until : String(from));
  to.hash = "L" + from;
  history.replaceState(history.state, "", to);
  for (const li of $$(".log li")) {
    const k = Number(li.id.slice(1));
    li.classList.toggle("hl", k >= from && k <= until);
  }
  look(a);
});
tail();
