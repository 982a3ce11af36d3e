// The scripts of the dashboard. Every page works without them. "make generate" bundles the modules
// into web/static/kairos.js.
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
