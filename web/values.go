package web

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file shows values of any size in little room (UI 3.2.10): trees of a
// bounded number of lines, the beginning of long texts, and where the whole is.

const (
	// treeBytes is up to which length a value is shown as a tree.
	treeBytes = 256 << 10
	// treeLines, treeString and previewChildren bound a tree.
	treeLines       = 200
	treeString      = 2 << 10
	previewChildren = 100
	// previewBytes is what is shown of longer ones.
	previewBytes = 8 << 10
	// copyBytes is up to which length the whole is copied.
	copyBytes = 1 << 20
)

// block shows a JSON value: as a tree, or its beginning, with the whole to
// download.
func block(id, title string, j kairos.RawJSON, raw string) view.Block {
	b := view.Block{ID: id, Title: title, Raw: raw}
	if j == nil {
		b.Text, b.Raw = "—", ""
		return b
	}
	b.Title = fmt.Sprintf("%s · %s · JSON", title, size(len(j)))
	if raw != "" && len(j) <= copyBytes {
		b.CopyURL = raw
	}
	if len(j) > treeBytes && j[0] != '"' {
		return cutBlock(b, string(j))
	}
	v, err := planner.DecodeValue(j)
	if err != nil {
		return cutBlock(b, string(j))
	}
	if s, ok := v.(string); ok {
		b.Title = fmt.Sprintf("%s · %s", title, size(len(j)))
		if kind, ok := packedText(s); ok {
			b.Text = kind
			return b
		}
		return cutBlock(b, s)
	}
	t := tree{lines: treeLines}
	n := t.node("", "", v, 0)
	b.JSON = &n
	if t.cut {
		b.Note = locale.Mark("Not all of it is shown.")
	}
	return b
}

// cutBlock shows a text, or its beginning.
func cutBlock(b view.Block, s string) view.Block {
	short := cut(s, previewBytes)
	b.Text = visible(short)
	if short != s {
		b.Note = locale.Mark("Only its beginning is shown.")
	}
	return b
}

// packedText recognizes data that is no text: data URIs and base64.
func packedText(s string) (kind string, ok bool) {
	if len(s) < 256 {
		return "", false
	}
	if m := dataURI.FindStringSubmatch(s[:min(len(s), 100)]); m != nil {
		return fmt.Sprintf("%s, %s", m[1], size((len(s)-len(m[0]))*3/4)), true
	}
	if len(s)%4 == 0 && base64Text.MatchString(s[:256]) && base64Text.MatchString(strings.TrimRight(s[len(s)-256:], "=")) && !strings.ContainsAny(s, " \n{") && mixed(s[:256]) {
		return "base64, " + size(len(s)*3/4), true
	}
	return "", false
}

var (
	dataURI    = regexp.MustCompile(`^data:([a-z]+/[a-z0-9.+-]+)(?:;[a-z0-9=-]+)*;base64,`)
	base64Text = regexp.MustCompile(`^[A-Za-z0-9+/_-]+$`)
)

// mixed tells base64 from a long word: it has digits and letters of both cases.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz")
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// tree builds the nodes of a value, as many as there are lines for.
type tree struct {
	lines int
	cut   bool
}

func (t *tree) node(key, path string, v any, depth int) view.Node {
	t.lines--
	n := view.Node{Key: visible(cut(key, 100)), Path: visible(cut(path, 300)), Open: depth < 2}
	switch v := v.(type) {
	case map[string]any:
		n.Kind, n.Count = "object", fmt.Sprintf("{ %d }", len(v))
		for i, k := range sorted(v) {
			if i == previewChildren || t.lines <= 0 {
				n.More = fmt.Sprintf("… +%d", len(v)-i)
				t.cut = true
				break
			}
			n.Children = append(n.Children, t.node(k, path+pathStep(k), v[k], depth+1))
		}
	case []any:
		n.Kind, n.Count = "list", fmt.Sprintf("[ %d ]", len(v))
		for i, e := range v {
			if i == previewChildren || t.lines <= 0 {
				n.More = fmt.Sprintf("… +%d", len(v)-i)
				t.cut = true
				break
			}
			n.Children = append(n.Children, t.node(strconv.Itoa(i), path+"["+strconv.Itoa(i)+"]", e, depth+1))
		}
	case string:
		n.Kind = "s"
		if kind, ok := packedText(v); ok {
			n.Kind, n.Text = "w", kind
			break
		}
		short := cut(v, treeString)
		if t.lines -= len(strings.Split(short, "\n")) - 1 + len(short)/100; short != v {
			t.cut = true
			n.More = size(len(v))
		}
		if n.Text = visible(strconv.Quote(short)); strings.Contains(v, "\n") {
			n.Text = visible(short)
		}
	case json.Number:
		n.Kind, n.Text = "n", string(v)
	default:
		n.Kind, n.Text = "w", planner.Text(v)
	}
	return n
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pathStep is a key as a part of the path to a value.
func pathStep(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}
