import { $ } from "./dom.js";

// In the plan editor, Tab indents, and Esc followed by Tab leaves the field. Selecting a problem
// moves to its line.
const field = $("textarea[data-indent]");

const editor = () => {
  let leaving = false;
  field.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      leaving = true;
      return;
    }
    if (e.key === "Tab" && !leaving && !e.ctrlKey && !e.altKey && !e.metaKey && !e.shiftKey) {
      e.preventDefault();
      field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (e.key !== "Shift") leaving = false;
  });
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[data-line]");
    if (!a) return;
    e.preventDefault();
    const lines = field.value.split("\n"),
      n = Math.min(Number(a.dataset.line), lines.length);
    const from = lines.slice(0, n - 1).reduce((sum, l) => sum + l.length + 1, 0);
    field.focus();
    field.setSelectionRange(from, from + lines[n - 1].length);
    field.scrollTop = Math.max(0, (n - 4) * parseFloat(getComputedStyle(field).lineHeight));
  });
};

// The highlighted text is under the field, and visible while both contain the same text. It is
// inert, so that Tab skips it.
const highlight = (code) => {
  const under = () => code.querySelector("#marked pre");
  const match = () => {
    under().inert = true;
    const text = [...under().childNodes].filter((n) => !n.classList?.contains("ln")).map((n) => n.textContent);
    code.classList.toggle("fresh", text.join("").trimEnd() === field.value.trimEnd());
    follow();
  };
  const follow = () => {
    under().scrollTop = field.scrollTop;
    under().scrollLeft = field.scrollLeft;
  };
  code.classList.add("over");
  field.addEventListener("input", match);
  field.addEventListener("scroll", follow);
  document.addEventListener("htmx:afterSettle", match);
  match();
};

if (field) {
  const code = field.closest("[data-code]");
  if (code) highlight(code);
  editor();
}
