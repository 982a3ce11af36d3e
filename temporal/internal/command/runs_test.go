package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plan file is read with the plan files that its steps name, in other directories, too. Other plans are given with --with.
func TestPlansNameFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	leaf := "nodes: {a: {type: set, input: 1}}\n"
	write("parts/leaf.yaml", "id: leaf\n"+leaf)
	write("parts/middle.yaml", "id: middle\nnodes: {a: {type: plan, plan: ./leaf.yaml}}\n")
	root := write("root.yaml", "id: root\nnodes: {a: {type: plan, plan: ./parts/middle.yaml}, b: {type: plan, plan: other}}\n")
	other := write("other.yaml", "id: other\n"+leaf)
	f, hash, err := readFiles([]string{root, other})
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.VersionByHash(t.Context(), hash)
	if err != nil || v.PlanKey != "root" || !strings.Contains(string(v.Source), "plan: middle") {
		t.Errorf("the first plan is %s, %v:\n%s", v.PlanKey, err, v.Source)
	}
	for _, key := range []string{"middle", "leaf", "other"} {
		if _, err := f.Resolve(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	missing := write("missing.yaml", "id: missing\nnodes: {a: {type: plan, plan: ./nowhere.yaml}}\n")
	if _, _, err := readFiles([]string{missing}); err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("a file that is missing: %v", err)
	}
}
