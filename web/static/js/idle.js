import { word } from "./dom.js";
import { box } from "./dialog.js";

// A login that nobody uses ends: two minutes before, the page says so and offers to
// stay. A live stream is use.
export const watchLogin = () => {
  const idle = Number(document.body.dataset.idle),
    live = document.getElementById("live");
  if (idle) {
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
      if (live && live.dataset.state === "live") {
        wait();
        return;
      }
      note.replaceChildren(word("ending") + " ", stay);
      (box.open ? box : document.getElementById("main")).prepend(note);
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
  }
};
