import { word } from "./dom.js";
import { plain } from "./plain.js";

// Actions are previewed in a dialog instead of on a page of their own.
export const box = document.getElementById("dialog");
let opener = null;

const show = (html) => {
  box.innerHTML = html;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "link-button shut";
  close.textContent = word("close");
  box.append(close);
  const h = box.querySelector("h1");
  if (h) {
    h.id = "dialog-h";
    h.tabIndex = -1;
  }
  if (window.htmx) window.htmx.process(box);
  if (!box.open) box.showModal();
  const bad = box.querySelector(".note.bad[role=alert]");
  if (bad) {
    bad.tabIndex = -1;
    bad.focus();
  } else if (h) h.focus();
};
// What the server says to a request of the dialog: another address, or the
// dialog's next content.
const answer = async (r) => {
  const to = r.headers.get("HX-Redirect");
  if (!to) {
    show(await r.text());
    return;
  }
  const url = new URL(to, location.href);
  // The same address is asked for anew, and no form that led here is sent again.
  if (url.pathname === location.pathname && url.search === location.search)
    location.replace(url.pathname + url.search);
  else location.href = to;
};
const ask = (address, options) =>
  fetch(address, { ...options, headers: { "HX-Request": "true", "HX-Target": "dialog" } });
const open = (address, from) => {
  opener = from;
  ask(address)
    .then(answer)
    .catch(() => {
      location.href = address;
    });
};

export const dialogs = () => {
  document.addEventListener("click", (e) => {
    if (e.target === box || e.target.closest(".shut")) {
      if (e.target === box) {
        const r = box.getBoundingClientRect();
        if (e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom)
          return;
      }
      box.close();
      return;
    }
    const a = e.target.closest("a[href]");
    if (!a || !plain(e)) return;
    if (box.contains(a)) {
      // back to where one is: nothing to load
      if (a.classList.contains("back") || a.href === location.href) {
        e.preventDefault();
        box.close();
      }
      return;
    }
    if (a.hasAttribute("data-dialog")) {
      e.preventDefault();
      open(a.href, a);
    }
  });
  box.addEventListener("close", () => {
    box.textContent = "";
    if (opener && opener.isConnected) opener.focus();
    opener = null;
  });
  document.addEventListener("submit", (e) => {
    const form = e.target,
      by = e.submitter;
    if (e.defaultPrevented) return;
    if (form.className === "once" && location.pathname.startsWith("/runs/"))
      form.action = form.action.split("?")[0] + location.search; // back to the view that is looked at now
    const data = new URLSearchParams(new FormData(form, by));
    const address =
      by && by.hasAttribute("formaction") ? by.formAction : form.getAttribute("action") || location.href;
    if (form.hasAttribute("data-dialog")) {
      // chosen rows lead to the preview of an action
      e.preventDefault();
      open(address + "?" + data, by);
    } else if (box.contains(form)) {
      e.preventDefault();
      if (by) by.disabled = true;
      const get = form.method === "get";
      ask(get ? address + "?" + data : address, get ? {} : { method: "POST", body: data })
        .then(answer)
        .catch(() => {
          if (by) by.disabled = false; // a form that is sent twice acts once
          const p =
            form.querySelector(".lost") ||
            form.appendChild(Object.assign(document.createElement("p"), { className: "lost fail" }));
          p.setAttribute("role", "alert");
          p.textContent = word("lost");
        });
    }
  });
};
