import { combobox } from "./combobox.js";
import { $ } from "./dom.js";

// The jump box suggests runs, plans, steps, and actions. An action opens its preview.
const field = $(".jump .search"),
  list = $("#jump-list");

const go = (li, _, hide) => {
  hide();
  field.value = "";
  if (li.hasAttribute("hx-get")) li.dispatchEvent(new Event("k:go"));
  else location.href = li.dataset.href;
};
const load = list && combobox(field, list, go);
if (list) field.addEventListener("click", load);

// jump focuses the jump box, or opens its page if the window is too small for it.
export const jump = () => {
  if (field && field.offsetParent) {
    field.focus();
    load();
  } else location.href = "/find";
};
