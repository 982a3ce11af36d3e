import { $, $$, say, word } from "./dom.js";

// Entered values survive a login after the session has expired. They are kept in this tab, except
// passwords, and restored after login.
const typed = () =>
  $$("main textarea, main select, main input, dialog textarea, dialog input").filter(
    (e) => !/^(password|hidden|file|submit)$/.test(e.type) && e.name,
  );
const keep = () => {
  const at = {},
    list = typed()
      .map((e) => [
        e.name,
        (at[e.name] = (at[e.name] || 0) + 1),
        e.type === "checkbox" || e.type === "radio" ? e.checked : e.value,
        e.type === "checkbox" || e.type === "radio" ? e.defaultChecked : e.defaultValue,
      ])
      .filter(([, , now, was]) => now !== (was === undefined ? now : was))
      .map((f) => f.slice(0, 3));
  if (list.length) sessionStorage.setItem("kept", JSON.stringify(list));
};
document.addEventListener("submit", (e) => {
  if (e.target.method === "post" && location.pathname !== "/login") keep();
});
document.addEventListener("htmx:beforeOnLoad", (e) => {
  if (e.detail.xhr.status === 401) keep();
});
const kept = sessionStorage.getItem("kept");
if (kept && location.pathname === "/login") {
  sessionStorage.setItem("back", "1");
  const p = Object.assign(document.createElement("p"), { className: "note", textContent: word("kept") });
  p.setAttribute("role", "status");
  $("main").prepend(p);
} else if (kept) {
  if (sessionStorage.getItem("back")) {
    const at = {},
      list = typed().map((e) => [e, (at[e.name] = (at[e.name] || 0) + 1)]);
    for (const [name, n, value] of JSON.parse(kept)) {
      const found = list.find(([e, i]) => e.name === name && i === n);
      if (!found) continue;
      found[0][typeof value === "boolean" ? "checked" : "value"] = value;
      const box = found[0].closest("details");
      if (box) box.open = true; // show the restored value
    }
  }
  sessionStorage.removeItem("kept");
  sessionStorage.removeItem("back");
}

// Focus the error message of a rejected form, for screen readers.
const refused = performance.getEntriesByType("navigation")[0],
  why =
    refused &&
    [401, 409, 422].includes(refused.responseStatus) &&
    $("main .note.bad[role=alert]:not([data-notice])");
if (why) {
  why.tabIndex = -1;
  why.focus();
}
// Announce the confirmation of the previous action to screen readers. After a decision, focus the
// next approval request, or the confirmation if none is left.
const done = $("#done");
const next = done && ($("[data-focus]") || (done.matches("[role=status]") && done));
if (next) {
  if (next === done) done.tabIndex = -1;
  next.focus();
}
if (done) setTimeout(() => say(done.textContent.trim()), 500);
