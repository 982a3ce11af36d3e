// Live hints, copying, elapsed times and shortcuts. Every page is complete
// without this file.
(() => {
  "use strict";
  const body = document.body;
  const say = (text) => { const el = document.getElementById("say"); if (el) el.textContent = text; };

  // Live: one stream for all topics of the page; a hint makes the page's own
  // fragments fetch themselves again. Polling uses the very same URLs.
  const indicator = document.getElementById("live");
  const show = (state, text) => { if (indicator) { indicator.dataset.state = state; indicator.textContent = text; } };
  const topics = () => [...new Set([...document.querySelectorAll("[data-live]")].map((e) => e.dataset.live))];
  let source = null, poller = 0, watchdog = 0, hidden = 0, last = {}, pending = {};
  const fire = (topic) => {
    const now = Date.now();
    if (pending[topic]) return;
    const wait = Math.max(0, 700 - (now - (last[topic] || 0)));
    pending[topic] = setTimeout(() => {
      pending[topic] = 0;
      last[topic] = Date.now();
      body.dispatchEvent(new CustomEvent("k:" + topic));
    }, wait);
  };
  const poll = (on) => {
    clearInterval(poller);
    poller = 0;
    if (on) poller = setInterval(() => { if (!document.hidden) topics().forEach(fire); }, 5000);
  };
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      show("stale", "Stale since " + new Date().toTimeString().slice(0, 8));
      poll(true);
    }, 25000);
  };
  const stop = () => { if (source) source.close(); source = null; clearTimeout(watchdog); poll(false); };
  const start = () => {
    const list = topics();
    if (!list.length || source || !window.EventSource) return;
    source = new EventSource("/live?t=" + encodeURIComponent(list.join(",")));
    source.onopen = () => { show("live", "Live"); poll(false); alive(); };
    source.addEventListener("hello", () => { alive(); list.forEach(fire); });
    source.addEventListener("beat", alive);
    source.addEventListener("resync", () => { alive(); list.forEach(fire); });
    source.addEventListener("hint", (e) => { alive(); fire(e.data); });
    source.onerror = () => { show("polling", "Polling"); poll(true); };
  };
  addEventListener("pagehide", stop);
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(stop, 10000); else start();
  });
  start();

  // Copy works on plain HTTP too, where the clipboard API is not available.
  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-copy]");
    if (!b) return;
    const from = document.getElementById(b.dataset.copy);
    const text = from ? from.textContent : b.dataset.text || "";
    try {
      if (navigator.clipboard && window.isSecureContext) await navigator.clipboard.writeText(text);
      else {
        const t = document.createElement("textarea");
        t.value = text; body.append(t); t.select(); document.execCommand("copy"); t.remove();
      }
      const old = b.textContent; b.textContent = "Copied"; say("Copied");
      setTimeout(() => { b.textContent = old; }, 2000);
    } catch { say("Copying failed"); }
  });

  // Elapsed times tick by the server's clock.
  const offset = Number(body.dataset.now || Date.now()) - Date.now();
  const elapsed = (ms) => {
    if (ms < 1000) return Math.max(0, Math.round(ms / 100) * 100) + " ms";
    const s = ms / 1000;
    if (s < 60) return s.toFixed(1) + " s";
    if (s < 3600) return Math.floor(s / 60) + "m " + Math.floor(s % 60) + "s";
    return Math.floor(s / 3600) + "h " + Math.floor((s % 3600) / 60) + "m";
  };
  setInterval(() => {
    for (const el of document.querySelectorAll("[data-since]")) el.textContent = elapsed(Date.now() + offset - Number(el.dataset.since));
  }, 1000);

  // Shortcuts move and open, they never act.
  let g = 0;
  const places = { h: "/", r: "/runs", p: "/plans", a: "/approvals", u: "/audit" };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    if (g && places[e.key]) { location.href = places[e.key]; return; }
    g = 0;
    switch (e.key) {
      case "g": g = 1; setTimeout(() => { g = 0; }, 1000); break;
      case "/": { const s = document.querySelector(".search"); if (s) { e.preventDefault(); s.focus(); } break; }
      case "?": location.href = "/help"; break;
      case "j": case "k": {
        const links = [...document.querySelectorAll("main table tbody a.go")];
        if (!links.length) break;
        const i = links.indexOf(document.activeElement);
        links[Math.min(links.length - 1, Math.max(0, i + (e.key === "j" ? 1 : -1)))].focus();
        break;
      }
      case "r": case "y": { const a = document.querySelector(e.key === "r" ? "a[data-key=resume]" : "a[data-key=fork]"); if (a) location.href = a.href; break; }
    }
  });
})();
