package domain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
)

var update = flag.Bool("update", false, "write the event reference of docs/reference/events.md")

const (
	referenceFile  = "../../docs/reference/events.md"
	referenceBegin = "<!-- reference: go test ./internal/domain -run TestEventReference -update -->\n"
)

// The event reference in docs/reference/events.md contains every type with every field.
func TestEventReference(t *testing.T) {
	text, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	before, got, ok := strings.Cut(string(text), referenceBegin)
	if !ok {
		t.Fatal("docs/reference/events.md has no reference")
	}
	var b strings.Builder
	for _, e := range domain.EventTypes {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", e.Name, e.Doc)
		if e.Ephemeral {
			b.WriteString("\nEphemeral.\n")
		}
		if len(e.Fields) > 0 {
			b.WriteString("\n| field | type | |\n| --- | --- | --- |\n")
		}
		for _, f := range e.Fields {
			typ := f.Type
			if f.Optional {
				typ += ", optional"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, typ, f.Doc)
		}
	}
	if *update {
		if err := os.WriteFile(referenceFile, []byte(before+referenceBegin+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(b.String(), got); d != "" {
		t.Errorf("docs/reference/events.md is out of date; run go test ./internal/domain -run TestEventReference -update\n%s", d)
	}
}

func TestEventIsFlat(t *testing.T) {
	t.Parallel()
	e := domain.Event{
		ID:      "abc-7.2",
		Type:    "node_completed",
		Run:     "r1",
		Session: "s1",
		At:      time.Unix(1, 0).UTC(),
		Seq:     7,
		Index:   2,
		RunSeq:  3,
		Data:    map[string]any{"node": "a", "runSeq": float64(3), "type": "never"},
	}
	text, err := json.Marshal(e)
	want := `{"type":"node_completed","eventId":"abc-7.2","timestamp":"1970-01-01T00:00:01Z","sessionId":"s1","runId":"r1","node":"a","runSeq":3}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
	var back domain.Event
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	delete(e.Data, "type")
	if d := cmp.Diff(e, back); d != "" {
		t.Error(d)
	}
}
