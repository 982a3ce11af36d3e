// Live hints, copying, elapsed times and shortcuts. Every page is complete without this
// file. make generate joins its modules to web/static/kairos.js.
import "./live.js";
import "./page.js";
import "./trouble.js";
import "./forms.js";
import "./copy.js";
import "./clock.js";
import "./view.js";
import "./log.js";
import "./run.js";
import "./graph.js";
import "./selection.js";
import "./shortcuts.js";
