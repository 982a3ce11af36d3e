package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/tool"
)

// A server whose configuration is unchanged keeps its process and moves to the new host. A changed
// one is started again, and the old one ends with its host. A host that is closed before it adopts
// changes nothing.
// See O13 in docs/internals/bad-inputs.md.
func TestServersContinueWithANewHost(t *testing.T) {
	t.Parallel()
	kept, pids := &pins{}, filepath.Join(t.TempDir(), "pids")
	same, other, changed := command(t, "plain"), command(t, "plain", "WHICH", "old"), command(t, "plain", "WHICH", "new")
	open := func(before *mcp.Host, servers map[string]mcp.Server) (*mcp.Host, *tool.Set) {
		t.Helper()
		set := tool.NewSet(nil)
		h, err := mcp.New(mcp.Options{Servers: servers, Pins: kept, Registry: set, PidFile: pids, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return h, set
	}
	running := func() int {
		b, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), ":")
	}
	env := func(set *tool.Set, name string) string {
		t.Helper()
		out, f := call(t, set, name+".env", nil)
		if f != nil {
			t.Fatalf("%s: %v", name, f)
		}
		return out
	}
	first, old := open(nil, map[string]mcp.Server{"a": same, "b": other})
	given, _ := open(first, map[string]mcp.Server{"a": same, "b": changed})
	given.Close() // as when another part of the configuration fails
	if running() != 2 {
		t.Fatalf("%d processes run after a host was disabled", running())
	}
	env(old, "a")
	second, set := open(first, map[string]mcp.Server{"a": same, "b": changed, "c": same})
	if running() != 4 {
		t.Errorf("%d processes run: a goes on, and b has two", running())
	}
	second.Adopt()
	if got := env(old, "b"); !strings.Contains(got, "WHICH=old") { // a step that began earlier
		t.Errorf("the server before: %s", got)
	}
	if got := env(set, "b"); !strings.Contains(got, "WHICH=new") {
		t.Errorf("the new server: %s", got)
	}
	first.Close()
	if running() != 3 {
		t.Errorf("%d processes run once the host before was closed", running())
	}
	env(set, "a")
	for _, s := range second.Servers() {
		if s.State != mcp.StateReady || s.Restarts != 0 {
			t.Errorf("%+v", s)
		}
	}
	third, set := open(second, map[string]mcp.Server{"a": same})
	third.Adopt()
	second.Close()
	if env(set, "a"); running() != 1 {
		t.Errorf("%d processes run of one server", running())
	}
	none, _ := open(third, nil)
	none.Adopt()
	third.Close()
	if running() != 0 {
		t.Errorf("%d processes run of none", running())
	}
}
