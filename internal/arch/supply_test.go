package arch

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
)

// assets are third-party files that a browser runs, as their authors released them.
var assets = map[string]string{
	"htmx.min.js":          "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
	"idiomorph-ext.min.js": "5811b9a7eda14878b7dab4378bf60432e1bb6f11fcfb970cc26540642650181e",
}

// S30: the dependencies are pinned. Every module has an exact version and a checksum, none is
// replaced by another, and the third-party scripts are the reviewed ones.
func TestDependenciesArePinned(t *testing.T) {
	t.Parallel()
	for name, want := range assets {
		b, err := os.ReadFile("../../web/static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not the file that was reviewed: %x", name, sum)
		}
	}
	required := regexp.MustCompile(`(?m)^\s*(?:require )?([a-z0-9.]+\.[a-z]+/\S+|[a-z]+\.[a-z]+/?\S*) (v\S+)`)
	for _, dir := range []string{"../../", "../../tools/", "../../tools/release/"} {
		mod, err := os.ReadFile(dir + "go.mod")
		if err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile(dir + "go.sum")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(mod)) {
			if strings.HasPrefix(strings.TrimSpace(line), "replace ") && !strings.Contains(line, "=> ..") {
				t.Errorf("%sgo.mod: %s", dir, line)
			}
		}
		list := required.FindAllStringSubmatch(string(mod), -1)
		if len(list) < 10 {
			t.Errorf("%sgo.mod: only %d modules were found", dir, len(list))
		}
		for _, m := range list {
			if m[1] == "github.com/kairosd/kairosd" { // this module, as used by the tools
				continue
			}
			if !strings.Contains(string(sums), m[1]+" "+m[2]+" h1:") && !strings.Contains(string(sums), m[1]+" "+m[2]+"/go.mod h1:") {
				t.Errorf("%sgo.sum has no checksum of %s %s", dir, m[1], m[2])
			}
		}
	}
}
