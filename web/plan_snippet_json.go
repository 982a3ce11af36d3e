package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// errNoPlanYet is a JSON text to which nothing can be added.
var errNoPlanYet = domain.Errorf(domain.CodeInvalid, "the text is no JSON object yet").Suggest("mend it first: what is wrong stands beside it")

// jsonPart is where the value of a top-level key of a JSON text stands.
type jsonPart struct {
	open  byte // '{' or '[', or another byte that the value begins with
	start int  // its place
	close int  // place of what closes it
	empty bool
	ids   map[string]bool // of the steps in it
}

// addJSON puts a step of a tool or an agent behind the last one of a JSON text. Not a
// byte of what is there changes but the comma that is needed.
func addJSON(source, kind, name string, schema any) (string, error) {
	parts, whole, err := jsonParts(source)
	if err != nil {
		return source, errNoPlanYet
	}
	at, isGraph := parts["nodes"]
	asList := false
	if !isGraph {
		at, asList = parts["steps"]
	}
	if isGraph && at.open != '{' || asList && at.open != '[' {
		return source, domain.Errorf(domain.CodeInvalid, "nodes is no object, or steps no list").Suggest("mend it first")
	}
	id, step, err := stepJSON(kind, name, schema, asList, at.ids)
	if err != nil {
		return source, err
	}
	if !isGraph && !asList { // the first step of the plan
		if step, err = json.Marshal(map[string]json.RawMessage{id: step}); err != nil {
			return source, err
		}
		return insertJSON(source, whole, "nodes", step), nil
	}
	if asList {
		id = ""
	}
	return insertJSON(source, at, id, step), nil
}

// renamedJSON gives a JSON text another id; what cannot be read stays as it is, and is
// said to be wrong beside it.
func renamedJSON(source, id string) string {
	parts, whole, err := jsonParts(source)
	if err != nil {
		return source
	}
	if at, ok := parts["id"]; ok {
		return source[:at.start] + strconv.Quote(id) + source[at.close+1:]
	}
	return insertJSON(source, whole, "id", json.RawMessage(strconv.Quote(id)))
}

// jsonParts finds the parts of a JSON object, and the object itself.
func jsonParts(source string) (parts map[string]jsonPart, whole jsonPart, err error) {
	dec := json.NewDecoder(strings.NewReader(source))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, whole, errNoPlanYet
	}
	parts = map[string]jsonPart{}
	whole = jsonPart{open: '{', empty: true}
	for dec.More() {
		whole.empty = false
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, whole, errNoPlanYet
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, whole, err
		}
		if key != "nodes" && key != "steps" && key != "id" {
			continue
		}
		end := int(dec.InputOffset())
		part := jsonPart{open: value[0], start: end - len(value), close: end - 1}
		if part.open == '{' || part.open == '[' {
			part.empty, part.ids = len(bytes.TrimSpace(value[1:len(value)-1])) == 0, idsOf(value)
		}
		parts[key] = part
	}
	if _, err := dec.Token(); err != nil {
		return nil, whole, err
	}
	whole.close = int(dec.InputOffset()) - 1
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, whole, errNoPlanYet
	}
	return parts, whole, nil
}

// idsOf are the ids of the steps in an object or a list.
func idsOf(value json.RawMessage) map[string]bool {
	var list []struct{ ID string }
	out := map[string]bool{}
	if json.Unmarshal(value, &list) == nil {
		for _, s := range list {
			out[s.ID] = true
		}
		return out
	}
	var nodes map[string]json.RawMessage
	if json.Unmarshal(value, &nodes) != nil {
		return out
	}
	for id := range nodes {
		out[id] = true
	}
	return out
}

// stepJSON is a step with an id that is free, and the arguments that its tool requires.
func stepJSON(kind, name string, schema any, asList bool, taken map[string]bool) (id string, step json.RawMessage, err error) {
	base := strings.Trim(notInID.ReplaceAllString(name, "_"), "_")
	id = base
	for n := 2; taken[id]; n++ {
		id = base + "_" + strconv.Itoa(n)
	}
	var input map[string]json.RawMessage
	if props, required, _ := properties(schema); kind == "tool" && props != nil {
		input = map[string]json.RawMessage{}
		for _, arg := range required {
			p, _ := props[arg].(map[string]any)
			input[arg] = json.RawMessage(exampleOf(p))
		}
	}
	var v any
	switch {
	case asList && kind == "tool":
		v = struct {
			ID     string                     `json:"id"`
			Tool   string                     `json:"tool"`
			Params map[string]json.RawMessage `json:"params,omitempty"`
		}{id, name, input}
	case asList:
		v = struct {
			ID    string `json:"id"`
			Agent string `json:"agentId"`
			Task  string `json:"task"`
		}{id, name, ""}
	case kind == "tool":
		v = struct {
			Type  string                     `json:"type"`
			Tool  string                     `json:"tool"`
			Input map[string]json.RawMessage `json:"input,omitempty"`
		}{"tool", name, input}
	default:
		v = struct {
			Type  string `json:"type"`
			Agent string `json:"agent"`
			Input string `json:"input"`
		}{"agent", name, "${last}"}
	}
	step, err = json.Marshal(v)
	return id, step, err
}

// insertJSON adds an element at the end of a part: on lines of its own, indented as
// what is there, if the part or what it stands in is written so.
func insertJSON(source string, at jsonPart, key string, value json.RawMessage) string {
	before, after := strings.TrimRight(source[:at.close], " \t\r\n"), source[at.close:]
	comma := ","
	if at.empty {
		comma = ""
	}
	label := ""
	if key != "" {
		label = strconv.Quote(key) + ": "
	}
	if !strings.Contains(strings.TrimSpace(source), "\n") {
		if comma != "" {
			comma = ", "
		}
		return before + comma + label + string(value) + after
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	outer := line[:len(line)-len(strings.TrimLeft(line, " \t"))] // of the last element, or of what opens the part
	inner := outer
	if gap := source[len(before):at.close]; strings.Contains(gap, "\n") {
		outer = gap[strings.LastIndexByte(gap, '\n')+1:]
	}
	if at.empty || inner == outer {
		inner = outer + "  "
	}
	var text bytes.Buffer
	if json.Indent(&text, value, inner, "  ") != nil {
		text.Reset()
		text.Write(value)
	}
	return before + comma + "\n" + inner + label + text.String() + "\n" + outer + after
}
