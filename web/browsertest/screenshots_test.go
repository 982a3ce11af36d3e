package browsertest

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/domain"
)

// TestScreenshots makes the pictures of docs/guides/dashboard.md and README.md. They show real
// pages of the real daemon, whose plans call a simulated shop. Run it with "make screenshots".
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("KAIROS_PICTURES")
	if dir == "" {
		t.Skip("make screenshots")
	}
	d := newDaemon(t)
	s := newShop(t, d)
	b := d.tab()
	total := 0
	take := func(name string) {
		t.Helper()
		b.until("the fonts are there", `document.fonts.status === "loaded"`)
		raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		must(t, err)
		small, err := fewColours(raw)
		must(t, err)
		total += len(small)
		t.Logf("%-16s %4d KB, before %4d KB", name, len(small)>>10, len(raw)>>10)
		must(t, os.WriteFile(filepath.Join(dir, name+".png"), small, 0o600))
	}
	size := func(width, height int64) { t.Helper(); b.do(chromedp.EmulateViewport(width, height)) }
	look := func(theme, lang string) { t.Helper(); b.cookie("theme", theme); b.cookie("lang", lang) }
	look("light", "en")
	size(1280, 860)
	shot := func(name, path string) { t.Helper(); b.open(path); take(name) }
	shot("home", "/")
	shot("runs", "/runs")
	shot("run-failed", "/runs/"+s.failed.ID)
	shot("run-waiting", "/runs/"+s.waiting.ID)
	shot("run-completed", "/runs/"+s.completed.ID+"?view=graph")
	shot("run-doubt", "/runs/"+s.doubt.ID)
	size(1280, 1000)
	shot("fork", "/runs/"+s.completed.ID+"/fork?at=2")
	shot("editor", "/plans/invoice-triage/edit")
	size(1280, 860)
	shot("compare", "/runs/compare?a="+s.failed.ID+"&b="+s.completed.ID)
	look("dark", "en")
	shot("run-dark", "/runs/"+s.failed.ID)
	look("light", "es")
	shot("home-es", "/")
	look("light", "en")
	size(390, 844)
	shot("run-phone", "/runs/"+s.failed.ID)
	if total > 2<<20 {
		t.Errorf("the pictures take %d KB, more than 2 MB", total>>10)
	}
	b.quiet("the pictures")
}

// shop contains runs of a typical day.
type shop struct{ completed, failed, waiting, doubt domain.Run }

func newShop(t *testing.T, d *daemon) shop {
	t.Helper()
	var limited atomic.Bool
	hang := make(chan struct{})
	world := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header()["Date"] = nil // two responses have no other difference
		pause := func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
		switch r.URL.Path {
		case "/invoices":
			pause(120 * time.Millisecond)
			fmt.Fprint(
				w,
				`{"invoices": [{"id": "INV-20981", "vendor": "Acme GmbH", "net": 1840.5, "currency": "EUR"}, {"id": "INV-20982", "vendor": "Bolt SA", "net": 96, "currency": "EUR"}, {"id": "INV-20983", "vendor": "Crane Ltd", "net": 12750, "currency": "GBP"}]}`,
			)
		case "/extract":
			pause(240 * time.Millisecond)
			if limited.Load() {
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(
					w,
					`{"error": {"code": "rate_limit_exceeded", "message": "You are sending requests too quickly: limit 30,000 tokens per minute, used 29,814."}}`,
				)
				return
			}
			fmt.Fprint(w, `{"total": 14686.5, "lines": 17, "confidence": 0.97, "needs_review": false}`)
		case "/payments": // the response is lost
			pause(150 * time.Millisecond)
			panic(http.ErrAbortHandler)
		case "/sync":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		default:
			pause(90 * time.Millisecond)
			fmt.Fprint(w, `{"posted": true, "entry": "L-77102"}`)
		}
	}))
	t.Cleanup(func() { close(hang); world.Close() })
	d.plan(fmt.Sprintf(`
id: invoice-triage
name: Invoice triage
description: Reads the invoices of the night, has large ones approved, posts them to the ledger.
nodes:
  fetch_invoices: {type: http, effect: read, input: {url: "%[1]s/invoices"}}
  extract_totals: {type: http, effect: idempotent, retry: {max_attempts: 3, backoff: [300ms, 600ms]}, input: {method: POST, url: "%[1]s/extract", body: "${output.fetch_invoices.body}"}}
  large: {type: decision}
  review: {type: approval, input: {message: "Post 3 invoices, 14,686.50 EUR, to the ledger?", form: {type: object, properties: {note: {type: string, title: Note for the books}}}}}
  post_ledger: {type: http, effect: idempotent, input: {method: POST, url: "%[1]s/ledger", body: "${output.extract_totals.body}"}}
  tell_finance: {type: log, input: "3 invoices are posted"}
edges:
  - {from: fetch_invoices, to: extract_totals}
  - {from: extract_totals, to: large}
  - {from: large, to: review, condition: "expr: output.extract_totals.body.total > 50000"}
  - {from: large, to: post_ledger, condition: default}
  - {from: review, to: post_ledger}
  - {from: post_ledger, to: tell_finance}
`, world.URL))
	d.plan(fmt.Sprintf(`
id: supplier-payment
name: Supplier payment
nodes:
  pay: {type: http, effect: unsafe, input: {method: POST, url: "%[1]s/payments", body: {invoice: INV-20981, amount: 1840.5, currency: EUR}}}
  book: {type: http, effect: idempotent, input: {method: POST, url: "%[1]s/ledger", body: "${last}"}}
edges: [{from: pay, to: book}]
`, world.URL))
	d.plan(`
id: refund
name: Refund
nodes:
  check: {type: set, input: {order: "4711", customer: Ada Lovelace, amount: 240, reason: "arrived broken"}}
  approve: {type: approval, input: {message: "Refund 240.00 EUR to Ada Lovelace for order 4711?", form: {type: object, properties: {note: {type: string, title: Note for the customer}}}}}
  pay_back: {type: log, input: "240.00 EUR paid back"}
edges: [{from: check, to: approve}, {from: approve, to: pay_back}]
`)
	d.plan(
		fmt.Sprintf(
			"id: crm-sync\nname: CRM sync\nnodes:\n  pull: {type: http, effect: read, input: {url: \"%[1]s/sync\"}}\n"+
				"  push: {type: log, input: done}\nedges: [{from: pull, to: push}]\n",
			world.URL,
		),
	)
	d.plan(
		fmt.Sprintf(
			"id: price-check\nname: Price check\nnodes:\n"+
				"  ask: {type: http, effect: read, input: {url: \"%[1]s/prices\"}}\n"+
				"  compare: {type: calculator, needs: [ask], input: {expression: \"1840.5 * 1.19\"}}\n",
			world.URL,
		),
	)
	var s shop
	for range 3 {
		s.completed = d.run("invoice-triage", `{"night": "2026-03-08"}`)
		d.run("price-check", `null`)
	}
	limited.Store(true)
	for range 4 {
		s.failed = d.run("invoice-triage", `{"night": "2026-03-09"}`)
	}
	s.doubt = d.run("supplier-payment", `{"invoice": "INV-20981"}`)
	s.waiting = d.run("refund", `{"order": "4711"}`)
	for range 2 {
		_, err := d.api.Start(t.Context(), domain.StartRequest{Plan: "crm-sync"})
		must(t, err)
	}
	if s.completed.Status != domain.RunCompleted || s.failed.Status != domain.RunFailed || s.waiting.Status != domain.RunWaiting ||
		s.doubt.WaitReason != domain.WaitInDoubt {
		t.Fatalf(
			"the shop is not as it should be: %s (%s), %s, %s, %s %s",
			s.completed.Status,
			s.completed.Headline,
			s.failed.Status,
			s.waiting.Status,
			s.doubt.Status,
			s.doubt.WaitReason,
		)
	}
	return s
}

// fewColours encodes a picture with its 256 most frequent colors. Pages have few colors, except at
// the edges of letters.
func fewColours(raw []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	bounds, count := img.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, c)
	}
	out, index := image.NewPaletted(bounds, palette), map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, ok := index[c]
			if !ok {
				i = uint8(palette.Index(c)) // a palette has at most 256 colors
				index[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, out); err != nil {
		return nil, fmt.Errorf("write the picture: %w", err)
	}
	return b.Bytes(), nil
}
