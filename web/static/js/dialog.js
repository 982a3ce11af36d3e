import { $ } from "./dom.js";
import { plain } from "./plain.js";

// Links and forms with hx-target="#dialog" load into the dialog. Without scripts, they open as
// pages.
export const dialog = $("dialog");
const content = $("#dialog");

// An error response is shown in the dialog, too.
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
    opener.focus(); // closing a dialog returns the focus to the opener
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
  if (back || e.target === dialog) dialog.close(); // the content covers the dialog, so this click was outside
});

dialog.addEventListener("close", () => {
  content.replaceChildren();
  dialog.querySelector("#failed")?.remove();
});
