package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// -q prints no notes. Users, roles, tokens, and scopes are completed, with and without a daemon.
func TestKairosdIsQuietAndCompletesWords(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortDir(t), "data")
	if _, stderr, code := runKairosd("user", "list", "--data", data); code != 0 || !strings.Contains(stderr, "no users") {
		t.Errorf("exit %d: %q", code, stderr)
	}
	if out, stderr, code := runKairosd("user", "list", "--data", data, "-q"); code != 0 || out != "" || stderr != "" {
		t.Errorf("-q: exit %d, stdout %q, stderr %q", code, out, stderr)
	}
	if _, stderr, code := runKairosdWith(strings.NewReader("four unrelated words\n"), "user", "add", "marta", "--data", data); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := runKairosd("token", "create", "--data", data, "--role", "viewer", "--name", "ci"); code != 0 {
		t.Fatal(stderr)
	}
	tokens, _, _ := runKairosd("token", "list", "--data", data, "--json")
	token := anID.FindString(tokens)
	check := func() {
		t.Helper()
		for want, args := range map[string][]string{
			"marta\toperator\n":  {"user", "passwd", "--data", data, ""},
			"marta\toperator\n:": {"user", "disable", "--data", data, "ma"},
			"operator\nauthor\n": {"user", "role", "--data", data, "marta", ""},
			token + "\tci\n":     {"token", "revoke", "--data", data, ""},
			"viewer\n:":          {"token", "create", "--role", "v"},
			"plans:read\n":       {"token", "create", "--scope", "plans"},
			"happened\nagain\n":  {"demo", "--answer", ""},
			"on\noff\n":          {"maintenance", ""},
			":0\n":               {"restore", ""}, // files
		} {
			if out, _, _ := runKairosd(append([]string{"__complete"}, args...)...); !strings.Contains(out, want) {
				t.Errorf("kairosd %s is completed with %q, not %q", strings.Join(args, " "), out, want)
			}
		}
	}
	check()
	serve(t, data)
	check()
}
