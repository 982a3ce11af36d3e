package tool

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones for systems without them

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func newDatetime() llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name: "datetime",
			Description: "Returns the time in an IANA time zone: now, or a given time converted from another zone, with an " +
				"amount added or subtracted.",
			Effect: walk.EffectRead,
			EffectOf: func(args any) walk.Effect {
				if m, ok := args.(map[string]any); ok {
					if at := m["at"]; at != nil && at != "" && at != "now" {
						return walk.EffectPure
					}
				}
				return walk.EffectRead
			},
			Schema: object(map[string]any{
				"timezone": property("string", "IANA name of the zone of the answer, such as Asia/Tokyo; default UTC", "maxLength", 64),
				"at": property(
					"",
					"a time: now, RFC 3339, 2006-01-02 15:04, 2006-01-02, or Unix seconds; default now",
					"type",
					[]any{"string", "integer"},
					"maxLength",
					64,
				),
				"from": property("string", "zone of an `at` that names none; default the zone of the answer", "maxLength", 64),
				"add":  property("string", "amount to add, such as 90m, -2d, 1mo or 1y6mo; units y mo w d h m s ms", "maxLength", 64),
				"format": property(
					"string",
					"rfc3339, rfc1123, date, time, datetime, unix, or a Go layout; the answer's text is written in it",
					"maxLength",
					64,
				),
			}),
		},
		call: func(_ context.Context, args arguments, _ llm.ToolCall) (any, error) {
			return datetime(time.Now(), args)
		},
	}
}

func datetime(now time.Time, args arguments) (any, error) {
	zone, err := location(args.text("timezone"), time.UTC)
	if err != nil {
		return nil, err
	}
	from, err := location(args.text("from"), zone)
	if err != nil {
		return nil, err
	}
	t := now
	if args.has("at") {
		if t, err = instant(jsonvalue.Text(args["at"]), now, from); err != nil {
			return nil, err
		}
	}
	t = t.In(zone)
	if t, err = addAmount(t, args.text("add")); err != nil {
		return nil, err
	}
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, invalid("the year %d cannot be written", y)
	}
	t = t.Truncate(time.Millisecond)
	name, _ := t.Zone()
	return map[string]any{
		"text": formatTime(
			t,
			args.text("format"),
		), "iso": t.Format(time.RFC3339Nano), "date": t.Format(time.DateOnly), "time": t.Format(time.TimeOnly),
		"weekday": t.Weekday().String(), "timezone": zone.String(), "abbreviation": name, "offset": t.Format("-07:00"), "unix": t.Unix(),
	}, nil
}

// location finds a time zone. It rejects the machine's own, because a plan must have the same
// meaning on every machine.
func location(name string, otherwise *time.Location) (*time.Location, error) {
	switch name {
	case "":
		return otherwise, nil
	case "UTC", "Z":
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, suggest(invalid("unknown time zone %s", clip(name)), "use an IANA name, such as Europe/Madrid, Asia/Tokyo, or UTC")
	}
	return zone, nil
}

func instant(text string, now time.Time, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "now" {
		return now, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && (len(text) > 4 || seconds < 1000) {
		return time.Unix(seconds, 0), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, suggest(invalid("%s is not a time", clip(text)), "use 2026-03-29T02:30:00Z or 2026-03-29 02:30")
}

var amounts = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(mo|ms|[ywdhms])`)

// addAmount adds calendar units as a calendar does (31 January plus a month is the end of February)
// and other units as a clock does.
func addAmount(t time.Time, amount string) (time.Time, error) {
	rest := strings.ReplaceAll(strings.TrimSpace(amount), " ", "")
	if rest == "" {
		return t, nil
	}
	bad := func() (time.Time, error) {
		return t, suggest(invalid("%s is not an amount of time", clip(amount)), "use 90m, -2d, 1mo, or 1y6mo")
	}
	sign := 1
	switch rest[0] {
	case '-':
		sign, rest = -1, rest[1:]
	case '+':
		rest = rest[1:]
	}
	if rest == "" {
		return bad()
	}
	var months, days int
	var clock time.Duration
	for rest != "" {
		m := amounts.FindStringSubmatch(rest)
		if m == nil {
			return bad()
		}
		rest = rest[len(m[0]):]
		n, err := strconv.Atoi(m[1])
		switch m[2] {
		case "y", "mo", "w", "d":
			if err != nil || n > 4_000_000 {
				return bad()
			}
		}
		switch m[2] {
		case "y":
			months += 12 * n
		case "mo":
			months += n
		case "w":
			days += 7 * n
		case "d":
			days += n
		default:
			d, err := time.ParseDuration(m[0])
			if err != nil || clock+d < 0 {
				return bad()
			}
			clock += d
		}
	}
	t = addMonths(t, sign*months).AddDate(0, 0, sign*days)
	return t.Add(time.Duration(sign) * clock), nil
}

func addMonths(t time.Time, months int) time.Time {
	if months == 0 {
		return t
	}
	y, m, d := t.Date()
	first := time.Date(y, m+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(d, last)-1)
}

func formatTime(t time.Time, format string) string {
	switch strings.ToLower(format) {
	case "", "rfc3339", "iso":
		return t.Format(time.RFC3339)
	case "rfc1123":
		return t.Format(time.RFC1123Z)
	case "date":
		return t.Format(time.DateOnly)
	case "time":
		return t.Format(time.TimeOnly)
	case "datetime":
		return t.Format(time.DateTime)
	case "unix":
		return fmt.Sprint(t.Unix())
	}
	return t.Format(format)
}
