// Live hints, copying, elapsed times and shortcuts. Every page is complete
// without this file.
(() => {
  "use strict";
  const body = document.body;
  const $ = (css) => document.querySelector(css);
  const $$ = (css) => [...document.querySelectorAll(css)];
  const word = (name) => body.getAttribute("data-w-" + name) || name;
  const say = (text) => { const el = $("#say"); if (el) el.textContent = text; };
  const cookie = (name, value) => { document.cookie = name + "=" + value + "; path=/; max-age=31536000; samesite=strict" + (location.protocol === "https:" ? "; secure" : ""); };
  const cookies = () => Object.fromEntries(document.cookie.split("; ").map((c) => c.split("=")));

  // The browser's zone, told once: the server writes all times.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !cookies().zone) cookie("zone", zone);

  // Rows that nobody sees are not drawn before those that are seen. Then they are, since
  // what was never drawn is not there for a screen reader.
  addEventListener("load", () => (window.requestIdleCallback || setTimeout)(() => { document.documentElement.dataset.drawn = ""; }));

  // Live: one stream for all topics of the page; a hint makes the page's own
  // fragments fetch themselves again. Polling uses the very same URLs.
  const indicator = $("#live");
  const offset = Number(body.dataset.now || Date.now()) - Date.now(); // to the server's clock
  const topics = () => [...new Set($$("[data-live]").map((e) => e.dataset.live))];
  let source = null, poller = 0, watchdog = 0, hidden = 0, paused = cookies().live === "paused", every = 5000, contact = Date.now();
  const last = {}, pending = {}, held = new Set();
  let after = body.dataset.after || ""; // up to where all parts of the page know what happened
  const clock = () => {
    const zone = $(".tz"), at = new Date(contact + offset);
    try { return at.toLocaleTimeString("en-GB", { timeZone: zone ? zone.textContent : undefined }); } catch { return at.toTimeString().slice(0, 8); }
  };
  const show = (state) => {
    if (!indicator) return;
    const before = indicator.dataset.state, lost = (s) => s === "stale" || s === "offline";
    indicator.dataset.state = state;
    indicator.textContent = word(state) + (state === "stale" ? " " + clock() : "");
    if (lost(state) !== lost(before)) say(indicator.textContent);
  };
  const lost = () => show(navigator.onLine === false ? "offline" : "stale");
  const fire = (topic) => {
    if (pending[topic] || paused) return;
    const part = $('[data-live="' + topic + '"]'), gap = Number(part && part.dataset.every || 700); // a part may say how often is enough
    pending[topic] = setTimeout(() => {
      pending[topic] = 0;
      last[topic] = Date.now();
      body.dispatchEvent(new CustomEvent("k:" + topic));
    }, Math.max(0, gap - (Date.now() - (last[topic] || 0))));
  };
  const poll = (on) => {
    clearTimeout(poller);
    poller = 0;
    if (!on) { every = 5000; return; }
    poller = setTimeout(() => { if (!document.hidden) topics().forEach(fire); poll(true); }, every);
  };
  const close = () => { if (source) source.close(); source = null; clearTimeout(watchdog); };
  const stop = () => { close(); poll(false); };
  const alive = () => {
    contact = Date.now();
    clearTimeout(watchdog);
    watchdog = setTimeout(() => { lost(); close(); poll(true); start(); }, 25000);
  };
  const start = () => {
    const list = topics();
    if (paused) { show("paused"); return; }
    if (!list.length || source || !window.EventSource) return;
    source = new EventSource("/live?t=" + encodeURIComponent(list.join(",")) + "&after=" + after);
    source.onopen = () => { alive(); show("live"); poll(false); };
    const on = (name, then) => source.addEventListener(name, (e) => { alive(); after = e.lastEventId; if (then) then(e.data); });
    on("hello");
    on("beat");
    on("resync", () => list.forEach(fire));
    on("hint", fire);
    source.addEventListener("poll", () => { close(); show("polling"); poll(true); }); // this session has enough streams
    source.onerror = () => {
      if (!poller) { show("polling"); poll(true); list.forEach(fire); } // only the stream, or the daemon?
      if (source && source.readyState === 2) { close(); setTimeout(start, 5000); } // the browser gave up
    };
  };
  // A part that says what it said is not sent again (204), and not touched.
  let tags = {};
  document.addEventListener("htmx:afterSettle", (e) => {
    const c = e.detail.requestConfig, r = e.detail.xhr;
    if (c && c.elt.dataset.live) tags[c.elt.id] = [c.path, r.getResponseHeader("ETag")]; else tags = {};
  });
  // A request that fails leaves the page as it is, and says so over it until the
  // same part answers again (R17).
  let failed = "";
  const trouble = (key, html, text) => {
    let b = $("#failed");
    if (!key) { if (b) b.remove(); failed = ""; return; }
    if (!b) { b = document.createElement("div"); b.id = "failed"; body.append(b); }
    b.innerHTML = html || '<div class="note bad" role="alert"><p></p></div>';
    if (!html) b.querySelector("p").textContent = text;
    const close = Object.assign(document.createElement("button"), { type: "button", className: "btn sm", textContent: word("close") });
    close.addEventListener("click", () => trouble(""));
    b.firstElementChild.append(close);
    failed = key;
  };
  const asks = (e) => (e.detail.target && e.detail.target.id) || (e.detail.elt && e.detail.elt.id) || "page";
  const lives = (e) => e.detail.elt && e.detail.elt.dataset.live;
  document.addEventListener("htmx:afterRequest", (e) => {
    const r = e.detail.xhr, code = r ? r.status : 0;
    if (e.detail.successful || code && code < 400 || code === 409 || code === 422) { if (failed === asks(e)) trouble(""); return; }
    if (code < 400 || code === 401 || lives(e) && poller) return; // the login, or the indicator, says it
    trouble(asks(e), /^text\/html/.test(r.getResponseHeader("Content-Type") || "") ? r.responseText : "", word("unread"));
  });
  for (const lost of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(lost, (e) => { if (!lives(e)) trouble(asks(e), "", word("unread")); });
  // What polling finds out: a daemon that answers, or none.
  document.addEventListener("htmx:afterRequest", (e) => {
    if (!e.detail.elt || !e.detail.elt.dataset.live) return;
    const code = e.detail.xhr ? e.detail.xhr.status : 0, answered = code > 0 && code < 500;
    if (code < 200 || code > 399) after = ""; // this part does not know
    every = answered ? 5000 : Math.min(30000, every * 1.5);
    if (answered) contact = Date.now();
    if (poller) { if (answered) show("polling"); else lost(); }
  });
  const pause = () => {
    paused = !paused;
    cookie("live", paused ? "paused" : "on");
    if (indicator) indicator.setAttribute("aria-pressed", String(paused));
    if (paused) { stop(); show("paused"); } else start();
    say(indicator ? indicator.textContent : "");
  };
  if (indicator) indicator.addEventListener("click", pause);
  addEventListener("pagehide", () => { stop(); after = ""; }); // what was asked for is not waited for
  addEventListener("pageshow", (e) => { if (e.persisted) start(); });
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(stop, 10000); else start();
  });
  start();
  // The title and the icon of the tab follow the page's live part (R27).
  document.addEventListener("htmx:afterSettle", () => {
    const head = $("[data-title]");
    if (!head) return;
    if (document.title !== head.dataset.title) { document.title = head.dataset.title; say(head.dataset.title); }
    const icon = $("#favicon");
    if (icon && head.dataset.icon && icon.getAttribute("href") !== head.dataset.icon) icon.href = head.dataset.icon;
  });
  // What is wrong with a filter is said where the list was.
  document.addEventListener("htmx:beforeSwap", (e) => { if (e.detail.xhr.status === 400 && e.target.id === "list") { e.detail.shouldSwap = true; e.detail.isError = false; } });
  // Leave alone what is held: text selected in a live part stays selected; once it
  // is let go, the part catches up.
  document.addEventListener("htmx:beforeSwap", (e) => {
    const s = getSelection();
    if (!s || s.isCollapsed || !e.target.dataset || !e.target.dataset.live || !e.target.contains(s.anchorNode)) return;
    e.detail.shouldSwap = false;
    held.add(e.target.dataset.live);
  });
  document.addEventListener("selectionchange", () => {
    if (!held.size || !getSelection().isCollapsed) return;
    held.forEach(fire);
    held.clear();
  });

  // What was typed outlives a login that has expired: it is kept in this tab while
  // somebody logs in, and put back where it was typed. Passwords are not.
  const typed = () => $$("main textarea, main select, main input, dialog textarea, dialog input").filter((e) => !/^(password|hidden|file|submit)$/.test(e.type) && e.name);
  const keep = () => {
    const at = {}, list = typed().map((e) => [e.name, at[e.name] = (at[e.name] || 0) + 1, e.type === "checkbox" || e.type === "radio" ? e.checked : e.value, e.type === "checkbox" || e.type === "radio" ? e.defaultChecked : e.defaultValue]).filter(([, , now, was]) => now !== (was === undefined ? now : was)).map((f) => f.slice(0, 3));
    if (list.length) sessionStorage.setItem("kept", JSON.stringify(list));
  };
  document.addEventListener("submit", (e) => { if (e.target.method === "post" && location.pathname !== "/login") keep(); });
  document.addEventListener("htmx:beforeOnLoad", (e) => { if (e.detail.xhr.status === 401) keep(); });
  const kept = sessionStorage.getItem("kept");
  if (kept && location.pathname === "/login") {
    sessionStorage.setItem("back", "1");
    const p = Object.assign(document.createElement("p"), { className: "note", textContent: word("kept") });
    p.setAttribute("role", "status");
    $("main").prepend(p);
  } else if (kept) {
    if (sessionStorage.getItem("back")) {
      const at = {}, list = typed().map((e) => [e, at[e.name] = (at[e.name] || 0) + 1]);
      for (const [name, n, value] of JSON.parse(kept)) {
        const found = list.find(([e, i]) => e.name === name && i === n);
        if (!found) continue;
        found[0][typeof value === "boolean" ? "checked" : "value"] = value;
        const box = found[0].closest("details");
        if (box) box.open = true; // what was put back is seen
      }
    }
    sessionStorage.removeItem("kept");
    sessionStorage.removeItem("back");
  }

  // A form that was refused says why, first of all to who cannot see it.
  const refused = performance.getEntriesByType("navigation")[0], why = refused && [401, 409, 422].includes(refused.responseStatus) && $("main .note.bad[role=alert]:not([data-notice])");
  if (why) { why.tabIndex = -1; why.focus(); }
  // What the act before this page did is said to those who do not see it, too.
  const done = $("#done");
  if (done) setTimeout(() => say(done.textContent.trim()), 500);

  // Copy works on plain HTTP too, where the clipboard API is not available.
  const copy = async (text) => {
    try {
      if (navigator.clipboard && window.isSecureContext) await navigator.clipboard.writeText(text);
      else {
        const t = document.createElement("textarea");
        t.value = text; body.append(t); t.select(); document.execCommand("copy"); t.remove();
      }
      say(word("copied"));
      return true;
    } catch { say(word("nocopy")); return false; }
  };
  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-copy]");
    if (!b) return;
    const from = document.getElementById(b.dataset.copy);
    let text = from ? from.textContent : b.dataset.text || "";
    if (b.dataset.url) { const r = await fetch(b.dataset.url); if (r.ok) text = await r.text(); }
    if (!await copy(text)) return;
    const old = b.textContent;
    b.textContent = word("copied");
    setTimeout(() => { b.textContent = old; }, 2000);
  });

  // A part of a value is copied whole, also where the page shows its beginning.
  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-at]");
    if (!b) return;
    e.preventDefault();
    const box = b.closest("[data-values]"), own = b.parentElement.querySelector(".s,.n,.w");
    let text = own ? own.textContent : "";
    if (box && box.dataset.values) { const r = await fetch(box.dataset.values + "?path=" + encodeURIComponent(b.dataset.at)); if (r.ok) text = await r.text(); }
    if (!text || !await copy(text)) return;
    const old = b.textContent;
    b.textContent = word("copied");
    setTimeout(() => { b.textContent = old; }, 2000);
  });

  // Elapsed times tick by the server's clock.
  const elapsed = (ms) => {
    if (ms < 1000) return Math.max(0, Math.round(ms / 100) * 100) + " ms";
    const s = ms / 1000;
    if (s < 60) return s.toFixed(1) + " s";
    if (s < 3600) return Math.floor(s / 60) + "m " + Math.floor(s % 60) + "s";
    if (s < 86400) return Math.floor(s / 3600) + "h " + Math.floor((s % 3600) / 60) + "m";
    return Math.floor(s / 86400) + "d " + Math.floor((s % 86400) / 3600) + "h";
  };
  setInterval(() => {
    for (const el of $$("[data-since]")) el.textContent = elapsed(Date.now() + offset - Number(el.dataset.since));
    for (const el of $$("[data-until]")) {
      const s = Math.ceil((Number(el.dataset.until) - Date.now() - offset) / 1000);
      if (s > 0) el.textContent = s < 60 ? s + " s" : elapsed(s * 1000);
      else { delete el.dataset.until; topics().forEach(fire); } // it is over: the part says what is now
    }
  }, 1000);

  // A graph begins with the chosen node in view; the page itself does not move.
  const centre = () => {
    for (const box of $$(".dag")) {
      const n = box.querySelector(".sel");
      if (!n) continue;
      const b = box.getBoundingClientRect(), r = n.getBoundingClientRect();
      box.scrollLeft += r.left - b.left - b.width / 2 + r.width / 2;
      box.scrollTop += r.top - b.top - b.height / 2 + r.height / 2;
    }
  };
  centre();
  // So does a row of tabs or chips with the current one.
  const along = () => { for (const a of $$("nav.tabs [aria-current], nav.filters [aria-current]")) { const n = a.parentElement; n.scrollLeft = a.offsetLeft - n.offsetLeft - (n.clientWidth - a.offsetWidth) / 2; } };
  along();
  document.addEventListener("htmx:oobAfterSwap", along);

  // On the page of a run, another step swaps the inspector, another view the pane:
  // the same addresses, which the server has pushed.
  const pane = () => $("#pane");
  let chosen = "";
  const get = (address, target) => { chosen = address; window.htmx.ajax("GET", address, { target: target, swap: "outerHTML" }); };
  document.addEventListener("htmx:configRequest", (e) => {
    if (e.detail.elt.hasAttribute("data-here")) e.detail.path = location.pathname + location.search;
    const known = e.detail.elt.dataset.live && tags[e.detail.elt.id];
    if (known && known[0] === e.detail.path && known[1]) e.detail.headers["If-None-Match"] = known[1];
  });
  document.addEventListener("click", (e) => {
    const a = e.target.closest("#tabs a, #pane a"), address = a && a.getAttribute("href");
    if (!address || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || e.defaultPrevented || !window.htmx || !pane() || a.hasAttribute("download")) return;
    const to = new URL(address, location.href), line = a.closest(".log a.ln");
    if (to.origin !== location.origin || to.pathname !== location.pathname || line) return;
    if (to.hash !== "#inspector") { e.preventDefault(); get(to.pathname + to.search, "#pane"); }
    else if ($("#inspector")) { e.preventDefault(); get(to.pathname + to.search, "#inspector"); }
  });
  // What was asked for before another view was chosen comes too late.
  document.addEventListener("htmx:beforeSwap", (e) => {
    const c = e.detail.requestConfig;
    if (!c || !c.elt || !c.elt.hasAttribute("data-here") || c.path === location.pathname + location.search) return;
    e.detail.shouldSwap = false;
    setTimeout(live, 50);
  });
  const live = () => { const h = $("#head[data-live]"); if (h) body.dispatchEvent(new CustomEvent("k:" + h.dataset.live)); };
  document.addEventListener("htmx:afterSettle", (e) => {
    const id = e.target.id;
    if (id !== "pane" && id !== "inspector") return;
    if (document.activeElement === body && chosen) {
      const a = $$("#tabs a, #pane a").find((x) => { const to = new URL(x.getAttribute("href"), location.href); return to.pathname + to.search === chosen; }) || $("#tabs [aria-current]");
      if (a) a.focus({ preventScroll: true });
    }
    if (id === "pane") { centre(); along(); tail(); return; }
    tail();
    if (chosen) live(); // the rows say which one is chosen
    const i = $("#inspector");
    if (chosen && i.getBoundingClientRect().top > innerHeight - 80) i.scrollIntoView({ block: "start" });
  });
  // While nobody has chosen a step, the inspector goes along with what runs.
  const busy = (i) => i.contains(document.activeElement) || i.querySelector("form, details[open]") || (getSelection() && !getSelection().isCollapsed && i.contains(getSelection().anchorNode));
  document.addEventListener("htmx:afterSettle", (e) => {
    const i = $("#inspector"), row = $("#view tr.sel a.go");
    if (e.target.id !== "view" || !i || !row || busy(i) || !window.htmx || /[?&](step|node)=/.test(location.search)) return;
    const step = new URL(row.getAttribute("href"), location.href).searchParams.get("step");
    if (step && (i.dataset.step !== step || !row.closest("tr").querySelector(".st").classList.contains(i.dataset.state))) { get(location.pathname + location.search, "#inspector"); chosen = ""; }
  });

  // A log follows its end until one scrolls up, selects or enters it, and says
  // how much is new meanwhile (R18).
  let following = true, top = 0, high = 0;
  const seen = {};
  const logs = () => $$(".log[data-follow]");
  const tail = () => {
    const tools = $("#logtools"), button = $("#follow"), loud = $("#announce");
    if (tools) tools.hidden = false;
    let fresh = 0;
    for (const l of logs()) {
      if (following || !(l.id in seen)) { l.scrollTop = l.scrollHeight; top = l.scrollTop; high = l.scrollHeight; seen[l.id] = Number(l.dataset.newest); }
      if (l.id === "log") fresh = Number(l.dataset.newest) - seen.log;
      if (loud) l.setAttribute("aria-live", loud.getAttribute("aria-pressed") === "true" ? "polite" : "off");
    }
    if (!button) return;
    button.hidden = following;
    const text = button.dataset.word || (button.dataset.word = button.textContent);
    button.textContent = text + (fresh > 0 ? " (" + fresh + " " + button.dataset.new + ")" : "");
  };
  const look = (at) => { if (following && at && at.closest && at.closest(".log[data-follow]")) { following = false; tail(); } };
  addEventListener("wheel", (e) => look(e.target), { passive: true });
  document.addEventListener("focusin", (e) => look(e.target));
  document.addEventListener("selectionchange", () => { const s = getSelection(); if (s && !s.isCollapsed && s.anchorNode) look(s.anchorNode.parentElement); });
  addEventListener("pointerdown", (e) => look(e.target)); // on its scroll bar, too
  document.addEventListener("scroll", (e) => {
    const l = e.target;
    if (!l.matches || !l.matches(".log[data-follow]")) return;
    if (l.scrollHeight !== high && following) return tail(); // its lines got their true height: nobody scrolled
    if (l.scrollTop < top - 2) look(l);
    top = l.scrollTop;
  }, true);
  document.addEventListener("htmx:afterSettle", (e) => { if (e.target.id === "view" || e.target.id === "steplog") tail(); });
  document.addEventListener("click", (e) => {
    const b = e.target.closest("#follow, #announce, #nowrap"), a = e.target.closest(".log a.ln");
    if (b && b.id === "follow") { following = true; tail(); }
    else if (b) {
      const on = b.getAttribute("aria-pressed") !== "true";
      b.setAttribute("aria-pressed", String(on));
      if (b.id === "nowrap") pane().classList.toggle("nw", on); else tail();
    }
    if (!a || e.ctrlKey || e.metaKey || e.button) return;
    e.preventDefault(); // a line, or with Shift a range, is a part of the address
    const to = new URL(location.href), n = Number(a.textContent), first = Number((to.searchParams.get("line") || "").split("-")[0]);
    const from = e.shiftKey && first ? Math.min(n, first) : n, until = e.shiftKey && first ? Math.max(n, first) : n;
    to.searchParams.set("line", until > from ? from + "-" + until : String(from));
    to.hash = "L" + from;
    history.replaceState(history.state, "", to);
    for (const li of $$(".log li")) { const k = Number(li.id.slice(1)); li.classList.toggle("hl", k >= from && k <= until); }
    look(a);
  });
  tail();

  // In a graph, arrows move along edges, and up and down among neighbours.
  document.addEventListener("keydown", (e) => {
    const a = e.target.closest && e.target.closest(".dag a[data-to]");
    if (!a || !e.key.startsWith("Arrow") || e.ctrlKey || e.metaKey || e.altKey) return;
    const box = (n) => n.getBoundingClientRect(), here = box(a), all = [...a.closest("svg").querySelectorAll("a[data-to]")];
    let to;
    if (e.key === "ArrowRight") to = document.getElementById(a.dataset.to.split(" ")[0]);
    else if (e.key === "ArrowLeft") to = all.find((n) => n.dataset.to.split(" ").includes(a.id));
    else {
      const down = e.key === "ArrowDown" ? 1 : -1;
      to = all.filter((n) => (box(n).top - here.top) * down > 4).sort((m, n) => [m, n].map((x) => Math.abs(box(x).left - here.left) * 3 + Math.abs(box(x).top - here.top)).reduce((x, y) => x - y))[0];
    }
    e.preventDefault();
    if (to) { to.focus(); to.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  });

  // Selecting rows: how many, and ranges with Shift.
  let anchor = null;
  const boxes = () => $$("#bulk input[name=run]");
  const count = () => { const el = $("#selected"); if (el) el.textContent = boxes().filter((b) => b.checked).length || ""; };
  document.addEventListener("click", (e) => {
    if (!e.target.matches("#bulk input[name=run]")) return;
    const all = boxes(), i = all.indexOf(e.target);
    if (e.shiftKey && anchor !== null) for (const b of all.slice(Math.min(i, anchor), Math.max(i, anchor) + 1)) b.checked = e.target.checked;
    anchor = i;
    count();
  });

  // Shortcuts move, open and choose; they never act.
  let g = 0;
  const places = { h: "/", r: "/runs", p: "/plans", a: "/approvals", d: "/handoffs", g: "/agents", u: "/audit", s: "/system" };
  const go = (css) => { const a = $(css); if (a) { if (a.href) location.href = a.href; else a.click(); } return !!a; };
  const rows = () => $$("main table tbody a.go");
  const row = () => document.activeElement && document.activeElement.closest("tr");
  const step = (list, by) => { if (!list.length) return; const i = list.indexOf(document.activeElement); list[Math.min(list.length - 1, Math.max(0, i < 0 ? (by > 0 ? 0 : list.length - 1) : i + by))].focus(); };
  const beside = (nav, by) => { const list = $$(nav), i = list.findIndex((a) => a.hasAttribute("aria-current")); const a = list[i + by]; if (a) a.click(); };
  document.addEventListener("keydown", (e) => {
    if (body.dataset.shortcuts === "off" || e.ctrlKey || e.metaKey || e.altKey || e.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && e.target.type !== "checkbox") return;
    if (g && places[e.key]) { location.href = places[e.key]; g = 0; return; }
    g = 0;
    if (/^[1-9]$/.test(e.key)) { const a = $$("#tabs a")[Number(e.key) - 1]; if (a) a.click(); return; }
    switch (e.key) {
      case "g": g = 1; setTimeout(() => { g = 0; }, 1000); break;
      case "/": if ($(".search")) { e.preventDefault(); const s = $$(".search, #q").find((x) => x.offsetParent); if (s) s.focus(); } break;
      case "?": location.href = "/help"; break;
      case "j": step(rows(), 1); break;
      case "k": step(rows(), -1); break;
      case "o": { const r = row(), a = r && r.querySelector("a.go"); if (a) location.href = a.href; break; }
      case "x": { const r = row(), b = r && r.querySelector("input[type=checkbox]"); if (b) b.click(); break; }
      case "X": { const r = row(), b = r && r.querySelector("input[type=checkbox]"); if (b) b.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true })); break; }
      case "v": { const r = row(); if (r) r.dispatchEvent(new CustomEvent("k:peek", { bubbles: true })); break; }
      case "*": { const all = boxes(), on = all.some((b) => !b.checked); for (const b of all) b.checked = on; count(); break; }
      case "e": if ($("#q")) { e.preventDefault(); $("#q").focus(); } break;
      case "n": go("a[rel=next]"); break;
      case "b": go("a[rel=prev]"); break;
      case "p": if (indicator) pause(); break;
      case "t": { const o = $$("button[name=times]"), i = o.findIndex((b) => b.getAttribute("aria-pressed") === "true"); if (o.length) o[(i + 1) % o.length].click(); break; }
      case "f": step($$("main tr.bad a.go"), 1); break;
      case "F": step($$("main tr.bad a.go"), -1); break;
      case "[": beside(".att a", -1); break;
      case "]": beside(".att a", 1); break;
      case ",": beside(".cps a:not(.ag)", -1); break;
      case ".": { const r = row(); if (r && r.querySelector("a[data-peek]")) r.dispatchEvent(new CustomEvent("k:peek", { bubbles: true, detail: true })); else beside(".cps a:not(.ag)", 1); break; }
      case "i": { const h = $("#ih"); if (h) { h.tabIndex = -1; h.focus(); h.scrollIntoView({ block: "nearest" }); } break; }
      case "a": { const a = $("button[data-key=approve]"); if (a) a.focus(); break; }
      case "r": { const b = $("button[data-key=reject]"); if (b) b.focus(); else go("a[data-key=resume]"); break; }
      case "s": { const b = $("button[data-key=ask]") || $("button[data-key=assign]"); if (b) { const d = b.closest("details"); if (d) d.open = true; b.focus(); } break; }
      case "y": go("a[data-key=fork]"); break;
      case "l": { const b = $("#follow"), a = $("a[data-key=follow]"); if (b && !b.hidden) b.click(); else if (a) a.click(); break; }
      case "c": copy(location.href); break;
      case "m": { const s = $("#summary"); if (s) copy(s.textContent); break; }
      case "Escape": for (const d of $$("header details[open], footer details[open]")) d.open = false; break;
    }
  });
})();
