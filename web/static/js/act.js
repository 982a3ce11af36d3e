// Actions are previewed in a dialog instead of on a page of their own, and a run is peeked
// at in its list. Every link and form leads to the same place without this file. make
// generate joins its modules to web/static/act.js.
import { box, dialogs } from "./dialog.js";
import { editor } from "./editor.js";
import { watchLogin } from "./idle.js";
import { peeks } from "./peek.js";
import { suggestions } from "./suggest.js";

if (box && box.showModal) {
  dialogs();
  peeks();
  suggestions();
  watchLogin();
  editor();
}
