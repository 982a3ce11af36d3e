package cli

import "strings"

// bom is a bill of materials in the form of CycloneDX 1.6, which scanners read. It
// says nothing of when it was made: the same binary gives the same one.
type bom struct {
	Format      string         `json:"bomFormat"`
	SpecVersion string         `json:"specVersion"`
	Version     int            `json:"version"`
	Metadata    bomMetadata    `json:"metadata"`
	Components  []bomComponent `json:"components"`
}

type bomMetadata struct {
	Component bomComponent `json:"component"`
}

type bomComponent struct {
	Type       string        `json:"type"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	PURL       string        `json:"purl,omitempty"`
	Properties []bomProperty `json:"properties,omitempty"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// materials is what a binary is made of: Go itself, and every module in it with the
// checksum that go.sum has of it. That one is of a whole module and no hash of a
// file, and therefore a property.
func materials(program string, b build, modules []module) bom {
	goVersion := strings.TrimPrefix(b.Go, "go")
	out := bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: bomMetadata{bomComponent{Type: "application", Name: program, Version: b.Version,
			Properties: []bomProperty{{"kairosd:commit", b.Commit}, {"kairosd:sqlite", b.SQLite}}}},
		Components: []bomComponent{{Type: "library", Name: "stdlib", Version: goVersion, PURL: packageURL("stdlib", goVersion)}}}
	for _, m := range modules {
		out.Components = append(out.Components, bomComponent{Type: "library", Name: m.Path, Version: m.Version, PURL: packageURL(m.Path, m.Version),
			Properties: []bomProperty{{"go.sum", m.Sum}}})
	}
	return out
}

// packageURL names a module as vulnerability databases do.
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
