package static

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The colors in the style sheet can be distinguished. Text has a contrast of at least 4.5:1 on
// every background it is used on, and graphics and edges of controls at least 3:1. Any two status
// colors differ by a ΔE2000 of at least 12, also for color-blind readers.
const (
	leastText     = 4.5
	leastGraphic  = 3.0
	leastDistance = 12.0
)

var (
	grounds  = []string{"bg", "panel", "sunken", "sel", "fail-tint", "need-tint", "doubt-tint", "now-tint", "ok-tint"}
	texts    = []string{"ink", "ink2", "ink3", "fail", "need", "doubt", "now", "ok"}
	graphics = []string{"now-fill", "fail-fill", "need-fill", "doubt-fill", "ok-fill", "idle", "line2"}
	statuses = []string{"now-fill", "fail-fill", "need-fill", "doubt-fill", "ok-fill", "idle"}
)

// rgb is an sRGB color with components from 0 to 1.
type rgb [3]float64

// themes parses the tokens of the light theme and of both variants of the dark theme, which follow
// the system setting and the reader's choice.
func themes(t *testing.T) map[string]map[string]rgb {
	t.Helper()
	b, err := files.ReadFile("k.css")
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`--([a-z0-9-]+): ?#([0-9a-f]{3}|[0-9a-f]{6})\b`)
	out := map[string]map[string]rgb{}
	for name, selector := range map[string]string{"light": ":root{", "dark by the system": ":root:not([data-theme=light]){",
		"dark by choice": "[data-theme=dark]{"} {
		_, block, ok := strings.Cut(string(b), selector)
		if !ok {
			t.Fatalf("the style sheet has no %s", selector)
		}
		block, _, _ = strings.Cut(block, "}")
		out[name] = map[string]rgb{}
		for _, m := range token.FindAllStringSubmatch(block, -1) {
			out[name][m[1]] = hex3(t, m[2])
		}
		for _, want := range slices.Concat(grounds, texts, graphics) {
			if _, ok := out[name][want]; !ok {
				t.Fatalf("%s: no colour --%s", name, want)
			}
		}
	}
	return out
}

func hex3(t *testing.T, s string) rgb {
	t.Helper()
	if len(s) == 3 {
		s = string([]byte{s[0], s[0], s[1], s[1], s[2], s[2]})
	}
	var c rgb
	for i := range c {
		v, err := strconv.ParseUint(s[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c[i] = float64(v) / 255
	}
	return c
}

func TestContrast(t *testing.T) {
	t.Parallel()
	for theme, c := range themes(t) {
		for use, limit := range map[string]float64{"text": leastText, "graphics": leastGraphic} {
			worst, at := math.Inf(1), ""
			for _, fore := range map[string][]string{"text": texts, "graphics": graphics}[use] {
				for _, ground := range grounds {
					if k := contrast(c[fore], c[ground]); k < worst {
						worst, at = k, fore+" on "+ground
					}
				}
			}
			t.Logf("%-20s %-9s %5.2f:1 at least (%s)", theme, use, worst, at)
			if worst < limit {
				t.Errorf("%s: the contrast of %s is %.2f:1, less than %g:1", theme, at, worst, limit)
			}
		}
		for _, button := range []string{"ink", "fail"} { // text on filled buttons, chips, and icons
			if k := contrast(c["bg"], c[button]); k < leastText {
				t.Errorf("%s: text on %s has a contrast of %.2f:1", theme, button, k)
			}
		}
	}
}

// sights simulates kinds of color vision on linear RGB, with the matrices of Machado, Oliveira, and
// Fernandes (2009) for dichromacy.
var sights = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func TestStatusesAreDistinct(t *testing.T) {
	t.Parallel()
	for theme, c := range themes(t) {
		for sight, m := range sights {
			worst, at := math.Inf(1), ""
			for i, a := range statuses {
				for _, b := range statuses[i+1:] {
					if d := distance(lab(seen(c[a], m)), lab(seen(c[b], m))); d < worst {
						worst, at = d, a+" and "+b
					}
				}
			}
			t.Logf("%-20s %-13s ΔE2000 %5.1f at least (%s)", theme, sight, worst, at)
			if worst < leastDistance {
				t.Errorf("%s, %s: %s differ by a ΔE2000 of %.1f, less than %g", theme, sight, at, worst, leastDistance)
			}
		}
	}
}

// The dark theme that a reader chooses equals the dark theme of the system setting.
func TestBothDarksAreOne(t *testing.T) {
	t.Parallel()
	all := themes(t)
	if a, b := fmt.Sprint(all["dark by the system"]), fmt.Sprint(all["dark by choice"]); a != b {
		t.Errorf("they differ:\n%s\n%s", a, b)
	}
}

// The style sheet uses six font sizes and three weights.
func TestTypeHasSixSizesAndThreeWeights(t *testing.T) {
	t.Parallel()
	b, err := files.ReadFile("k.css")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]bool{".82rem": true, ".93rem": true, "1rem": true, "1.14rem": true, "1.5rem": true, "1.86rem": true}
	root := map[string]bool{"87.5%": true, "93.75%": true, "inherit": true}
	face := regexp.MustCompile(`@font-face\{[^}]*\}`)
	css := face.ReplaceAllString(string(b), "")
	for _, m := range regexp.MustCompile(`(?:font-size:|font:(?:[\w-]+ )*)([\d.]+(?:rem|em|px|%)|inherit)`).FindAllStringSubmatch(css, -1) {
		if !sizes[m[1]] && !root[m[1]] {
			t.Errorf("unknown font size: %s", m[0])
		}
	}
	for _, m := range regexp.MustCompile(`(?:font-weight:|font:)(\d{3}|bold\w*)\b`).FindAllStringSubmatch(css, -1) {
		if m[1] != "400" && m[1] != "500" && m[1] != "600" {
			t.Errorf("unknown font weight: %s", m[0])
		}
	}
}

// Widths in media queries are in em, so that a browser with larger text gets the layout for narrow
// windows. With px, the wide layout would remain, and its text would not fit.
func TestBreakpointsFollowTheSizeOfText(t *testing.T) {
	t.Parallel()
	b, err := files.ReadFile("k.css")
	if err != nil {
		t.Fatal(err)
	}
	queries := regexp.MustCompile(`@media[^{]*width[^{]*`).FindAllString(string(b), -1)
	if len(queries) == 0 {
		t.Fatal("no media query has a width")
	}
	for _, q := range queries {
		if strings.Contains(q, "px") {
			t.Errorf("the width of %q is in px: divide by 16 and write em", q)
		}
	}
}

// The color formulas return the published reference values.
func TestColourFormulas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b [3]float64
		want float64
	}{
		{[3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}, 2.0425},
		{[3]float64{50, 2.5, 0}, [3]float64{73, 25, -18}, 27.1492},
		{[3]float64{50, -1, 2}, [3]float64{50, 0, 0}, 2.3669},
		{[3]float64{60.2574, -34.0099, 36.2677}, [3]float64{60.4626, -34.1751, 39.4387}, 1.2644},
		{[3]float64{22.7233, 20.0904, -46.6940}, [3]float64{23.0331, 14.9730, -42.5619}, 2.0373},
	} {
		if got := distance(c.a, c.b); math.Abs(got-c.want) > 0.00006 {
			t.Errorf("ΔE2000 of %v and %v is %.4f, not %.4f", c.a, c.b, got, c.want)
		}
	}
	if k := contrast(rgb{}, rgb{1, 1, 1}); math.Abs(k-21) > 0.001 {
		t.Errorf("black on white has a contrast of %g:1", k)
	}
	if l := lab(rgb{1, 1, 1}); math.Abs(l[0]-100) > 0.01 || math.Abs(l[1]) > 0.02 || math.Abs(l[2]) > 0.02 {
		t.Errorf("white is %v", l)
	}
}

// linear converts an sRGB component to linear light.
func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func encoded(v float64) float64 {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		return 12.92 * v
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// contrast returns the contrast ratio of WCAG 2.2.
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2]) + 0.05 }
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

// seen returns a color as a person with the given color vision sees it.
func seen(c rgb, sight [3][3]float64) rgb {
	var out rgb
	for i, row := range sight {
		for j, w := range row {
			out[i] += w * linear(c[j])
		}
		out[i] = encoded(out[i])
	}
	return out
}

// lab converts a color to CIELAB with the white point D65.
func lab(c rgb) [3]float64 {
	r, g, b := linear(c[0]), linear(c[1]), linear(c[2])
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124564*r + 0.3575761*g + 0.1804375*b) / 0.95047)
	y := f(0.2126729*r + 0.7151522*g + 0.0721750*b)
	z := f((0.0193339*r + 0.1191920*g + 0.9503041*b) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// distance returns the color difference CIEDE2000.
func distance(p, q [3]float64) float64 {
	const turn = 2 * math.Pi
	rad := func(deg float64) float64 { return deg * math.Pi / 180 }
	hue := func(b, a float64) float64 {
		if a == 0 && b == 0 {
			return 0
		}
		return math.Mod(math.Atan2(b, a)+turn, turn)
	}
	pow7 := func(v float64) float64 { return math.Pow(v, 7) }
	mean := (math.Hypot(p[1], p[2]) + math.Hypot(q[1], q[2])) / 2
	g := 0.5 * (1 - math.Sqrt(pow7(mean)/(pow7(mean)+pow7(25))))
	a1, a2 := p[1]*(1+g), q[1]*(1+g)
	c1, c2 := math.Hypot(a1, p[2]), math.Hypot(a2, q[2])
	h1, h2 := hue(p[2], a1), hue(q[2], a2)
	dh, h := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, h = 0, h1+h2
	case math.Abs(h1-h2) > math.Pi:
		if dh > 0 {
			dh -= turn
		} else {
			dh += turn
		}
		if h1+h2 < turn {
			h += math.Pi
		} else {
			h -= math.Pi
		}
	}
	dL, dC, dH := q[0]-p[0], c2-c1, 2*math.Sqrt(c1*c2)*math.Sin(dh/2)
	l, c := (p[0]+q[0])/2, (c1+c2)/2
	tt := 1 - 0.17*math.Cos(h-rad(30)) + 0.24*math.Cos(2*h) + 0.32*math.Cos(3*h+rad(6)) - 0.20*math.Cos(4*h-rad(63))
	sL := 1 + 0.015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50))
	sC, sH := 1+0.045*c, 1+0.015*c*tt
	turned := rad(30) * math.Exp(-math.Pow((h*180/math.Pi-275)/25, 2))
	rT := -2 * math.Sqrt(pow7(c)/(pow7(c)+pow7(25))) * math.Sin(2*turned)
	return math.Sqrt(math.Pow(dL/sL, 2) + math.Pow(dC/sC, 2) + math.Pow(dH/sH, 2) + rT*(dC/sC)*(dH/sH))
}
