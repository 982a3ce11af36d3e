package domain_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A disk is reported as nearly full before it is full. See O12 in docs/internals/bad-inputs.md.
func TestAFullDiskIsRecognized(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		free, disk, database int64
		nearly, full         bool
	}{
		"half":                           {50 * gib, 100 * gib, gib, false, false},
		"95%":                            {5*gib - 1, 100 * gib, gib, true, false},
		"99%":                            {gib - 1, 100 * gib, gib, true, true},
		"99% of a large disk":            {20 * gib, 2000 * gib, gib, false, false},
		"95% of a small disk":            {gib/2 - 1, 10 * gib, 0, true, false},
		"little beside a large database": {30 * gib, 500 * gib, 400 * gib, true, false},
		"nothing is known":               {0, 0, 0, false, false},
	} {
		s := domain.Storage{Free: c.free, Disk: c.disk, Database: c.database}
		if s.NearlyFull() != c.nearly || s.Full() != c.full {
			t.Errorf("%s: nearly full %t, full %t", name, s.NearlyFull(), s.Full())
		}
	}
}
