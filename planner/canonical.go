package planner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// seal computes the canonical form, the hash, and the id of a document without
// one.
func (d *Document) seal() {
	canonical, err := jsonvalue.Encode(canonicalPlan(cmp.Or(d.whole, d.tree)))
	if err != nil { // MaxDepth is far below what jsonvalue.Encode accepts
		panic("planner: canonical form: " + err.Error())
	}
	d.canonical = canonical
	sum := sha256.Sum256(canonical)
	d.Hash = hex.EncodeToString(sum[:])
	if d.ID == "" {
		d.ID = "anon-" + d.Hash[:12]
		if d.Graph != nil {
			d.Graph.ID, d.Graph.anonymous = d.ID, d.ID
		} else {
			d.Steps.ID, d.Steps.anonymous = d.ID, d.ID
		}
	}
}

// canonicalPlan drops `x-` keys where the plan language ignores them. Inside inputs, parameters,
// and metadata they are data, and stay.
func canonicalPlan(t *source.Tree) any {
	return canonicalObject(t, func(key string, v *source.Tree) any {
		switch {
		case (key == "nodes" || key == "finally") && v.Kind == source.Map:
			m := make(map[string]any, len(v.Keys))
			for i, k := range v.Keys {
				node := canonicalNode(v.Items[i])
				if o, ok := node.(map[string]any); ok && o["id"] == k.Text {
					delete(o, "id") // the default value, written explicitly
				}
				m[k.Text] = node
			}
			return m
		case (key == "edges" || key == "steps" || key == "finally") && v.Kind == source.List:
			list := make([]any, len(v.Items))
			for i, e := range v.Items {
				list[i] = canonicalNode(e)
			}
			return list
		case key == "defaults" || key == "limits" || key == "concurrency" || key == "schedule":
			return canonicalNode(v)
		}
		return canonicalValue(v)
	})
}

func canonicalNode(t *source.Tree) any {
	return canonicalObject(t, func(key string, v *source.Tree) any {
		switch key {
		case "retry", "condition", "backoff", "undo":
			return canonicalNode(v)
		case "on_error":
			return canonicalRules(v)
		case "do":
			return canonicalPlan(v)
		}
		return canonicalValue(v)
	})
}

// canonicalObject maps the fields of a map. Fields with the value null count as absent and are left
// out.
func canonicalObject(t *source.Tree, field func(string, *source.Tree) any) any {
	if t.Kind != source.Map {
		return canonicalValue(t)
	}
	m := make(map[string]any, len(t.Keys))
	for i, k := range t.Keys {
		if v := t.Items[i]; !isExtension(k.Text) && v.Kind != source.Null {
			m[k.Text] = field(k.Text, v)
		}
	}
	return m
}

func canonicalValue(t *source.Tree) any {
	switch t.Kind {
	case source.Number:
		return json.Number(jsonvalue.PlainNumber(t.Text))
	case source.List:
		list := make([]any, len(t.Items))
		for i, e := range t.Items {
			list[i] = canonicalValue(e)
		}
		return list
	case source.Map:
		m := make(map[string]any, len(t.Keys))
		for i, k := range t.Keys {
			m[k.Text] = canonicalValue(t.Items[i])
		}
		return m
	}
	return t.Value()
}
