import { combobox } from "./combobox.js";
import { $ } from "./dom.js";

// Suggestions for the filter. Selecting one inserts it.
const field = $("#q"),
  list = $("#suggestions");

if (list)
  combobox(field, list, (li, load, hide) => {
    field.value = li.dataset.q;
    field.focus();
    if (field.value.endsWith(":")) load();
    else hide();
  });
