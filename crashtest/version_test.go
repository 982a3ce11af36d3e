package crashtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// S30: a binary says what code by others is in it, with the checksums by which
// go.sum knows it.
func TestABinarySaysWhatIsInIt(t *testing.T) {
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

// The bill of materials names what scanners look for: Go, and every module by its
// package URL; twice the same.
func TestABinaryGivesItsBillOfMaterials(t *testing.T) {
	t.Parallel()
	bill := func() string {
		t.Helper()
		out, err := exec.Command(build(t), "version", "--sbom").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	text := bill()
	if bill() != text {
		t.Error("it is another one each time")
	}
	var b struct {
		BomFormat, SpecVersion string
		Metadata               struct{ Component struct{ Name string } }
		Components             []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	if b.BomFormat != "CycloneDX" || b.SpecVersion != "1.6" || b.Metadata.Component.Name != "kairosd" {
		t.Errorf("it is %+v", b)
	}
	seen := map[string]bool{}
	for _, c := range b.Components {
		if seen[c.PURL] || !strings.HasPrefix(c.PURL, "pkg:golang/") || !strings.HasSuffix(c.PURL, "@"+strings.ReplaceAll(c.Version, "+", "%2B")) {
			t.Errorf("%s %s is called %s", c.Name, c.Version, c.PURL)
		}
		seen[c.PURL] = true
	}
	if name := "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"); !seen[name] || len(seen) < 20 {
		t.Errorf("%d components, and %s: %v", len(seen), name, seen[name])
	}
}
