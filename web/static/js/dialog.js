import { $ } from "./dom.js";
import { plain } from "./plain.js";

// The dialog shows what links and forms with hx-target="#dialog" load, over the page. Without
// scripts they lead to pages of their own.
export const dialog = $("dialog");
const content = $("#dialog");

// An error is shown like any other answer.
content.addEventListener("htmx:beforeSwap", (e) => {
  const type = e.detail.xhr.getResponseHeader("Content-Type") || "";
  if (e.target !== content || !type.startsWith("text/html")) return;
  e.detail.shouldSwap = true;
  e.detail.isError = false;
});

content.addEventListener("htmx:afterSwap", (e) => {
  if (e.target !== content) return;
  if (!dialog.open) {
    const { elt, triggeringEvent } = e.detail.requestConfig,
      menu = elt.closest("[popover]"),
      opener = menu ? $('[popovertarget="' + menu.id + '"]') : triggeringEvent?.submitter || elt;
    opener.focus(); // a closed dialog returns the focus to it
    dialog.showModal();
  }
  const heading = content.querySelector("h1");
  if (heading) heading.id = "dialog-h";
  const first = content.querySelector(".note.bad[role=alert]") || heading;
  if (first) {
    first.tabIndex = -1;
    first.focus();
  }
});

dialog.addEventListener("click", (e) => {
  const back = plain(e) && e.target.closest("a.back");
  if (back) e.preventDefault();
  if (back || e.target === dialog) dialog.close(); // its content covers it: the click was outside
});

dialog.addEventListener("close", () => {
  content.replaceChildren();
  dialog.querySelector("#failed")?.remove();
});
