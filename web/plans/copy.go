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

// renamed returns a document with its id replaced, so that a copy never becomes a version of the
// original.
func renamed(source, id string) string {
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		return renamedJSON(source, id)
	}
	if !idLine.MatchString(source) {
		return "id: " + id + "\n" + source
	}
	return idLine.ReplaceAllLiteralString(source, "id: "+id)
}

// renamedJSON replaces or inserts the id of a JSON document. It returns invalid JSON unchanged,
// because the editor reports the problem.
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
