// Acts are previewed in a dialog instead of on a page of their own, and a run is
// peeked at in its list. Every link and form leads to the same place without
// this file.
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
    const bad = box.querySelector(".note.bad[role=alert]");
    if (bad) { bad.tabIndex = -1; bad.focus(); } else if (h) h.focus();
  };
  // What the server says to a request of the dialog: another address, or the
  // dialog's next content.
  const answer = async (r) => {
    const to = r.headers.get("HX-Redirect");
    if (!to) { show(await r.text()); return; }
    const url = new URL(to, location.href);
    // The same address is asked for anew, and no form that led here is sent again.
    if (url.pathname === location.pathname && url.search === location.search) location.replace(url.pathname + url.search); else location.href = to;
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
    if (form.className === "once" && location.pathname.startsWith("/runs/")) form.action = form.action.split("?")[0] + location.search; // back to the view that is looked at now
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

  // A look at a run, below its row; a second time closes it.
  const peek = async (a, then) => {
    const row = a.closest("tr"), there = row.nextElementSibling;
    const close = there && there.classList.contains("peek");
    a.setAttribute("aria-expanded", String(!close));
    if (close) { there.remove(); return; }
    try {
      const r = await fetch(a.href + "&span=" + a.dataset.peek, { headers: { "HX-Request": "true", "HX-Target": "peek" } });
      if (!r.ok) { location.href = a.href; return; }
      const t = document.createElement("template");
      t.innerHTML = await r.text();
      row.after(t.content);
      if (then) then(row.nextElementSibling);
    } catch { location.href = a.href; }
  };
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[data-peek]");
    if (a && plain(e)) { e.preventDefault(); peek(a); }
  });
  document.addEventListener("k:peek", (e) => {
    const a = e.target.querySelector("a[data-peek]");
    if (a) peek(a, e.detail && ((p) => { const b = p.querySelector("a, button"); if (b) b.focus(); }));
  });

  // What may follow in the filter: a combobox with a list of its own.
  for (const q of document.querySelectorAll("input[data-suggest]")) {
    const list = document.createElement("ul");
    list.id = "suggestions";
    list.className = "suggest";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", q.getAttribute("placeholder"));
    q.after(list);
    q.setAttribute("role", "combobox");
    q.setAttribute("aria-autocomplete", "list");
    q.setAttribute("aria-expanded", "false");
    q.setAttribute("aria-controls", list.id);
    let timer = 0, asked = 0, at = -1;
    const items = () => [...list.children];
    const hide = () => { list.hidden = true; at = -1; q.setAttribute("aria-expanded", "false"); q.removeAttribute("aria-activedescendant"); };
    const mark = (i) => {
      at = i;
      items().forEach((li, n) => { li.setAttribute("aria-selected", String(n === i)); if (n === i) { q.setAttribute("aria-activedescendant", li.id); li.scrollIntoView({ block: "nearest" }); } });
    };
    const take = (li) => { q.value = li.dataset.q; q.focus(); if (q.value.endsWith(":")) load(); else hide(); };
    const load = async () => {
      const mine = ++asked;
      try {
        const r = await fetch(q.dataset.suggest + "?q=" + encodeURIComponent(q.value), { headers: { "HX-Request": "true" } });
        if (!r.ok || mine !== asked) return;
        list.innerHTML = await r.text();
        if (!items().length || document.activeElement !== q) { hide(); return; }
        at = -1;
        list.hidden = false;
        q.setAttribute("aria-expanded", "true");
      } catch { hide(); }
    };
    q.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(load, 120); });
    q.addEventListener("keydown", (e) => {
      const n = items().length;
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        if (list.hidden) load(); else mark((at + (e.key === "ArrowDown" ? 1 : n - 1) + (at < 0 && e.key === "ArrowUp" ? 1 : 0)) % n);
      } else if (e.key === "Enter" && at >= 0 && !list.hidden) { e.preventDefault(); take(items()[at]); }
      else if (e.key === "Escape" && !list.hidden) { e.preventDefault(); hide(); }
      else if (e.key === "Enter") { asked++; clearTimeout(timer); hide(); }
    });
    q.addEventListener("blur", () => setTimeout(hide, 150));
    list.addEventListener("mousedown", (e) => { const li = e.target.closest("li"); if (li) { e.preventDefault(); take(li); } });
  }

  // A login that nobody uses ends: two minutes before, the page says so and offers to
  // stay. A live stream is use.
  const idle = Number(document.body.dataset.idle), live = document.getElementById("live");
  if (idle) {
    const note = document.createElement("div"), stay = document.createElement("button");
    note.className = "note need";
    note.setAttribute("role", "alert");
    stay.type = "button";
    stay.className = "btn";
    stay.textContent = word("stay");
    let timer = 0;
    const wait = () => { clearTimeout(timer); note.remove(); timer = setTimeout(warn, Math.max(idle - 120000, idle / 2)); };
    const warn = () => {
      if (live && live.dataset.state === "live") { wait(); return; }
      note.replaceChildren(word("ending") + " ", stay);
      (box.open ? box : document.getElementById("main")).prepend(note);
    };
    stay.addEventListener("click", async () => {
      try { const r = await fetch("/me", { method: "HEAD" }); if (r.redirected) note.replaceChildren(word("kept")); else if (r.ok) wait(); } catch { note.replaceChildren(word("unread")); }
    });
    document.addEventListener("htmx:afterRequest", wait);
    wait();
  }

  // In the editor of plans Tab indents; Esc, then Tab leaves it. A problem leads to
  // its line.
  const field = document.querySelector("textarea[data-indent]");
  if (field) {
    let leaving = false;
    field.addEventListener("keydown", (e) => {
      if (e.key === "Escape") { leaving = true; return; }
      if (e.key === "Tab" && !leaving && !e.ctrlKey && !e.altKey && !e.metaKey && !e.shiftKey) { e.preventDefault(); field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end"); field.dispatchEvent(new Event("input", { bubbles: true })); }
      if (e.key !== "Shift") leaving = false;
    });
    document.addEventListener("click", (e) => {
      const a = e.target.closest("a[data-line]");
      if (!a) return;
      e.preventDefault();
      const lines = field.value.split("\n"), n = Math.min(Number(a.dataset.line), lines.length);
      const from = lines.slice(0, n - 1).reduce((sum, l) => sum + l.length + 1, 0);
      field.focus();
      field.setSelectionRange(from, from + lines[n - 1].length);
      field.scrollTop = Math.max(0, (n - 4) * parseFloat(getComputedStyle(field).lineHeight));
    });
  }
})();
