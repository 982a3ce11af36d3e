package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/tool"
)

// S16: A command with a user of its own can read neither kairosd's files nor the environment of
// other processes. It works in its own directory.
func TestACommandOfAnotherUserCannotReadOtherFiles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run commands as somebody else")
	}
	if info, err := os.Stat("/"); err != nil || info.Mode().Perm()&0o001 == 0 {
		t.Skip("on this machine nobody but root can reach any program")
	}
	data := t.TempDir()
	var secrets []string
	for _, name := range []string{"kairos.db", "kairos.db.key", "setup.token"} {
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, []byte("a secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, path)
	}
	set := builtin(t, tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{"/bin/sh"}, User: "nobody"}}, nil)
	run := func(line string) string {
		t.Helper()
		args, err := json.Marshal(map[string]any{"command": "/bin/sh", "args": []string{"-c", line}, "expect": []int{0, 1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		out, f := call(t, set, "exec", string(args))
		if f != nil {
			t.Fatalf("%s: %v", line, f)
		}
		var said struct{ Stdout, Stderr string }
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatal(err)
		}
		return said.Stdout + said.Stderr
	}
	if out := run("id -u; id -G; touch mine && ls"); !strings.Contains(out, "mine") || strings.HasPrefix(out, "0\n") ||
		len(strings.Fields(out)) != 3 {
		t.Errorf("it runs as: %s", out)
	}
	for _, path := range append(secrets, "/proc/1/environ", "/proc/self/root/etc/shadow") {
		if out := run("cat " + path); !strings.Contains(out, "Permission denied") {
			t.Errorf("it reads %s: %s", path, out)
		}
	}
	if out := run("kill -0 1"); out == "" {
		t.Error("it may send signals to other users' processes")
	}
}

// The user of commands is checked when kairosd starts.
func TestInvalidUsersOfCommands(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"root": "can read the data of kairosd", "no-such-user": "tools.exec.user"} {
		_, err := tool.Builtin(tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{"/bin/sh"}, User: name}}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
