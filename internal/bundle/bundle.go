// Package bundle packs everything that is known of one run into one file, to be
// looked at elsewhere: with a ticket, or by whoever wrote the plan.
package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/kairosd/kairosd/internal/kairos"
)

// MediaType is that of a bundle: a tar archive compressed with Zstandard
// (RFC 8878).
const MediaType = "application/zstd"

// Name is the file name of a run's bundle.
func Name(run string) string { return "run-" + run + ".tar.zst" }

// Source is where a run is read from.
type Source interface {
	// Detail is a run with its waits and its whole journal.
	Detail(ctx context.Context, run string) (kairos.RunDetail, error)
	Conversation(ctx context.Context, run string) (kairos.Conversation, error)
	Notes(ctx context.Context, run string) ([]kairos.Note, error)
	VersionByNumber(ctx context.Context, planID string, number int) (kairos.Version, error)
}

// readme says what a bundle holds. Secrets were masked before anything was stored.
const readme = `This is all that kairosd keeps of one run. Secrets are masked.

run.json           the run: state, result, error, usage, input and output
plan.%-4s          the version of the plan that it runs, as written
journal.jsonl      its journal, a row a line: every attempt with input, output, log and error
decisions.json     which way each decision went, and from what values
conversation.json  what its agents said to each other, and to models
notes.json         what people wrote about it
`

// Bundle is everything that is known of one run.
type Bundle struct {
	detail  kairos.RunDetail
	said    kairos.Conversation
	notes   []kairos.Note
	version kairos.Version
}

// Read reads a run by its whole id.
func Read(ctx context.Context, from Source, run string) (*Bundle, error) {
	d, err := from.Detail(ctx, run)
	if err != nil {
		return nil, err
	}
	b := &Bundle{detail: d}
	if b.said, err = from.Conversation(ctx, run); err != nil {
		return nil, err
	}
	if b.notes, err = from.Notes(ctx, run); err != nil {
		return nil, err
	}
	if b.notes == nil {
		b.notes = []kairos.Note{}
	}
	b.version, err = from.VersionByNumber(ctx, cmp.Or(d.Run.PlanID, d.Run.PlanKey), d.Run.Version)
	return b, err
}

// Write writes the archive. The same run gives the same bytes.
func (b *Bundle) Write(to io.Writer) error {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	t := tar.NewWriter(z)
	journal, err := b.journal()
	if err != nil {
		return err
	}
	format := cmp.Or(b.version.Format, "yaml")
	for _, f := range []struct {
		name string
		text []byte
		data any
	}{
		{"README", fmt.Appendf(nil, readme, format), nil},
		{"run.json", nil, kairos.ViewDetail(b.detail, nil)},
		{"plan." + format, b.version.Source, nil},
		{"journal.jsonl", journal, nil},
		{"decisions.json", nil, kairos.DecisionsOf(b.detail.Journal)},
		{"conversation.json", nil, b.said},
		{"notes.json", nil, b.notes},
	} {
		if f.data != nil {
			if f.text, err = encode(f.data, "  "); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: "run-" + b.detail.Run.ID + "/" + f.name, Mode: 0o644, Size: int64(len(f.text)), Format: tar.FormatPAX,
			ModTime: b.detail.Run.CreatedAt}
		if err := t.WriteHeader(&h); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := t.Write(f.text); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func (b *Bundle) journal() ([]byte, error) {
	var out bytes.Buffer
	for i := range b.detail.Journal {
		line, err := encode(&b.detail.Journal[i], "")
		if err != nil {
			return nil, fmt.Errorf("journal row %d: %w", b.detail.Journal[i].Seq, err)
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

// encode leaves < and & as they are: the files are read by people.
func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return out.Bytes(), err
}
