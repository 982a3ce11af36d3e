package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/config"
)

func TestRetentionIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.yaml")
	load := func(text string) (config.Config, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(path)
	}
	c, err := load(
		"retention: {completed: 90d, keep: 100, max_size: 1.5GiB, every: 30m, plans: {invoice: {completed: 365d, failed: " +
			"720h}}}\nbackup: {dir: b, every: 1d, daily: 3}",
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Retention.Policy()
	if err != nil || p.Default.Completed != 90*24*time.Hour || p.Default.Failed != 0 || p.Default.Keep != 100 || p.MaxSize != 3<<29 ||
		p.Plans["invoice"].Failed != 30*24*time.Hour || p.Plans["invoice"].Keep != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if c.Backup.Dir != filepath.Join(filepath.Dir(path), "b") || c.Backup.Daily != 3 {
		t.Errorf("backup: %+v", c.Backup)
	}
	for text, want := range map[string]string{
		"retention: {completed: soon}":              "age like 90d",
		"retention: {plans: {x: {failed: -1h}}}":    "plan x",
		"retention: {max_size: 20}":                 "size like 20GiB",
		"retention: {max_size: 1e30GiB}":            "size like 20GiB",
		"retention: {keep: -1}":                     "negative",
		"retention: {every: never}":                 "retention.every",
		"backup: {every: 0d}":                       "backup.every",
		"backup: {weekly: -1}":                      "negative",
		"backup: {recipients: [age1nobody]}":        "backup.recipients: recipient 1 (\"age1nobody\") is not an age public key",
		"backup: {recipients: [AGE-SECRET-KEY-1X]}": "is a private key",
		"retention: {plans: {x: {complete: 3d}}}":   "did you mean completed",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
