package value

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
)

// manyAddresses bounds how many addresses of a text have a button of their own.
const manyAddresses = 10

// addressText is an address in a text, with what may only follow it.
var addressText = regexp.MustCompile(`\b(?:https?|wss?|ftp)://[^\s"'<>\x60\\⟨]+`)

// Addresses are the addresses in a text from outside, each once, in order. They are never links: a reader
// copies them.
func Addresses(text string) []string {
	if !strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for _, a := range addressText.FindAllString(text, 10*manyAddresses) {
		a = strings.TrimRight(a, ".,;:!?*_|")
		for _, pair := range []string{"()", "[]", "{}"} { // one that the text, and not the address, opened
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

// addressesOf are the addresses inside the texts of a value that is shown. A text that
// is an address and nothing else is copied by its own button.
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
