package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// Starts and backups print where the key file is and that it needs a copy. A restore without it
// stops and explains. --without-key restores, and nothing is executed until a new administrator
// releases it. The pending request is created again.
func TestARestoreWithoutTheKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, other, backup := filepath.Join(dir, "data"), filepath.Join(dir, "other"), filepath.Join(dir, "b.db")
	d := serve(t, data)
	notice := "The key file is " + filepath.Join(data, "kairos.db.key") + ". Backups do not contain it"
	password := written(t, dir, "password", "four unrelated words\n")
	addUser(t, data, "marta", password)
	run := d.start(t, waits)
	if out, stderr, code := runKairosd("backup", "--data", data, backup); code != 0 || !strings.Contains(out, notice) {
		t.Errorf("backup: exit %d: %s%s", code, out, stderr)
	}
	d.end(t)
	if text := d.out.String(); !strings.Contains(text, notice) {
		t.Errorf("the start does not say where the key file is: %s", text)
	}
	if _, stderr, code := runKairosd("restore", "--data", other, backup); code == 0 || !strings.Contains(stderr, "--without-key") ||
		!strings.Contains(stderr, "--key") {
		t.Errorf("without the key file: exit %d: %s", code, stderr)
	}
	if _, stderr, code := runKairosd("restore", "--dry-run", "--without-key", "--data", other, backup); code != 2 {
		t.Errorf("a drill without the key file: exit %d: %s", code, stderr)
	}
	if out, stderr, code := runKairosd("restore", "--without-key", "--data", other, backup); code != 0 ||
		!strings.Contains(out, "kairosd user add NAME --role admin") {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	if out, _, code := runKairosd("audit", "verify", "--data", other); code != 0 || !strings.Contains(out, "are not authenticated") {
		t.Errorf("audit verify: exit %d: %s", code, out)
	}
	d = serve(t, other)
	if users, err := d.Users(t.Context()); err != nil || len(users) != 1 || !users[0].Disabled {
		t.Errorf("%+v, %v", users, err)
	}
	s := &shell{t: t, dir: dir, env: map[string]string{"KAIROS_DB": filepath.Join(other, "kairos.db"), "HOME": dir}}
	for _, args := range [][]string{{"server", "release"}, {"resume", run.ID, "--release", "--yes"}} {
		if _, stderr := s.expect(2, append(args, "--reason", "too early")...); !strings.Contains(stderr, "create an administrator first") {
			t.Errorf("%v before there is an administrator: %s", args, stderr)
		}
	}
	addUser(t, other, "boss", password)
	if out, _ := s.expect(0, "server", "release", "--reason", "checked"); !strings.Contains(out, "1 run") {
		t.Errorf("release: %s", out)
	}
	r, err := d.Wait(t.Context(), run.ID)
	if err != nil || r.WaitReason != domain.WaitApproval {
		t.Errorf("%s %s, %v", r.Status, r.WaitReason, err)
	}
	if list, err := d.Approvals(t.Context(), domain.ApprovalFilter{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%+v, %v", list.Items, err)
	}
	if out, _, code := runKairosd("doctor", "--data", other); !strings.Contains(out, "ok       access") {
		t.Errorf("doctor: exit %d: %s", code, out)
	}
}

func addUser(t *testing.T, data, name, password string) {
	t.Helper()
	in, err := os.Open(password)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, stderr, code := runKairosdWith(in, "user", "add", name, "--role", "admin", "--data", data); code != 0 {
		t.Fatalf("user add: exit %d: %s", code, stderr)
	}
}

// With only a server's public key, a reader can check that an export is exactly what the server
// wrote.
func TestAnExportIsVerifiedByThePublicKeyAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	d := serve(t, data)
	run := d.start(t, "id: one\nnodes:\n  a: {type: set, input: 1}\n")
	s := &shell{t: t, dir: dir, env: map[string]string{"KAIROS_DB": filepath.Join(data, "kairos.db"), "HOME": dir}}
	packed := filepath.Join(dir, "run.tar.zst")
	s.expect(0, "runs", "export", run.ID, "--output", packed)
	d.end(t)
	serve(t, filepath.Join(dir, "other")).end(t)
	key, _, code := runKairosd("audit", "public-key", "--data", data)
	another, _, otherCode := runKairosd("audit", "public-key", "--data", filepath.Join(dir, "other"))
	if key, another = strings.TrimSpace(key), strings.TrimSpace(another); code != 0 || otherCode != 0 || key == another ||
		!strings.HasPrefix(key, "ed25519:") {
		t.Fatalf("public keys: %q %q", key, another)
	}
	log, stderr, code := runKairosd("audit", "export", "--data", data)
	if code != 0 {
		t.Fatal(stderr)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
	archive, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text, key string
		code      int
	}{
		"the log":               {log, key, 0},
		"another server":        {log, another, 1},
		"an actor changed":      {strings.Replace(log, `"system"`, `"nobody"`, 1), key, 1},
		"an event less":         {strings.Join(lines[1:], ""), key, 1},
		"the end cut off":       {strings.Join(lines[:len(lines)-1], ""), key, 1},
		"an event more":         {log + lines[0], key, 1},
		"the head changed":      {strings.Replace(log, `"head":`, `"head":1`, 1), key, 1},
		"no key":                {log, "", 2},
		"a key that is none":    {log, "ed25519:AAAA", 2},
		"the run":               {string(archive), key, 0},
		"the run, another":      {string(archive), another, 1},
		"the run, one bit less": {string(archive[:60]) + string(archive[60]^1) + string(archive[61:]), key, 1},
		"the run, cut off":      {string(archive[:len(archive)-20]), key, 1},
	} {
		file := written(t, dir, strings.ReplaceAll(name, " ", "-"), c.text)
		if out, stderr, code := runKairosd("audit", "verify-export", file, "--public-key", c.key); code != c.code {
			t.Errorf("%s: exit %d, want %d: %s%s", name, code, c.code, out, stderr)
		}
	}
}
