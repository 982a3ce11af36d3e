import { $, $$, body, cookie, cookies, say, word } from "./dom.js";

// One event stream serves all topics of the page. A hint makes the live regions of its topic
// reload. Polling reloads them from the same URLs.
export const indicator = $("#live");
export const offset = Number(body.dataset.now || Date.now()) - Date.now(); // server clock minus browser clock, ms
export const topics = () => [...new Set($$("[data-live]").flatMap((e) => e.dataset.live.split(" ")))];
let source = null,
  poller = 0,
  watchdog = 0,
  hidden = 0,
  paused = cookies().live === "paused",
  every = 5000,
  contact = Date.now();
const last = {},
  pending = {};
let after = body.dataset.after || ""; // position of the last event that every region shows
const clock = () => {
  const zone = $(".tz"),
    at = new Date(contact + offset);
  try {
    return at.toLocaleTimeString("en-GB", { timeZone: zone ? zone.textContent : undefined });
  } catch {
    return at.toTimeString().slice(0, 8);
  }
};
const show = (state) => {
  if (!indicator) return;
  const before = indicator.dataset.state,
    lost = (s) => s === "stale" || s === "offline";
  indicator.dataset.state = state;
  indicator.textContent = word(state) + (state === "stale" ? " " + clock() : "");
  if (lost(state) !== lost(before)) say(indicator.textContent);
};
const lost = () => show(navigator.onLine === false ? "offline" : "stale");
export const fire = (topic) => {
  if (pending[topic] || paused) return;
  const part = $('[data-live~="' + topic + '"]'),
    gap = Number((part && part.dataset.every) || 700); // a region may set a longer interval
  pending[topic] = setTimeout(
    () => {
      pending[topic] = 0;
      last[topic] = Date.now();
      body.dispatchEvent(new CustomEvent("k:" + topic));
    },
    Math.max(0, gap - (Date.now() - (last[topic] || 0))),
  );
};
export const polling = () => poller !== 0;
const poll = (on) => {
  clearTimeout(poller);
  poller = 0;
  if (!on) {
    every = 5000;
    return;
  }
  poller = setTimeout(() => {
    if (!document.hidden) topics().forEach(fire);
    poll(true);
  }, every);
};
const close = () => {
  if (source) source.close();
  source = null;
  clearTimeout(watchdog);
};
const stop = () => {
  close();
  poll(false);
};
const alive = () => {
  contact = Date.now();
  clearTimeout(watchdog);
  watchdog = setTimeout(() => {
    lost();
    close();
    poll(true);
    start();
  }, 25000);
};
const start = () => {
  const list = topics();
  if (paused) {
    show("paused");
    return;
  }
  if (!list.length || source || !window.EventSource) return;
  source = new EventSource("/live?t=" + encodeURIComponent(list.join(",")) + "&after=" + after);
  source.onopen = () => {
    alive();
    show("live");
    poll(false);
  };
  const on = (name, then) =>
    source.addEventListener(name, (e) => {
      alive();
      after = e.lastEventId;
      if (then) then(e.data);
    });
  on("hello");
  on("beat");
  on("resync", () => list.forEach(fire));
  on("hint", fire);
  source.addEventListener("poll", () => {
    close();
    show("polling");
    poll(true);
  }); // the session has too many streams
  source.onerror = () => {
    if (!poller) {
      show("polling");
      poll(true);
      list.forEach(fire);
    } // poll until the stream reconnects; the server may be down, too
    if (source && source.readyState === 2) {
      close();
      setTimeout(start, 5000);
    } // the browser does not reconnect
  };
};
// An unchanged region is not sent again (204), and stays untouched.
let tags = {};
document.addEventListener("htmx:afterSettle", (e) => {
  const c = e.detail.requestConfig,
    r = e.detail.xhr;
  if (c && c.elt.dataset.live) tags[c.elt.id] = [c.path, r.getResponseHeader("ETag")];
  else tags = {};
});
// A region with data-here requests the current address of the page. If the address has not changed,
// send the ETag of the region.
document.addEventListener("htmx:configRequest", (e) => {
  if (e.detail.elt.hasAttribute("data-here")) e.detail.path = location.pathname + location.search;
  const known = e.detail.elt.dataset.live && tags[e.detail.elt.id];
  if (known && known[0] === e.detail.path && known[1]) e.detail.headers["If-None-Match"] = known[1];
});

// heard updates the indicator after a polling request, depending on whether the server responded.
// Requests aborted by newer ones do not count.
const heard = (e) => {
  if (!e.detail.elt || !e.detail.elt.dataset.live) return;
  const code = e.detail.xhr.status,
    answered = code > 0 && code < 500;
  if (code < 200 || code > 399) after = ""; // the region may have missed an event
  every = answered ? 5000 : Math.min(30000, every * 1.5);
  if (answered) contact = Date.now();
  if (poller) {
    if (answered) show("polling");
    else lost();
  }
};
for (const end of ["htmx:afterOnLoad", "htmx:sendError", "htmx:timeout"]) document.addEventListener(end, heard);
export const pause = () => {
  paused = !paused;
  cookie("live", paused ? "paused" : "on");
  if (indicator) indicator.setAttribute("aria-pressed", String(paused));
  if (paused) {
    stop();
    show("paused");
  } else start();
  say(indicator ? indicator.textContent : "");
};
if (indicator) indicator.addEventListener("click", pause);
addEventListener("pagehide", () => {
  stop();
  after = "";
}); // reload all regions after a return from the back/forward cache
addEventListener("pageshow", (e) => {
  if (e.persisted) start();
});
document.addEventListener("visibilitychange", () => {
  clearTimeout(hidden);
  if (document.hidden) hidden = setTimeout(stop, 10000);
  else start();
});
start();
