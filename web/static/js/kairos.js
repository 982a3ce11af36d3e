// Live updates, dialogs, copying, elapsed times, and shortcuts. Every page works without this
// file. make generate joins its modules to web/static/kairos.js.
import "./live.js";
import "./page.js";
import "./dialog.js";
import "./peek.js";
import "./trouble.js";
import "./forms.js";
import "./suggest.js";
import "./editor.js";
import "./idle.js";
import "./copy.js";
import "./clock.js";
import "./view.js";
import "./log.js";
import "./run.js";
import "./graph.js";
import "./selection.js";
import "./shortcuts.js";
