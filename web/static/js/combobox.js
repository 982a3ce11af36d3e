// A field with a list of options, which follows the ARIA combobox pattern. load makes htmx request
// the options. take is called with the selected option.
export const combobox = (field, list, take) => {
  let wanted = false,
    marked = -1;
  const items = () => [...list.children];
  const hide = () => {
    wanted = false;
    list.hidden = true;
    marked = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const load = () => {
    wanted = true;
    field.dispatchEvent(new Event("k:suggest"));
  };
  const mark = (i) => {
    marked = i;
    items().forEach((li, n) => {
      li.setAttribute("aria-selected", String(n === i));
      if (n === i) {
        field.setAttribute("aria-activedescendant", li.id);
        li.scrollIntoView({ block: "nearest" });
      }
    });
  };
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-expanded", "false");
  field.setAttribute("aria-controls", list.id);
  field.addEventListener("input", () => {
    wanted = true;
  });
  field.addEventListener("keydown", (e) => {
    const n = items().length;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (list.hidden) load();
      else if (marked < 0) mark(e.key === "ArrowDown" ? 0 : n - 1);
      else mark((marked + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
    } else if (e.key === "Enter" && marked >= 0) {
      e.preventDefault();
      take(items()[marked], load, hide);
    } else if (e.key === "Escape" && !list.hidden) {
      e.preventDefault();
      hide();
    } else if (e.key === "Enter") hide();
  });
  field.addEventListener("blur", hide); // clicking an option keeps the focus in the field
  list.addEventListener("htmx:afterSwap", (e) => {
    if (e.target !== list) return;
    if (!wanted || !items().length || document.activeElement !== field) {
      hide();
      return;
    }
    marked = -1;
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
  });
  list.addEventListener("mousedown", (e) => {
    const li = e.target.closest("li");
    if (li) {
      e.preventDefault();
      take(li, load, hide);
    }
  });
  return load;
};
