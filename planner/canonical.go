package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// seal computes the canonical form, the hash, and the id of a document without
// one.
func (d *Document) seal() {
	canonical, err := jsonvalue.Encode(canonicalPlan(d.tree))
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
func canonicalPlan(t *tree) any {
	return canonicalObject(t, func(key string, v *tree) any {
		switch {
		case (key == "nodes" || key == "finally") && v.kind == treeMap:
			m := make(map[string]any, len(v.keys))
			for i, k := range v.keys {
				node := canonicalNode(v.items[i])
				if o, ok := node.(map[string]any); ok && o["id"] == k.text {
					delete(o, "id") // the default value, written explicitly
				}
				m[k.text] = node
			}
			return m
		case (key == "edges" || key == "steps" || key == "finally") && v.kind == treeList:
			list := make([]any, len(v.items))
			for i, e := range v.items {
				list[i] = canonicalNode(e)
			}
			return list
		case key == "defaults" || key == "limits" || key == "concurrency" || key == "schedule":
			return canonicalNode(v)
		}
		return canonicalValue(v)
	})
}

func canonicalNode(t *tree) any {
	return canonicalObject(t, func(key string, v *tree) any {
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
func canonicalObject(t *tree, field func(string, *tree) any) any {
	if t.kind != treeMap {
		return canonicalValue(t)
	}
	m := make(map[string]any, len(t.keys))
	for i, k := range t.keys {
		if v := t.items[i]; !isExtension(k.text) && v.kind != treeNull {
			m[k.text] = field(k.text, v)
		}
	}
	return m
}

func canonicalValue(t *tree) any {
	switch t.kind {
	case treeNumber:
		return json.Number(jsonvalue.PlainNumber(t.text))
	case treeList:
		list := make([]any, len(t.items))
		for i, e := range t.items {
			list[i] = canonicalValue(e)
		}
		return list
	case treeMap:
		m := make(map[string]any, len(t.keys))
		for i, k := range t.keys {
			m[k.text] = canonicalValue(t.items[i])
		}
		return m
	}
	return t.value()
}
