// Acts are previewed in a dialog instead of on a page of their own, and a run is
// peeked at in its list. Every link and form leads to the same place without
// this file (UI 3.2.4).
(() => {
  "use strict";
  const box = document.getElementById("dialog");
  if (!box || !box.showModal) return;
  const word = (name) => document.body.getAttribute("data-w-" + name) || name;
  let opener = null;

  const show = (html) => {
    box.innerHTML = html;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "lk shut";
    close.textContent = word("close");
    box.append(close);
    const h = box.querySelector("h1");
    if (h) { h.id = "dialog-h"; h.tabIndex = -1; }
    if (window.htmx) window.htmx.process(box);
    if (!box.open) box.showModal();
    if (h) h.focus();
  };
  // What the server says to a request of the dialog: another address, or the
  // dialog's next content.
  const answer = async (r) => {
    const to = r.headers.get("HX-Redirect");
    if (!to) { show(await r.text()); return; }
    const url = new URL(to, location.href);
    if (url.pathname === location.pathname && url.search === location.search) location.reload(); else location.href = to;
  };
  const ask = (address, options) => fetch(address, { ...options, headers: { "HX-Request": "true", "HX-Target": "dialog" } });
  const open = (address, from) => {
    opener = from;
    ask(address).then(answer).catch(() => { location.href = address; });
  };
  const plain = (e) => e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey && !e.defaultPrevented;

  document.addEventListener("click", (e) => {
    if (e.target === box || e.target.closest(".shut")) { if (e.target === box) { const r = box.getBoundingClientRect(); if (e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom) return; } box.close(); return; }
    const a = e.target.closest("a[href]");
    if (!a || !plain(e)) return;
    if (box.contains(a)) { // back to where one is: nothing to load
      if (a.classList.contains("back") || a.href === location.href) { e.preventDefault(); box.close(); }
      return;
    }
    if (a.hasAttribute("data-dialog")) { e.preventDefault(); open(a.href, a); }
  });
  box.addEventListener("close", () => {
    box.textContent = "";
    if (opener && opener.isConnected) opener.focus();
    opener = null;
  });
  document.addEventListener("submit", (e) => {
    const form = e.target, by = e.submitter;
    if (e.defaultPrevented) return;
    const data = new URLSearchParams(new FormData(form, by));
    const address = by && by.hasAttribute("formaction") ? by.formAction : form.getAttribute("action") || location.href;
    if (form.hasAttribute("data-dialog")) { // chosen rows lead to the preview of an act
      e.preventDefault();
      open(address + "?" + data, by);
    } else if (box.contains(form)) {
      e.preventDefault();
      if (by) by.disabled = true;
      const get = form.method === "get";
      ask(get ? address + "?" + data : address, get ? {} : { method: "POST", body: data }).then(answer).catch(() => {
        if (by) by.disabled = false; // a form that is sent twice acts once
        const p = form.querySelector(".lost") || form.appendChild(Object.assign(document.createElement("p"), { className: "lost fail" }));
        p.setAttribute("role", "alert");
        p.textContent = word("lost");
      });
    }
  });
})();
