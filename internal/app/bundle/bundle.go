// Package bundle writes all stored data of one run to one file, to attach it to a ticket or to send
// it to the author of the plan.
package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"

	"github.com/klauspost/compress/zstd"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// MediaType is the media type of a bundle: a tar archive compressed with Zstandard (RFC 8878).
const MediaType = "application/zstd"

// Name returns the file name of a run's bundle.
func Name(run string) string { return "run-" + run + ".tar.zst" }

// Source reads a run.
type Source interface {
	// Detail returns a run with its waits and its whole journal.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	Notes(ctx context.Context, run string) ([]domain.Note, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// readme describes the content of a bundle. Secrets were masked before anything was stored.
const readme = `This is all that kairosd keeps of one run. Secrets are masked.

run.json           the run: state, result, error, usage, input and output
plan.%-4s          the version of the plan that it runs, as written
journal.jsonl      its journal, a row a line: every attempt with input, output, log and error
decisions.json     which way each decision went, and from what values
conversation.json  the messages of its agents to each other and to models
notes.json         what people wrote about it
signature.json     the server's signature of all files before it, with the head of its
                   audit log; check it with: kairosd audit verify-export FILE --public-key KEY
`

// Bundle contains all stored data of one run.
type Bundle struct {
	detail       domain.RunDetail
	conversation domain.Conversation
	notes        []domain.Note
	version      domain.Version
	// signature returns the signature of the archive's files. If it is nil, the archive has none.
	signature func(sha256 []byte) (domain.ExportSignature, error)
}

// Read reads a run by its complete id.
func Read(ctx context.Context, from Source, run string) (*Bundle, error) {
	d, err := from.Detail(ctx, run)
	if err != nil {
		return nil, err
	}
	b := &Bundle{detail: d}
	if b.conversation, err = from.Conversation(ctx, run); err != nil {
		return nil, err
	}
	if b.notes, err = from.Notes(ctx, run); err != nil {
		return nil, err
	}
	if b.notes == nil {
		b.notes = []domain.Note{}
	}
	if s, ok := from.(domain.ExportSigner); ok {
		b.signature = func(sum []byte) (domain.ExportSignature, error) { return s.SignExport(ctx, sum) }
	}
	b.version, err = from.VersionByNumber(ctx, cmp.Or(d.Run.PlanID, d.Run.PlanKey), d.Run.Version)
	return b, err
}

// Write writes the archive. The same run yields the same bytes.
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
	sum := sha256.New()
	put := func(name string, text []byte) error {
		hashFile(sum, name, text)
		h := tar.Header{
			Typeflag: tar.TypeReg,
			Name:     "run-" + b.detail.Run.ID + "/" + name,
			Mode:     0o644,
			Size:     int64(len(text)),
			Format:   tar.FormatPAX,
			ModTime:  b.detail.Run.CreatedAt,
		}
		err := t.WriteHeader(&h)
		if err == nil {
			_, err = t.Write(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, f := range []struct {
		name string
		text []byte
		data any
	}{
		{"README", fmt.Appendf(nil, readme, format), nil},
		{"run.json", nil, apitypes.DetailOf(b.detail, nil)},
		{"plan." + format, b.version.Source, nil},
		{"journal.jsonl", journal, nil},
		{"decisions.json", nil, domain.DecisionsOf(b.detail.Journal)},
		{"conversation.json", nil, b.conversation},
		{"notes.json", nil, b.notes},
	} {
		if f.data != nil {
			if f.text, err = encode(f.data, "  "); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		if err := put(f.name, f.text); err != nil {
			return err
		}
	}
	if b.signature != nil {
		s, err := b.signature(sum.Sum(nil))
		var text []byte
		if err == nil {
			text, err = encode(s, "  ")
		}
		if err == nil {
			err = put(signatureFile, text)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeUnavailable { // without the key file, the archive is not signed
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// signatureFile is the last file of an archive.
const signatureFile = "signature.json"

// hashFile adds a file to the signed hash.
func hashFile(h hash.Hash, name string, text []byte) {
	fmt.Fprintf(h, "%q %d\n", name, len(text))
	h.Write(text)
}

// Verify checks the signature of an archive with the public key of the server that wrote it. If the
// archive was changed, or was not signed with that key, the error is CodeCorrupt.
func Verify(from io.Reader, publicKey string) (domain.ExportSignature, error) {
	var s domain.ExportSignature
	z, err := zstd.NewReader(from)
	if err != nil {
		return s, domain.Errorf(domain.CodeInvalid, "this is not an export of a run: %w", err)
	}
	defer z.Close()
	t, sum := tar.NewReader(z), sha256.New()
	for signed := false; ; {
		h, err := t.Next()
		if err == io.EOF && signed {
			return s, s.Verify(publicKey, sum.Sum(nil))
		}
		if err == io.EOF {
			return s, domain.Errorf(domain.CodeCorrupt, "the export has no signature")
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(t)
		}
		if err != nil {
			return s, domain.Errorf(domain.CodeCorrupt, "the export cannot be read: %w", err)
		}
		if signed { // the signature covers only the files before it
			return s, domain.Errorf(domain.CodeCorrupt, "the export has a file behind its signature: %s", h.Name)
		}
		name := path.Base(h.Name)
		if name != signatureFile {
			hashFile(sum, name, text)
			continue
		}
		if err := json.Unmarshal(text, &s); err != nil {
			return s, domain.Errorf(domain.CodeCorrupt, "the signature of the export cannot be read: %w", err)
		}
		signed = true
	}
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

// encode does not escape < and &, because people read the files.
func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return out.Bytes(), err
}
