package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/suggest"
)

func readStatus(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	var chosen []domain.RunStatus
	var reasons []domain.WaitReason
	for v := range strings.SplitSeq(value, ",") {
		switch v {
		case "succeeded":
			chosen = append(chosen, domain.RunCompleted)
		case "interrupted":
			reasons = append(reasons, domain.WaitInDoubt)
		case "retrying":
			reasons = append(reasons, domain.WaitRetry)
		case "paused":
			reasons = append(reasons, domain.WaitPaused)
		case "needs_you":
			reasons = append(reasons, domain.WaitApproval, domain.WaitBudget, domain.WaitReplan, domain.WaitHeld, domain.WaitQuarantined)
		default:
			if !slices.Contains(domain.RunStatuses, domain.RunStatus(v)) {
				names := []string{
					"queued",
					"running",
					"waiting",
					"completed",
					"failed",
					"cancelled",
					"succeeded",
					"interrupted",
					"retrying",
					"paused",
					"needs_you",
				}
				e := domain.Errorf(domain.CodeInvalid, "unknown status %q", v)
				if near := suggest.Nearest(v, names); near != "" {
					return e.Suggest("did you mean status:%s?", near)
				}
				return e.Suggest("statuses: %s", strings.Join(names, ", "))
			}
			chosen = append(chosen, domain.RunStatus(v))
		}
	}
	switch {
	case not:
		f.Exclude.WaitReasons = append(f.Exclude.WaitReasons, reasons...)
		for _, st := range domain.RunStatuses {
			if len(chosen) > 0 && !slices.Contains(chosen, st) {
				f.Statuses = append(f.Statuses, st)
			}
		}
	case len(chosen) == 0:
		f.WaitReasons = append(f.WaitReasons, reasons...)
	case len(reasons) > 0 && !slices.Contains(chosen, domain.RunWaiting): // both waiting and other runs
		f.Statuses, f.WaitingFor = append(append(f.Statuses, chosen...), domain.RunWaiting), append(f.WaitingFor, reasons...)
	default:
		f.Statuses = append(f.Statuses, chosen...)
	}
	return nil
}

func readWaiting(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	into := &f.WaitReasons
	if not {
		into = &f.Exclude.WaitReasons
	}
	for v := range strings.SplitSeq(value, ",") {
		if !slices.Contains(domain.WaitReasons, domain.WaitReason(v)) {
			names := make([]string, len(domain.WaitReasons))
			for i, r := range domain.WaitReasons {
				names[i] = string(r)
			}
			return unknown("waiting", v, names)
		}
		*into = append(*into, domain.WaitReason(v))
	}
	return nil
}

func readError(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	codes := strings.Split(value, ",")
	switch {
	case not:
		f.Exclude.ErrorCodes = append(f.Exclude.ErrorCodes, codes...)
	case len(codes) == 1:
		f.ErrorCode = value
	default:
		f.ErrorCodes = codes
	}
	return nil
}

func readFingerprint(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	if not || !domain.ValidFingerprint(value) {
		return domain.Errorf(domain.CodeInvalid, "invalid fingerprint %s", value).Suggest("copy it from a failure group: kairos failures")
	}
	f.Fingerprint = value
	return nil
}

func readVersion(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	n, err := strconv.Atoi(strings.TrimPrefix(value, "v"))
	if err != nil || n < 1 || not {
		return domain.Errorf(domain.CodeInvalid, "v:%s is not a version number", value)
	}
	f.Version = n
	return nil
}

func readID(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	if len(value) < 4 || not {
		return domain.Errorf(domain.CodeInvalid, "enter at least four characters of the id")
	}
	f.IDTail = strings.ToLower(value)
	return nil
}

func readTime(f *domain.RunFilter, value string, not bool, now time.Time) *domain.Error {
	at, err := Moment(value, now)
	if err != nil || not {
		return domain.Errorf(domain.CodeInvalid, "since:%s is not a time", value).Suggest("write 24h, 7d or 2030-01-31T08:00")
	}
	f.Since = at
	return nil
}

func readUntil(f *domain.RunFilter, value string, not bool, now time.Time) *domain.Error {
	at, err := Moment(value, now)
	if err != nil || not {
		return domain.Errorf(domain.CodeInvalid, "until:%s is not a time", value).Suggest("write 24h, 7d or 2030-01-31T08:00")
	}
	f.Until = at
	return nil
}

func readTook(f *domain.RunFilter, value string, _ bool, _ time.Time) *domain.Error {
	over, rest := strings.CutPrefix(value, ">")
	rest2, under := strings.CutPrefix(value, "<")
	if under {
		over, rest = rest2, false
	}
	d, err := time.ParseDuration(over)
	if err != nil || d <= 0 || !rest && !under {
		return domain.Errorf(domain.CodeInvalid, "invalid term took:%s", value).Suggest("write took:>5m or took:<10s")
	}
	if under {
		f.MaxTook = d
	} else {
		f.MinTook = d
	}
	return nil
}

func readCost(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	rest := strings.TrimLeft(value, "<>")
	c, err := strconv.ParseFloat(rest, 64)
	switch {
	case err == nil && c >= 0 && !not && value == ">"+rest:
		f.MinCost = c
	case err == nil && c > 0 && !not && value == "<"+rest:
		f.MaxCost = c
	default:
		return domain.Errorf(domain.CodeInvalid, "invalid term cost:%s", value).Suggest("write cost:>1.50 or cost:<0.1")
	}
	return nil
}

func readAttempt(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	n, err := strconv.ParseInt(strings.TrimPrefix(value, ">"), 10, 64)
	if err != nil || n < 1 || not || !strings.HasPrefix(value, ">") {
		return domain.Errorf(domain.CodeInvalid, "invalid term attempt:%s", value).
			Suggest("write attempt:>2 for steps with more than two attempts")
	}
	f.MinAttempts = n
	return nil
}

func readSteps(f *domain.RunFilter, value string, _ bool, _ time.Time) *domain.Error {
	rest := strings.TrimLeft(value, "<>")
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err == nil && n >= 0 && value == ">"+rest:
		f.MinSteps = n
	case err == nil && n > 0 && value == "<"+rest:
		f.MaxSteps = n
	default:
		return domain.Errorf(domain.CodeInvalid, "invalid term steps:%s", value).Suggest("write steps:>20 or steps:<5")
	}
	return nil
}

func readHas(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	for v := range strings.SplitSeq(value, ",") {
		switch {
		case not:
			return domain.Errorf(domain.CodeInvalid, "has: cannot be negated")
		case v == "fork":
			f.HasFork = true
		case v == "approval":
			f.HasApproval = true
		case v == "parent":
			f.HasParent = true
		case v == "note":
			f.HasNote = true
		case v == "crash":
			f.HasCrash = true
		default:
			return unknown("has", v, []string{"fork", "note", "approval", "parent", "crash"})
		}
	}
	return nil
}

func readIs(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
	switch {
	case value == "attention" && !not:
		f.NeedsAttention = true
	case value == "deleted" && !not:
		f.Deleted = true
	case value == "acknowledged" && !not:
		f.Acknowledged = true
		if len(f.Statuses) == 0 {
			f.Statuses = []domain.RunStatus{domain.RunFailed}
		}
	default:
		return unknown("is", value, []string{"attention", "acknowledged", "deleted"})
	}
	return nil
}

// Moment parses an age (15m, 24h, 7d), or a date with or without time. A time without an offset is
// in UTC; an example with an offset is 2030-01-31T08:00+01:00.
func Moment(s string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}
