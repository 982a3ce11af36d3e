// Package arch checks rules about the code and its documentation.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kairosd/kairosd/"

// rule forbids a package, and all packages in it, to import others.
type rule struct {
	of     string
	forbid []string
	reason string
}

var rules = []rule{
	{"planner", []string{"agent", "internal", "web", "db", "examples"}, "planner stands alone: the plan language is importable by itself"},
	{
		"agent",
		[]string{
			"internal/app",
			"internal/domain",
			"internal/engine",
			"internal/handler",
			"internal/model",
			"internal/store",
			"internal/tool",
			"web",
			"db",
			"examples",
		},
		"agent stands alone on the planner and the loop of a conversation",
	},
	{"internal/conversation", []string{"internal", "web", "db", "examples"}, "agent imports it, and stands alone"},
	{
		"internal/domain",
		[]string{"internal/store", "internal/engine", "internal/auth", "internal/tool", "internal/handler", "internal/cli", "web", "agent"},
		"the domain is a leaf",
	},
	{
		"internal/store",
		[]string{"internal/engine", "internal/auth", "internal/tool", "internal/handler", "internal/cli", "web", "agent"},
		"adapters never meet",
	},
	{
		"internal/engine",
		[]string{"internal/store", "internal/auth", "internal/tool", "internal/handler", "internal/cli", "web", "agent"},
		"the engine knows nothing of SQL, HTTP or tools",
	},
	{
		"internal/tool",
		[]string{"internal/store", "internal/engine", "internal/handler", "internal/cli", "web"},
		"tools are called, they call nothing",
	},
	{"internal/auth", []string{"internal/store", "internal/engine", "internal/cli", "web"}, "adapters never meet"},
	{"internal/diagram", []string{"internal", "web", "agent"}, "a picture needs a program only"},
	{"internal/timeline", []string{"internal", "planner", "web", "agent"}, "an axis is an axis"},
	{"internal/diff/jsondiff", []string{"internal", "planner", "web", "agent"}, "values are values"},
	{
		"internal/diff/plandiff",
		[]string{"internal/store", "internal/engine", "internal/cli", "web", "agent"},
		"a difference needs two versions only",
	},
	{
		"internal/diff/rundiff",
		[]string{"internal/store", "internal/engine", "internal/cli", "web", "agent"},
		"a comparison needs two journals only",
	},
	{
		"internal/handoff",
		[]string{"internal/store", "internal/engine", "internal/cli", "web", "agent"},
		"what came of a handoff needs a journal only",
	},
	{"internal/assemble", []string{"internal/daemon", "internal/cli", "web"}, "what is assembled does not know who serves it"},
	{
		"internal/cli/kairos",
		[]string{"internal/api", "internal/store", "internal/engine", "internal/handler", "internal/daemon", "web"},
		"a command is a call of the API's client and a printer",
	},
	{
		"internal/cli/incoming",
		[]string{"internal/api", "internal/store", "internal/engine", "internal/handler", "internal/daemon", "web"},
		"a command is a call of the API's client and a printer",
	},
	{"internal/daemon", []string{"internal/cli"}, "commands start the daemon, not the other way round"},
	{
		"web",
		[]string{"internal/store", "internal/engine", "internal/auth", "internal/tool", "internal/handler", "internal/cli"},
		"pages know ports, never what is behind them",
	},
	{"web/kit", []string{"internal", "planner", "agent", "db"}, "templates take view models, never domain types"},
	{"web/link", []string{"internal", "planner", "agent", "db"}, "addresses are addresses"},
	{"web/view", []string{"internal", "planner", "agent", "db"}, "templates take view models, never domain types"},
	{"web/locale", []string{"internal", "planner", "agent", "db"}, "words are words"},
	{"web/static", []string{"internal", "planner", "agent", "db"}, "files are files"},
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func within(path, folder string) bool {
	return path == module+folder || strings.HasPrefix(path, module+folder+"/")
}

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	all := packages(t)
	if len(all) < 15 {
		t.Fatalf("go list found %d packages", len(all))
	}
	for _, r := range rules {
		found := false
		for _, p := range all {
			if !within(p.ImportPath, r.of) || strings.HasSuffix(p.ImportPath, "test") {
				continue
			}
			found = true
			for _, imported := range p.Imports {
				for _, f := range r.forbid {
					if within(imported, f) && !within(imported, r.of) {
						t.Errorf("%s imports %s: %s", p.ImportPath, imported, r.reason)
					}
				}
			}
		}
		if !found {
			t.Errorf("no package %s: the rule guards nothing", r.of)
		}
	}
}

// Only the operations and the packages that build a server import both the store and the engine.
func TestFewPackagesImportStoreAndEngine(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		both := 0
		for _, imported := range p.Imports {
			if imported == module+"internal/store" || imported == module+"internal/engine" {
				both++
			}
		}
		builders := []string{"internal/app", "internal/assemble", "internal/daemon", "internal/cli"}
		if both == 2 && !slices.Contains(builders, strings.TrimPrefix(p.ImportPath, module)) && !strings.HasSuffix(p.ImportPath, "test") {
			t.Errorf("%s wires store and engine; only %v may", p.ImportPath, builders)
		}
	}
}

// The context of every page stays small. Functions that only some pages need are not its methods.
func TestTheContextOfAPageStaysSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "web", "ui", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	methods := 0
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		methods += strings.Count(string(source), "\nfunc (c *Context) ")
	}
	if methods == 0 || methods > 40 {
		t.Errorf("ui.Context has %d methods, want at most 40", methods)
	}
}

// The command line is a client: it does not contain the dashboard.
func TestKairosHasNoDashboard(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", module+"cmd/kairos").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); within(dep, "internal/daemon") || within(dep, "web/view") {
			t.Errorf("kairos contains %s", dep)
		}
	}
}
