// What may follow in the filter: a combobox with a list of its own.
export const suggestions = () => {
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
    let timer = 0,
      asked = 0,
      at = -1;
    const items = () => [...list.children];
    const hide = () => {
      list.hidden = true;
      at = -1;
      q.setAttribute("aria-expanded", "false");
      q.removeAttribute("aria-activedescendant");
    };
    const mark = (i) => {
      at = i;
      items().forEach((li, n) => {
        li.setAttribute("aria-selected", String(n === i));
        if (n === i) {
          q.setAttribute("aria-activedescendant", li.id);
          li.scrollIntoView({ block: "nearest" });
        }
      });
    };
    const take = (li) => {
      q.value = li.dataset.q;
      q.focus();
      if (q.value.endsWith(":")) load();
      else hide();
    };
    const load = async () => {
      const mine = ++asked;
      try {
        const r = await fetch(q.dataset.suggest + "?q=" + encodeURIComponent(q.value), {
          headers: { "HX-Request": "true" },
        });
        if (!r.ok || mine !== asked) return;
        list.innerHTML = await r.text();
        if (!items().length || document.activeElement !== q) {
          hide();
          return;
        }
        at = -1;
        list.hidden = false;
        q.setAttribute("aria-expanded", "true");
      } catch {
        hide();
      }
    };
    q.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(load, 120);
    });
    q.addEventListener("keydown", (e) => {
      const n = items().length;
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        if (list.hidden) load();
        else mark((at + (e.key === "ArrowDown" ? 1 : n - 1) + (at < 0 && e.key === "ArrowUp" ? 1 : 0)) % n);
      } else if (e.key === "Enter" && at >= 0 && !list.hidden) {
        e.preventDefault();
        take(items()[at]);
      } else if (e.key === "Escape" && !list.hidden) {
        e.preventDefault();
        hide();
      } else if (e.key === "Enter") {
        asked++;
        clearTimeout(timer);
        hide();
      }
    });
    q.addEventListener("blur", () => setTimeout(hide, 150));
    list.addEventListener("mousedown", (e) => {
      const li = e.target.closest("li");
      if (li) {
        e.preventDefault();
        take(li);
      }
    });
  }
};
