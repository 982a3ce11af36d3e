import { $$ } from "./dom.js";
import { fire, offset, topics } from "./live.js";

// Elapsed times use the clock of the server.
const elapsed = (ms) => {
  if (ms < 1000) return Math.max(0, Math.round(ms / 100) * 100) + " ms";
  const s = ms / 1000;
  if (s < 60) return s.toFixed(1) + " s";
  if (s < 3600) return Math.floor(s / 60) + "m " + Math.floor(s % 60) + "s";
  if (s < 86400) return Math.floor(s / 3600) + "h " + Math.floor((s % 3600) / 60) + "m";
  return Math.floor(s / 86400) + "d " + Math.floor((s % 86400) / 3600) + "h";
};
setInterval(() => {
  for (const el of $$("[data-since]"))
    el.textContent = elapsed(Date.now() + offset - Number(el.dataset.since));
  for (const el of $$("[data-until]")) {
    const s = Math.ceil((Number(el.dataset.until) - Date.now() - offset) / 1000);
    if (s > 0) el.textContent = s < 60 ? s + " s" : elapsed(s * 1000);
    else {
      delete el.dataset.until;
      topics().forEach(fire);
    } // the time is over: load the new state
  }
}, 1000);
