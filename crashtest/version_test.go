package crashtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// S30: A binary lists the third-party code in it, with the checksums of go.sum.
func TestABinaryListsItsContents(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(build(t), "version", "--modules", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Modules []struct{ Path, Version, Sum string }
	}
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	sqlite := false
	for _, m := range b.Modules {
		sqlite = sqlite || m.Path == "modernc.org/sqlite"
		if !strings.Contains(string(sums), m.Path+" "+m.Version+" "+m.Sum+"\n") {
			t.Errorf("go.sum does not know %s %s %s", m.Path, m.Version, m.Sum)
		}
	}
	if !sqlite || len(b.Modules) < 20 {
		t.Errorf("%d modules, SQLite among them: %v", len(b.Modules), sqlite)
	}
}
