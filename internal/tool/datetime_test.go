package tool_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/tool"
)

func TestDatetime(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for args, want := range map[string]string{
		`{"at": "2026-03-29T00:30:00Z", "timezone": "Europe/Madrid"}`:                           "2026-03-29T01:30:00+01:00",
		`{"at": "2026-03-29T01:30:00Z", "timezone": "Europe/Madrid"}`:                           "2026-03-29T03:30:00+02:00",
		`{"at": "2026-01-31 10:00", "from": "Asia/Tokyo", "timezone": "Europe/London"}`:         "2026-01-31T01:00:00Z",
		`{"at": "2026-01-31", "add": "1mo"}`:                                                    "2026-02-28T00:00:00Z",
		`{"at": "2024-02-29", "add": "1y"}`:                                                     "2025-02-28T00:00:00Z",
		`{"at": "2026-03-01", "add": "-1d"}`:                                                    "2026-02-28T00:00:00Z",
		`{"at": "2026-03-28 12:00", "timezone": "Europe/Madrid", "add": "1d"}`:                  "2026-03-29T12:00:00+02:00",
		`{"at": "2026-03-28 12:00", "timezone": "Europe/Madrid", "add": "24h"}`:                 "2026-03-29T13:00:00+02:00",
		`{"at": "2026-01-01", "add": "1y2mo3d4h5m6s"}`:                                          "2027-03-04T04:05:06Z",
		`{"at": 0, "timezone": "America/New_York"}`:                                             "1969-12-31T19:00:00-05:00",
		`{"at": "2026-11-21T04:20:00Z", "timezone": "Asia/Tokyo", "format": "15:04 on Monday"}`: "13:20 on Saturday",
		`{"at": "2026-11-21T04:20:00Z", "format": "date"}`:                                      "2026-11-21",
		`{"at": "2026-11-21T04:20:00Z", "timezone": "Asia/Kathmandu", "format": "datetime"}`:    "2026-11-21 10:05:00",
	} {
		got, f := call(t, set, "datetime", args)
		if f != nil {
			t.Errorf("%s: %v", args, f)
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(got), &m); err != nil || m["text"] != want {
			t.Errorf("%s: got %s, want %s", args, m["text"], want)
		}
	}
	for args, want := range map[string]string{
		`{"timezone": "Mars/Base"}`: "unknown time zone", `{"timezone": "Local"}`: "unknown time zone",
		`{"timezone": "../etc/passwd"}`: "unknown time zone", `{"timezone": "/etc/localtime"}`: "unknown time zone",
		`{"at": "tomorrow"}`: "is not a time", `{"at": "2026-02-30"}`: "is not a time", `{"add": "soon"}`: "is not an amount",
		`{"add": "-"}`: "is not an amount", `{"add": "1.5mo"}`: "is not an amount",
		`{"add": "9999999999y"}`: "is not an amount", `{"add": "9999999999999h"}`: "is not an amount",
		`{"at": "2026-01-01", "add": "9000y"}`: "the year", `{"zone": "UTC"}`: "unknown key", `{"at": true}`: "at",
	} {
		refuses(t, set, "datetime", args, want)
	}
}

func TestDatetimeNowInTwoZones(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC 2000-01-01
		set := builtin(t, tool.Config{}, nil)
		for zone, want := range map[string]string{"Asia/Tokyo": "09:00:00", "Europe/London": "00:00:00"} {
			out, f := call(t, set, "datetime", `{"timezone": "`+zone+`"}`)
			if f != nil {
				t.Fatal(f)
			}
			var m map[string]any
			if err := json.Unmarshal([]byte(out), &m); err != nil || m["time"] != want || m["timezone"] != zone {
				t.Errorf("%s: got %v, want %s", zone, m, want)
			}
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := builtin(t, tool.Config{}, nil)
		start := time.Now()
		if out, f := call(t, set, "sleep", `{"for": "90s"}`); f != nil || out != `{"slept":"1m30s"}` {
			t.Errorf("got %s, %v", out, f)
		}
		if d := time.Since(start); d != 90*time.Second {
			t.Errorf("slept %s", d)
		}
		for args, want := range map[string]string{`{"for": "2h"}`: "longer than", `{"for": "-1s"}`: "not a duration",
			`{"for": "soon"}`: "not a duration", `{}`: `"for" is required`} {
			refuses(t, set, "sleep", args, want)
		}
	})
}
