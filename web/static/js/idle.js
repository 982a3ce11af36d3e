import { $, body, word } from "./dom.js";
import { dialog } from "./dialog.js";

// An idle session expires. Two minutes before, the page offers to stay logged in. A live stream
// counts as activity.
const idle = Number(body.dataset.idle);

const watch = () => {
  const note = document.createElement("div"),
    stay = document.createElement("button");
  note.className = "note need";
  note.setAttribute("role", "alert");
  stay.type = "button";
  stay.className = "btn";
  stay.textContent = word("stay");
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    note.remove();
    timer = setTimeout(warn, Math.max(idle - 120000, idle / 2));
  };
  const warn = () => {
    if ($("#live")?.dataset.state === "live") {
      wait();
      return;
    }
    note.replaceChildren(word("ending") + " ", stay);
    (dialog.open ? $("#dialog") : $("#main")).prepend(note);
  };
  stay.addEventListener("click", async () => {
    try {
      const r = await fetch("/me", { method: "HEAD" });
      if (r.redirected) note.replaceChildren(word("kept"));
      else if (r.ok) wait();
    } catch {
      note.replaceChildren(word("unread"));
    }
  });
  document.addEventListener("htmx:afterRequest", wait);
  wait();
};
if (idle) watch();
