package plans

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner"
)

var idLine = regexp.MustCompile(`(?m)^id:.*$`)

// renamed gives a document another id, so that a copy never becomes a version of what it
// was copied from.
func renamed(source, id string) string {
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		return renamedJSON(source, id)
	}
	if !idLine.MatchString(source) {
		return "id: " + id + "\n" + source
	}
	return idLine.ReplaceAllLiteralString(source, "id: "+id)
}

// renamedJSON gives a JSON text another id; what cannot be read stays as it is, and is
// said to be wrong beside it.
func renamedJSON(source, id string) string {
	dec := json.NewDecoder(strings.NewReader(source))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return source
	}
	first, empty := int(dec.InputOffset()), !dec.More()
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return source
		}
		if end := int(dec.InputOffset()); key == "id" {
			return source[:end-len(value)] + strconv.Quote(id) + source[end:]
		}
	}
	rest := source[first:]
	gap := rest[:len(rest)-len(strings.TrimLeft(rest, " \t\r\n"))]
	if empty {
		return source[:first] + gap + `"id": ` + strconv.Quote(id) + rest
	}
	return source[:first] + gap + `"id": ` + strconv.Quote(id) + "," + cmp.Or(gap, " ") + rest[len(gap):]
}
