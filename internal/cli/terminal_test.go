package cli_test

import (
	"bytes"
	"testing"

	"github.com/kairosd/kairosd/internal/cli"
)

// Output of a model cannot control the reader's terminal (L13), no matter how it is cut into writes.
func TestTerminalsReceiveNoControlSequences(t *testing.T) {
	t.Parallel()
	const text = "a\x1b[2Jb\x00c\u202ed\u009be\tf\nñ👩‍👩\U000e0041\xff!"
	const want = "a[2Jbcde\tf\nñ👩‍👩\ufffd!"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := cli.Plain(&out)
		for at := 0; at < len(text); at += size {
			part := text[at:min(at+size, len(text))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Fatalf("in writes of %d bytes: %q, want %q", size, out.String(), want)
		}
	}
}
