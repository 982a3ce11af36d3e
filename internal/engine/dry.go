package engine

import (
	"fmt"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// A dry run walks a plan without changing anything. Steps that compute or only read run as usual,
// so an HTTP GET is sent. With the option offline, steps that read are skipped too, and nothing is
// sent. A step that might have a side effect, calls a model, or waits completes with an output of
// the expected form, and its row names the call. Reruns, forks, and child runs of a dry run are dry
// runs too.

// draftPrefix is the prefix of the keys of plans that were tried without saving them.
const draftPrefix = "draft-"

// TrialKey returns the key under which an unsaved document is tried.
func TrialKey(id string) string {
	const longest = 128
	return draftPrefix + id[:min(len(id), longest-len(draftPrefix))]
}

// withKey returns a document with another ID as JSON.
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

// dryLabel labels runs of unsaved documents.
var dryLabel = map[string]string{"draft": "yes"}
