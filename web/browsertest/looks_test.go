package browsertest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/web/static"
)

// Twelve key states look like their stored pictures. The test renders golden pages with the real
// style sheet and fonts, so that times and ids do not change pixels. The pictures are stored at
// half size. After an intended change, review the differences and run with KAIROS_UPDATE=1.
func TestKeyStatesLookAsTheyLooked(t *testing.T) {
	large(t)
	d := newDaemon(t)
	b := d.tab()
	for _, c := range []struct {
		name, page string
		look
	}{
		{"failed", "failed", look{"light", 1440, "en"}}, {"failed-dark", "failed", look{"dark", 1440, "en"}},
		{"failed-phone", "failed", look{"light", 390, "en"}},
		{"waiting", "waiting", look{"light", 1440, "en"}}, {"graph", "graph", look{"light", 1440, "en"}},
		{"folded-graph", "folded-graph", look{"dark", 1440, "en"}},
		{"loop", "loop", look{"light", 1440, "en"}}, {"state", "state", look{"light", 1440, "en"}},
		{"log", "log", look{"dark", 1440, "en"}},
		{"handoffs", "handoffs", look{"light", 820, "en"}}, {"fork", "fork", look{"light", 1440, "en"}},
		{"hostile", "hostile", look{"dark", 390, "en"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden, err := os.ReadFile(filepath.Join("..", "run", "testdata", "run-"+c.page+".html"))
			must(t, err)
			b.width(c.width)
			b.cookie("theme", c.theme)
			b.open("/help")
			// Golden files start a line with each element. In a log, the line breaks would be
			// visible.
			eval[bool](
				b,
				fmt.Sprintf(
					`(() => { window.stop(); document.querySelector("main").outerHTML = %s; document.querySelector("footer").remove(); scrollTo(0, 0); return true; })()`,
					quoted(strings.NewReplacer(">\n<", "><", "/static/…/", static.Path("")).Replace(string(golden))),
				),
			)
			b.until("the fonts are there", `document.fonts.status === "loaded"`)
			raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			must(t, err)
			img, err := png.Decode(bytes.NewReader(raw))
			must(t, err)
			got, file := half(img), filepath.Join("testdata", "looks", c.name+".png")
			if os.Getenv("KAIROS_UPDATE") != "" {
				var w bytes.Buffer
				must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&w, got))
				small, err := fewColours(w.Bytes())
				must(t, err)
				must(t, os.WriteFile(file, small, 0o600))
			}
			was, err := os.ReadFile(file)
			must(t, err)
			want, err := png.Decode(bytes.NewReader(was))
			must(t, err)
			if share := apart(got, want); share > 0.01 {
				b.keep("look-" + c.name)
				t.Errorf("%.1f%% of the picture is not what %s shows", 100*share, file)
			}
		})
	}
}

// half scales an image to half its size.
func half(src image.Image) image.Image {
	r := src.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, r.Dx()/2, r.Dy()/2))
	for y := range r.Dy() / 2 {
		for x := range r.Dx() / 2 {
			var sum [3]uint32
			for _, p := range []image.Point{{}, {X: 1}, {Y: 1}, {X: 1, Y: 1}} {
				cr, cg, cb, _ := src.At(r.Min.X+2*x+p.X, r.Min.Y+2*y+p.Y).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+cr>>8, sum[1]+cg>>8, sum[2]+cb>>8
			}
			out.Set(x, y, color.RGBA{R: uint8(sum[0] / 4), G: uint8(sum[1] / 4), B: uint8(sum[2] / 4), A: 255}) // mean of four bytes
		}
	}
	return out
}

// apart returns the share of small squares whose mean colors differ by more than antialiasing
// differs between browser builds. It is 1 for images of different sizes.
func apart(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 1
	}
	const side, limit = 8, 20
	mean := func(img image.Image, x0, y0 int) (out [3]int) {
		for y := range side {
			for x := range side {
				r, g, bl, _ := img.At(img.Bounds().Min.X+x0+x, img.Bounds().Min.Y+y0+y).RGBA()
				out[0], out[1], out[2] = out[0]+int(r>>8), out[1]+int(g>>8), out[2]+int(bl>>8)
			}
		}
		return out
	}
	squares, differ := 0, 0
	for y := 0; y+side <= a.Bounds().Dy(); y += side {
		for x := 0; x+side <= a.Bounds().Dx(); x += side {
			squares++
			p, q := mean(a, x, y), mean(b, x, y)
			for i := range p {
				if d := p[i] - q[i]; d > limit*side*side || -d > limit*side*side {
					differ++
					break
				}
			}
		}
	}
	return float64(differ) / float64(squares)
}
