package web_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestANoteIsKeptWithARun(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	page := "/runs/" + seed.Failed.ID
	write := func(text string) webtest.Page {
		form := b.Get(page + "/note").Hidden()
		form.Set("text", text)
		return b.Post(page+"/note", form)
	}
	kept := write("waiting for quota\nresume after 06:00 <b>")
	if kept.Code == http.StatusSeeOther {
		kept = b.Get(kept.Location)
	}
	if kept.Code != http.StatusOK || !strings.Contains(kept.Body, "waiting for quota\nresume after 06:00 &lt;b&gt;") {
		t.Errorf("got status %d, want %d\n%s", kept.Code, http.StatusOK, kept.Body)
	}
	for what, text := range map[string]string{"nothing": " \n", "too much": strings.Repeat("ñ", 2001)} {
		refused := write(text)
		if refused.Code != http.StatusUnprocessableEntity || !strings.Contains(refused.Body, "the note") {
			t.Errorf("%s: got status %d, want %d\n%s", what, refused.Code, http.StatusUnprocessableEntity, refused.Body)
		}
	}
	for range 99 {
		write("again")
	}
	if full := write("one more"); full.Code != http.StatusConflict {
		t.Errorf("the 101st note: got status %d, want %d", full.Code, http.StatusConflict)
	}
}

func TestARunIsExportedWhole(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs/" + seed.Failed.ID + "/export")
	if p.Code != http.StatusOK || p.Header.Get("Content-Disposition") != `attachment; filename="run-`+seed.Failed.ID+`.tar.zst"` {
		t.Fatalf("got status %d, want %d: %q", p.Code, http.StatusOK, p.Header.Get("Content-Disposition"))
	}
	z, err := zstd.NewReader(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if files[strings.TrimPrefix(h.Name, "run-"+seed.Failed.ID+"/")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"README": "journal.jsonl", "run.json": `"status": "failed"`,
		"plan.yaml": "nodes:", "journal.jsonl": `"failed"`, "decisions.json": "[", "conversation.json": "{", "notes.json": "[",
		"signature.json": `"publicKey"`} {
		if !bytes.Contains(files[name], []byte(want)) {
			t.Errorf("%s: %.300s", name, files[name])
		}
	}
	if again := b.Get("/runs/" + seed.Failed.ID + "/export"); again.Body != p.Body {
		t.Error("the same run gives another file")
	}
	summary := b.Get("/runs/" + seed.Failed.ID + "/summary.md")
	if summary.Code != http.StatusOK || !strings.Contains(summary.Body, seed.Failed.ID) || strings.Contains(summary.Body, "<") {
		t.Errorf("got status %d, want %d: %s", summary.Code, http.StatusOK, summary.Body)
	}
}
