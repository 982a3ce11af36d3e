package planfile

import "github.com/kairosd/kairosd/planner"

// Checked is a plan file with its document, which is nil if it has errors in itself, and its problems.
type Checked struct {
	File
	Doc      *planner.Document
	Problems planner.Problems
}

// Check validates linked files. Each may use the plans of those before it. A nil catalog checks no names.
func Check(catalog *planner.Catalog, files []File) []Checked {
	docs := map[string]*planner.Document{}
	with := withFiles(catalog, docs)
	out := make([]Checked, len(files))
	for i, f := range files {
		doc, _ := planner.Parse(f.Linked, planner.WithFormat(f.Format))
		var problems planner.Problems
		if doc != nil {
			docs[f.Name] = doc
			problems = doc.Check(with)
		} else { // also report what the server lacks
			_, problems = planner.Parse(f.Linked, planner.WithFormat(f.Format), planner.WithCatalog(with))
		}
		out[i] = Checked{f, doc, f.Problems(problems)}
	}
	return out
}

// withFiles returns a catalog that also has the plans of files.
func withFiles(catalog *planner.Catalog, docs map[string]*planner.Document) *planner.Catalog {
	if catalog == nil {
		return nil
	}
	c := *catalog
	stored := c.Plan
	c.Plan = func(name, profile string) (planner.PlanInfo, bool) {
		doc := docs[name]
		switch {
		case doc == nil && stored == nil:
			return planner.PlanInfo{}, true
		case doc == nil:
			return stored(name, profile)
		case profile != "" && doc.With(profile) != nil:
			doc = doc.With(profile)
		}
		p, err := doc.Program(&c)
		if err != nil { // its own check reports that
			return planner.PlanInfo{}, true
		}
		return planner.PlanInfo{Input: p.InputSchema, Program: p}, true
	}
	return &c
}
