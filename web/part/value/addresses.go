package value

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
)

// manyAddresses is the maximum number of addresses of a text that get a copy button.
const manyAddresses = 10

// addressText matches an address in a text, including trailing punctuation.
var addressText = regexp.MustCompile(`\b(?:https?|wss?|ftp)://[^\s"'<>\x60\\⟨]+`)

// Addresses returns the distinct addresses in an untrusted text, in order. Pages never link to
// them, but offer to copy them.
func Addresses(text string) []string {
	if !strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for _, a := range addressText.FindAllString(text, 10*manyAddresses) {
		a = strings.TrimRight(a, ".,;:!?*_|")
		for _, pair := range []string{"()", "[]", "{}"} { // a closing bracket that the address does not open
			if strings.HasSuffix(a, pair[1:]) && !strings.Contains(a, pair[:1]) {
				a = strings.TrimRight(strings.TrimSuffix(a, pair[1:]), ".,;:!?")
			}
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
		if len(out) == manyAddresses {
			break
		}
	}
	return out
}

// addressesOf returns the addresses in the texts of a value. It omits a text that consists of one
// address, because the value has its own copy button.
func addressesOf(n kit.Node) []string {
	var text strings.Builder
	var walk func(kit.Node)
	walk = func(n kit.Node) {
		if list := Addresses(n.Text); len(list) > 1 || len(list) == 1 && (n.At == "" || n.Text != `"`+list[0]+`"`) {
			text.WriteString(n.Text + "\n")
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(n)
	return Addresses(text.String())
}
