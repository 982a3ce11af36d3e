import { copy } from "./copy.js";
import { $, $$, body } from "./dom.js";
import { indicator, pause } from "./live.js";
import { jump } from "./palette.js";
import { boxes, count } from "./selection.js";

// Shortcuts navigate, open, select, and focus. They never change data on the server.
let g = 0;
const places = {
  h: "/",
  r: "/runs",
  p: "/plans",
  a: "/approvals",
  d: "/handoffs",
  g: "/agents",
  u: "/audit",
  s: "/system",
};
const go = (css) => {
  const a = $(css);
  if (a) a.click();
};
const rows = () => $$("main table tbody a.go");
const row = () => document.activeElement && document.activeElement.closest("tr");
const peek = (row, detail) => row.dispatchEvent(new CustomEvent("k:peek", { detail }));
const step = (list, by) => {
  if (!list.length) return;
  const i = list.indexOf(document.activeElement);
  list[Math.min(list.length - 1, Math.max(0, i < 0 ? (by > 0 ? 0 : list.length - 1) : i + by))].focus();
};
const beside = (nav, by) => {
  const list = $$(nav),
    i = list.findIndex((a) => a.hasAttribute("aria-current"));
  const a = list[i + by];
  if (a) a.click();
};
document.addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    jump();
    return;
  }
  if (
    body.dataset.shortcuts === "off" ||
    e.ctrlKey ||
    e.metaKey ||
    e.altKey ||
    e.target.isContentEditable ||
    (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && e.target.type !== "checkbox")
  )
    return;
  if (g && places[e.key]) {
    location.href = places[e.key];
    g = 0;
    return;
  }
  g = 0;
  if (/^[1-9]$/.test(e.key)) {
    const a = $$("#tabs a")[Number(e.key) - 1];
    if (a) a.click();
    return;
  }
  switch (e.key) {
    case "g":
      g = 1;
      setTimeout(() => {
        g = 0;
      }, 1000);
      break;
    case "/":
      e.preventDefault();
      jump();
      break;
    case "?":
      location.href = "/help";
      break;
    case "j":
      step(rows(), 1);
      break;
    case "k":
      step(rows(), -1);
      break;
    case "o": {
      const r = row(),
        a = r && r.querySelector("a.go");
      if (a) location.href = a.href;
      break;
    }
    case "x": {
      const r = row(),
        b = r && r.querySelector("input[type=checkbox]");
      if (b) b.click();
      break;
    }
    case "X": {
      const r = row(),
        b = r && r.querySelector("input[type=checkbox]");
      if (b) b.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }));
      break;
    }
    case "v": {
      const r = row();
      if (r) peek(r);
      break;
    }
    case "*": {
      const all = boxes(),
        on = all.some((b) => !b.checked);
      for (const b of all) b.checked = on;
      count();
      break;
    }
    case "e":
      if ($("#q")) {
        e.preventDefault();
        $("#q").focus();
      }
      break;
    case "n":
      go("a[rel=next]");
      break;
    case "b":
      go("a[rel=prev]");
      break;
    case "p":
      if (indicator) pause();
      break;
    case "t": {
      const o = $$("button[name=times]"),
        i = o.findIndex((b) => b.getAttribute("aria-pressed") === "true");
      if (o.length) o[(i + 1) % o.length].click();
      break;
    }
    case "f":
      step($$("main tr.bad a.go"), 1);
      break;
    case "F":
      step($$("main tr.bad a.go"), -1);
      break;
    case "[":
      beside(".attempts a", -1);
      break;
    case "]":
      beside(".attempts a", 1);
      break;
    case ",":
      beside(".checkpoints a.go", -1);
      break;
    case ".": {
      const r = row();
      if (r && r.querySelector(".pk a")) peek(r, "enter");
      else beside(".checkpoints a.go", 1);
      break;
    }
    case "i": {
      const h = $("#ih");
      if (h) {
        h.tabIndex = -1;
        h.focus();
        h.scrollIntoView({ block: "nearest" });
      }
      break;
    }
    case "a": {
      const a = $("button[data-key=approve]");
      if (a) a.focus();
      break;
    }
    case "r": {
      const b = $("button[data-key=reject]");
      if (b) b.focus();
      else go("a[data-key=resume]");
      break;
    }
    case "s": {
      const b = $("button[data-key=ask]") || $("button[data-key=assign]");
      if (b) {
        const d = b.closest("details");
        if (d) d.open = true;
        b.focus();
      }
      break;
    }
    case "y":
      go("a[data-key=fork]");
      break;
    case "l": {
      const b = $("#follow"),
        a = $("a[data-key=follow]");
      if (b && !b.hidden) b.click();
      else if (a) a.click();
      break;
    }
    case "c":
      copy(location.href);
      break;
    case "m": {
      const s = $("#summary");
      if (s) copy(s.textContent);
      break;
    }
    case "Escape":
      for (const d of $$("header details[open], footer details[open]")) d.open = false;
      break;
  }
});
