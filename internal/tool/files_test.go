package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kairosd/kairosd/internal/tool"
)

func write(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func link(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write(t, filepath.Join(root, "a.txt"), "hello")
	write(t, filepath.Join(root, "bin"), "\xff\x00")
	write(t, filepath.Join(dir, "secret"), "secret")
	set := builtin(t, tool.Config{Files: tool.FilesConfig{Roots: []string{root}, MaxBytes: 100}}, nil)
	if out, f := call(t, set, "read_file", `{"path": "a.txt"}`); f != nil || !strings.Contains(out, `"content":"hello","encoding":"text"`) {
		t.Errorf("got %s, %v", out, f)
	}
	if out, f := call(t, set, "read_file", `{"path": "`+root+`/bin"}`); f != nil ||
		!strings.Contains(out, `"content":"/wA=","encoding":"base64"`) {
		t.Errorf("got %s, %v", out, f)
	}
	for args, want := range map[string]string{
		`{"path": "new/deep/b.json", "content": {"b": [1, 2.50]}}`: `{"b":[1,2.50]}`, `{"path": "a.txt", "content": "new"}`: "new",
		`{"path": "c", "content": "/wA=", "encoding": "base64"}`: "\xff\x00", `{"path": "` + root + `/d", "content": ""}`: "",
	} {
		out, f := call(t, set, "write_file", args)
		if f != nil {
			t.Errorf("%s: %v", args, f)
			continue
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args, `{"path": "`), root+"/"), `"`)
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
			t.Errorf("%s (%s): the file holds %q, %v", args, out, got, err)
		}
	}
	// No temporary files remain.
	left, err := filepath.Glob(filepath.Join(root, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	link(t, os.Symlink("../secret", filepath.Join(root, "out")))
	link(t, os.Symlink("..", filepath.Join(root, "up")))
	link(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(root, "abs")))
	link(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	write(t, filepath.Join(root, "large"), strings.Repeat("a", 101))
	for path, want := range map[string]string{
		"../secret": "outside the permitted", dir + "/secret": "outside the permitted", "/etc/passwd": "outside the permitted",
		root + "/../secret": "outside the permitted", ".": "outside the permitted",
		"out": "escapes", "up/secret": "escapes", "abs": "escapes", "pipe": "regular file", "large": "at most 100",
		"nobody": "not found", "new": "regular file", "a.txt/b": "", "a\\u0000b": "not a path",
	} {
		refuses(t, set, "read_file", `{"path": "`+path+`"}`, want)
		if path != "large" && path != "nobody" && path != "out" && path != "abs" {
			refuses(t, set, "write_file", `{"path": "`+path+`", "content": "x"}`, want)
		}
	}
	refuses(t, set, "write_file", `{"path": "x", "content": "`+strings.Repeat("a", 101)+`"}`, "at most 100")
	refuses(t, set, "write_file", `{"path": "x", "content": "?", "encoding": "base64"}`, "not base64")
	refuses(t, set, "read_file", `{"path": "bin", "encoding": "text"}`, "not UTF-8")
	refuses(t, set, "read_file", `{}`, "path")
	if got, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || string(got) != "secret" {
		t.Errorf("a file outside was changed: %q, %v", got, err)
	}
}

// Kairosd's own files are refused by inode, under any name.
func TestFilesOfKairosdAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "kairos.db"), "database")
	write(t, filepath.Join(dir, "data", "sub", "x"), "x")
	write(t, filepath.Join(dir, "kairosd.yaml"), "config")
	link(t, os.Link(filepath.Join(dir, "kairosd.yaml"), filepath.Join(dir, "hard")))
	link(t, os.Link(filepath.Join(dir, "data", "sub", "x"), filepath.Join(dir, "deep")))
	link(t, os.Symlink("kairosd.yaml", filepath.Join(dir, "soft")))
	link(t, os.Symlink("data/sub", filepath.Join(dir, "inner")))
	guard := &tool.Guard{}
	guard.Files(filepath.Join(dir, "kairosd.yaml"), filepath.Join(dir, "data"), filepath.Join(dir, "key"))
	set := builtin(
		t,
		tool.Config{
			Files: tool.FilesConfig{Roots: []string{dir}},
			SQL:   tool.SQLConfig{Databases: map[string]string{"own": filepath.Join(dir, "data", "kairos.db")}},
		},
		guard,
	)
	for _, path := range []string{"kairosd.yaml", "hard", "soft", "deep", "data/kairos.db", "data/kairos.db-wal", "data/new",
		"data/sub/x", "inner/x", "inner/../../data/kairos.db", "key", "./data/../kairosd.yaml"} {
		refuses(t, set, "write_file", `{"path": "`+path+`", "content": "x"}`, "")
		refuses(t, set, "read_file", `{"path": "`+path+`"}`, "")
		refuses(t, set, "csv", `{"file": "`+path+`"}`, "")
	}
	refuses(t, set, "sql_query", `{"database": "own", "query": "SELECT 1"}`, "belongs to kairosd")
	if got, err := os.ReadFile(filepath.Join(dir, "kairosd.yaml")); err != nil || string(got) != "config" {
		t.Errorf("the configuration holds %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "key")); err == nil {
		t.Error("a key file was made")
	}
	if _, f := call(t, set, "write_file", `{"path": "mine", "content": "x"}`); f != nil {
		t.Error(f)
	}
}

func TestRootsAreChecked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	for _, root := range []string{file, filepath.Join(file, "none"), "/nowhere"} {
		if _, err := tool.Builtin(tool.Config{Files: tool.FilesConfig{Roots: []string{root}}}, nil); err == nil {
			t.Errorf("root %s was accepted", root)
		}
	}
}
