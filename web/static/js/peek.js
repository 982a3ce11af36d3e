// A peek link in the list of runs loads a row under its own. Used again, it removes that row.
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
