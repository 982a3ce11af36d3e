// The peek link of a run loads a row under the row of the run. Used again, it removes that row.
const peekLink = ".pk a";
const rowAfter = (link) => link.closest("tr").nextElementSibling;

document.addEventListener("htmx:beforeRequest", (e) => {
  const link = e.detail.elt;
  if (!link.matches(peekLink) || !rowAfter(link)?.matches(".peek")) return;
  e.preventDefault();
  rowAfter(link).remove();
  link.setAttribute("aria-expanded", "false");
});

document.addEventListener("htmx:afterSwap", (e) => {
  const { elt, triggeringEvent } = e.detail.requestConfig || {};
  if (!elt?.matches(peekLink)) return;
  elt.setAttribute("aria-expanded", "true");
  if (triggeringEvent.detail === "enter") rowAfter(elt).querySelector("a, button")?.focus();
});
