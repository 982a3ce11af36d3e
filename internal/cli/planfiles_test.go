package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planFiles writes plan files that name each other, and returns the path of the first one.
func planFiles(t *testing.T, s *shell) (main, sub string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(filepath.Dir(s.file("x", "")), "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.file("leaf.yaml", "id: leaf\nnodes: {a: {type: set, input: {v: one}}}\n")
	sub = s.file("lib/sub.yaml", "id: sub\nnodes: {a: {type: plan, plan: ../leaf.yaml, input: {}}}\n")
	main = s.file("main.yaml", "id: main\nnodes: # a comment\n  a: {type: plan, plan: ./lib/sub.yaml, input: {}}\n")
	return main, sub
}

// A plan file is stored, run, checked, drawn, and tried together with the files that it names.
func TestPlanFilesThatNameEachOther(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	main, sub := planFiles(t, s)
	if out, _ := s.expect(0, "plans", "add", main); out != "leaf v1 stored\nsub v1 stored\nmain v1 stored\n" {
		t.Fatal(out)
	}
	if out, _ := s.expect(0, "plans", "show", "main"); !strings.Contains(out, "nodes: # a comment\n  a: {type: plan, plan: sub,") {
		t.Errorf("the stored source: %s", out)
	}
	if out, _ := s.expect(0, "plans", "add", main); out != "leaf v1 unchanged\nsub v1 unchanged\nmain v1 unchanged\n" {
		t.Error(out)
	}
	if out, _ := s.expect(0, "run", main); !strings.Contains(out, "one") {
		t.Errorf("run: %s", out)
	}
	// The run follows the files, also after a change back to earlier content.
	for i, v := range []string{"two", "one"} {
		s.file("leaf.yaml", "id: leaf\nnodes: {a: {type: set, input: {v: "+v+"}}}\n")
		if out, _ := s.expect(0, "run", main); !strings.Contains(out, v) {
			t.Errorf("run after change %d: %s", i+1, out)
		}
	}
	s.file("leaf.yaml", "id: leaf\nnodes: {a: {type: set, input: {v: three}}}\n")
	if out, _ := s.expect(0, "run", main, "--dry-run"); !strings.Contains(out, "three") {
		t.Errorf("dry run: %s", out)
	}
	if out, _ := s.expect(0, "plans", "versions", "leaf"); strings.Contains(out, "v3") {
		t.Errorf("a dry run stored a version: %s", out)
	}
	if out, _ := s.expect(0, "plans", "graph", main); !strings.Contains(out, "sub") {
		t.Errorf("graph: %s", out)
	}
	for _, path := range []string{"leaf.yaml: valid", sub + ": valid, plan sub", main + ": valid, plan main"} {
		if out, _ := s.expect(0, "validate", main); !strings.Contains(out, path) {
			t.Errorf("%q is missing in %s", path, out)
		}
	}
	s.file("leaf.yaml", "id: leaf\nnodes:\n  a: {type: sett}\n")
	for _, args := range [][]string{{"validate", main}, {"plans", "add", main}, {"run", main}, {"run", main, "--dry-run"}} {
		if _, problems := s.expect(2, args...); !strings.Contains(problems, filepath.Join(filepath.Dir(main), "leaf.yaml")+":3:13: error") {
			t.Errorf("%v: %s", args, problems)
		}
	}
}

// P64: a file outside the directory of the plan is not read, also not by a symbolic link, and neither is a pipe.
func TestPlanFilesOutsideAreNotRead(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("id: secret\nnodes: {a: {type: noop}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	main := s.file("main.yaml", "id: main\nnodes: {a: {type: plan, plan: ./link.yaml}}\n")
	if err := os.Symlink(secret, filepath.Join(filepath.Dir(main), "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, out := s.expect(2, "plans", "add", main); !strings.Contains(out, "link.yaml") || !strings.Contains(out, "escapes") {
		t.Errorf("a symbolic link: %s", out)
	}
	for name, want := range map[string]string{"../secret.yaml": "outside the directory", "./.": "not a regular file",
		"./main.yaml": "name each other"} {
		s.file("main.yaml", "id: main\nnodes: {a: {type: plan, plan: "+name+"}}\n")
		if _, out := s.expect(2, "validate", main); !strings.Contains(out, want) || !strings.Contains(out, "main.yaml:2:31: error") {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// With --server, the output of validate is the same.
func TestValidatePlanFilesOnAServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	main, _ := planFiles(t, s)
	data := filepath.Join(shortDir(t), "data")
	serve(t, data)
	server := "unix:" + filepath.Join(data, "kairosd.sock")
	local, _ := s.expect(0, "validate", main, "--json")
	if served, _ := s.expect(0, "validate", main, "--json", "--server", server); served != local {
		t.Errorf("%s\nwith --server:\n%s", local, served)
	}
	if out, _ := s.expect(0, "run", main, "--server", server); !strings.Contains(out, "one") {
		t.Error(out)
	}
}
