package cli_test

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// aged sets the time of a backup back.
func aged(t *testing.T, backup string, by time.Duration) {
	t.Helper()
	text, err := os.ReadFile(backup + recovery.ManifestSuffix)
	if err != nil {
		t.Fatal(err)
	}
	var b domain.Backup
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	b.Created = b.Created.Add(-by)
	b.MAC = manifestMAC(t, b, filepath.Join(filepath.Dir(filepath.Dir(backup)), "kairos.db.key"))
	if text, err = json.Marshal(b); err == nil {
		err = os.WriteFile(backup+recovery.ManifestSuffix, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// manifestMAC returns the MAC of a manifest, as the owner of the key file computes it.
func manifestMAC(t *testing.T, b domain.Backup, keyFile string) string {
	t.Helper()
	text, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "kairosd backup manifest", 32)
	if err != nil {
		t.Fatal(err)
	}
	b.MAC = ""
	plain, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	m := hmac.New(sha256.New, derived)
	m.Write(plain)
	return hex.EncodeToString(m.Sum(nil))
}

// The doctor prints the time and place of the last good backup, and every difference between the
// backups and the configuration with its fix.
func TestTheDoctorChecksBackups(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	data := filepath.Join(in, "data")
	keys := make([]string, 2)
	for i := range keys {
		keys[i], _ = keyPair(t)
	}
	config := func(name, text string) string { return written(t, in, name+".yaml", text) }
	often := config("often", "backup: {every: 6h}\n")
	never := config("never", "backup: {every: never}\n")
	sealed := config("sealed", "backup: {every: 6h, recipients: ["+keys[0]+"]}\n")
	others := config("others", "backup: {every: 6h, recipients: ["+keys[1]+"]}\n")
	away := config("away", "backup: {every: 1d, dir: away}\n")

	// expect checks the texts of the doctor about backups, and whether it found a problem.
	doctor := func(config string) (string, int) {
		t.Helper()
		out, stderr, code := runKairosd("doctor", "--data", data, "--config", config)
		_, backups, ok := strings.Cut(out, " backups (")
		if !ok || stderr != "" {
			t.Fatalf("doctor --config %s: exit %d, %s%s", config, code, out, stderr)
		}
		return backups, code
	}
	expect := func(when, config string, code int, want ...string) {
		t.Helper()
		out, got := doctor(config)
		if got != code {
			t.Errorf("%s: exit %d\n%s", when, got, out)
		}
		for _, w := range want {
			if bare, not := strings.CutPrefix(w, "!"); strings.Contains(out, bare) == not {
				t.Errorf("%s: %q in\n%s", when, w, out)
			}
		}
	}
	backUp := func(config string) (newest string) {
		t.Helper()
		before, err := filepath.Glob(filepath.Join(data, "backups", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range before { // the backups need different times
			aged(t, strings.TrimSuffix(m, recovery.ManifestSuffix), time.Second)
		}
		out, stderr, code := runKairosd("backup", "--data", data, "--config", config)
		if code != 0 {
			t.Fatalf("backup: exit %d, %s", code, stderr)
		}
		newest, _, _ = strings.Cut(out, ": ")
		return newest
	}
	if _, stderr, code := runKairosd("migrate", "up", "--data", data); code != 0 {
		t.Fatalf("a new database: exit %d, %s", code, stderr)
	}
	expect(
		"none, and none is due",
		never,
		0,
		"no backup in "+filepath.Join(data, "backups"),
		"are disabled",
		"next: create a backup: kairosd backup; set backup.every",
	)
	expect(
		"none, though one is due",
		often,
		1,
		"no intact backup in "+filepath.Join(data, "backups")+"; the configuration requires one every 6h",
		"create a backup: kairosd backup",
	)

	first := backUp(often)
	expect("one of now", often, 0, "the last intact backup is of 20", "0s ago: "+first+", not encrypted", "!next:")
	expect("one that nobody schedules", never, 0, first, "scheduled backups are disabled (backup.every: never)", "next: set backup.every")
	expect("without a configuration", "", 0, first, "the schedule is unknown", "next: pass the configuration of the server with --config")
	expect("one somewhere else", away, 1, "no intact backup in "+filepath.Join(in, "away"))
	aged(t, first, 7*time.Hour)
	expect("a little late", often, 0, "7h0m0s ago: "+first)
	aged(t, first, time.Hour)
	expect(
		"too late",
		often,
		1,
		"8h0m0s ago: "+first,
		"is too old; the configuration requires one every 6h",
		"create a backup",
	)

	expect(
		"a plain one where encrypted ones are wanted",
		sealed,
		1,
		"although recipients are configured: "+first,
		"create an encrypted backup",
	)
	second := backUp(sealed)
	expect(
		"a plain one beside an encrypted one",
		sealed,
		1,
		second+", encrypted to "+keys[0],
		"although recipients are configured: "+first+"\n",
		"then delete those files",
	)
	for _, p := range []string{first, first + recovery.ManifestSuffix} {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	expect("an encrypted one", sealed, 0, "0s ago: "+second+", encrypted to "+keys[0], "!next:")
	expect("an encrypted one of others", others, 1, "not encrypted to the configured recipients: "+keys[1])
	expect("an encrypted one that nobody wants so", often, 0, second, "no recipients are configured")

	third := backUp(sealed)
	if err := os.Truncate(third, 1000); err != nil {
		t.Fatal(err)
	}
	expect(
		"the newest is cut short",
		sealed,
		1,
		third+" does not match its manifest",
		"the last intact backup is of",
		second,
		"check the disk",
	)

	before := filepath.Join(data, "pre-schema-1-20300131T000000.000Z")
	if err := os.Mkdir(before, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runKairosd("backup", "--data", data, filepath.Join(before, "kairos.db")); code != 0 {
		t.Fatalf("backup: exit %d, %s", code, stderr)
	}
	expect("what an upgrade kept", sealed, 1, "although recipients are configured: "+filepath.Join(before, "kairos.db"))

	var report struct{ Checks []domain.Check }
	out, _, _ := runKairosd("doctor", "--data", data, "--config", sealed, "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if last := report.Checks[len(report.Checks)-1]; last.Name != "backups" || last.Checked != 2 || len(last.Found) != 1 ||
		len(last.Problems) != 2 ||
		last.Advice == "" {
		t.Errorf("as JSON: %+v", last)
	}
}

// The doctor prints why the daemon's last backup failed, until there is a newer one.
func TestTheDoctorReportsWhyThereIsNoBackup(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data)
	written(t, data, "backups", "") // a file instead of the directory
	if _, err := d.BackUp(t.Context()); err == nil {
		t.Fatal("a backup was made in a file")
	}
	if err := os.Remove(filepath.Join(data, "backups")); err != nil {
		t.Fatal(err)
	}
	if out, _, code := runKairosd("doctor", "--data", data); code != 1 || !strings.Contains(out, "the backup of 20") ||
		!strings.Contains(out, "cannot create the directory for backups") {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, err := d.BackUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, _, code := runKairosd("doctor", "--data", data); code != 0 || strings.Contains(out, "the backup of") {
		t.Errorf("after one: exit %d, %s", code, out)
	}
}
