package engine

import (
	"fmt"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// A dry run walks a plan and changes nothing. Steps that compute or only read run
// as usual, so an HTTP GET is sent; offline, steps that read are left undone as
// well, and nothing is sent. A step that might change something, calls a model, or
// waits completes with an output of the form that it would have, and its row names
// the call. Reruns, forks, and children of a dry run are dry in the same way.

// draftPrefix begins the keys of plans that hold what was tried and not saved.
const draftPrefix = "draft-"

// draftKey is the key under which a document is tried that would be saved under
// another.
func draftKey(id string) string {
	const longest = 128
	return draftPrefix + id[:min(len(id), longest-len(draftPrefix))]
}

// withKey is a document under another id, as JSON.
func withKey(doc *planner.Document, key string) ([]byte, error) {
	v, err := jsonvalue.Decode(doc.Canonical())
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the plan is not an object")
	}
	m["id"] = key
	return jsonvalue.Encode(m)
}

// dryLabel marks runs of what was not saved.
var dryLabel = map[string]string{"draft": "yes"}
