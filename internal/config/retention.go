package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Policy is the configured retention with parsed ages and sizes.
func (r Retention) Policy() (domain.Retention, error) {
	p := domain.Retention{Plans: map[string]domain.RetentionRule{}}
	var err error
	if p.Default, err = r.RetentionRule.rule(); err != nil {
		return p, err
	}
	for plan, rule := range r.Plans {
		if p.Plans[plan], err = rule.rule(); err != nil {
			return p, fmt.Errorf("plan %s: %w", plan, err)
		}
	}
	if p.Audit, err = Age(r.Audit); err != nil {
		return p, fmt.Errorf("audit: %w", err)
	}
	p.MaxSize, err = Size(r.MaxSize)
	return p, err
}

func (r RetentionRule) rule() (out domain.RetentionRule, err error) {
	for _, f := range []struct {
		text string
		into *time.Duration
	}{{r.Completed, &out.Completed}, {r.Failed, &out.Failed}, {r.Cancelled, &out.Cancelled}} {
		if *f.into, err = Age(f.text); err != nil {
			return out, err
		}
	}
	if out.Keep = r.Keep; r.Keep < 0 {
		return out, fmt.Errorf("keep %d is negative", r.Keep)
	}
	return out, nil
}

// sizes are the units of Size, longest name first.
var sizes = []struct {
	unit  string
	bytes float64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// Size parses a number of bytes with a unit, such as 20GiB or 500MB. An empty text is 0.
func Size(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	for _, u := range sizes {
		number, ok := strings.CutSuffix(s, u.unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && n > 0 && n*u.bytes < math.MaxInt64/2 {
			return int64(n * u.bytes), nil
		}
		break
	}
	return 0, fmt.Errorf("%q is not a size like 20GiB", s)
}
