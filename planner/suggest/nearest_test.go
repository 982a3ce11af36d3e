package suggest

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"backoff", "input", "max_attempts", "timeout", "order", "output"}
	for word, want := range map[string]string{
		"timout": "timeout", "Input": "input", "ouput": "output", // misspelled
		"input_schema": "input", "max": "max_attempts", // another name
		"stderr": "", "delay": "", "m": "", "": "", // nothing is close
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
