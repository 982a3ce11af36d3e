import { combobox } from "./combobox.js";
import { $ } from "./dom.js";

// Suggestions for the filter. A chosen one is written into it.
const field = $("#q"),
  list = $("#suggestions");

if (list)
  combobox(field, list, (li, load, hide) => {
    field.value = li.dataset.q;
    field.focus();
    if (field.value.endsWith(":")) load();
    else hide();
  });
