package domain_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, pattern string }{
		{"", ""},
		{"the bank does not answer", "the bank does not answer"},
		{"invoice INV-20981 has no currency", "invoice # has no currency"},
		{"status 429: retry after 12.5s", "status #: retry after #"},
		{`vendor "Müller & Co" is unknown`, `vendor "…" is unknown`},
		{`vendor 'a \'b\' c' is unknown`, `vendor "…" is unknown`},
		{"the server can't say why it didn't", "the server can't say why it didn't"},
		{"dial tcp 10.0.0.7:5432: connect: connection refused", "dial tcp #: connect: connection refused"},
		{"at 2026-03-09T01:47:13.482Z it failed", "at # it failed"},
		{"Date: Mon, 09 Mar 2026 01:47:13 GMT", "Date: #"},
		{"run 01jr8k2mf0s0000000007qwn is gone", "run # is gone"},
		{"550e8400-e29b-41d4-a716-446655440000 not found", "# not found"},
		{"lines 1, 2, 3 and 4 do not match", "lines # and # do not match"},
		{"got -5, want +7", "got #, want #"},
		{"cost $3.50 over the limit", "cost # over the limit"},
		{"unknown  fields\n\t\"a\", \"b\"", `unknown fields "…"`},
		{`an "open quote stays`, `an "open quote stays`},
		{"GET https://erp.example/v2/invoices/77?x=1: 503", "GET https://erp.example/#/invoices/#?x=#"},
		{"«uno» y «dos»", `"…" y "…"`},
	} {
		if got := domain.Pattern(c.message); got != c.pattern {
			t.Errorf("pattern of %q:\n got %q\nwant %q", c.message, got, c.pattern)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(message string) string { return (&domain.RunError{Message: message}).Fingerprint() }
	a, b := of("timeout after 30s of invoice 17"), of("timeout after 31.2s of invoice 4711")
	if a != b || !domain.ValidFingerprint(a) {
		t.Errorf("%s and %s: want the same valid one", a, b)
	}
	if of("timeout of the bank") == of("the bank refused") {
		t.Error("different failures have one fingerprint")
	}
	for _, s := range []string{"", "abc", "ABCDEF012345", strings.Repeat("0", 13)} {
		if domain.ValidFingerprint(s) {
			t.Errorf("%q is valid", s)
		}
	}
}

// A failure group survives a release that words its message differently.
func TestFingerprintIgnoresEnglish(t *testing.T) {
	t.Parallel()
	of := func(format string, args ...any) string {
		text := domain.Messagef(format, args...)
		return (&domain.RunError{Message: text.String(), Text: text}).Fingerprint()
	}
	if a, b := of("tool %s gave no answer within %s", "bank 7", time.Second), of("no answer from tool %s in %s", "bank 12",
		time.Minute); a != b {
		t.Errorf("%s and %s: want the same", a, b)
	}
	if of("tool %s is missing", "bank") == of("tool %s is missing", "mail") {
		t.Error("failures of different tools have one fingerprint")
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a 'b' 3", "„x“ \\", "“", "-#-", "\xff1\xfe", strings.Repeat("9,", 900)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := domain.Pattern(s)
		if !utf8.ValidString(p) || strings.ContainsAny(p, "0123456789") {
			t.Errorf("pattern of %q is %q", s, p)
		}
	})
}
