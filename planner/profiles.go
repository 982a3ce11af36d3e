package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/variants"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// A profile is a variant of a plan. Its settings are merged into the tree of the document before it is decoded, so
// that everything else sees a plan without profiles. The version hash covers the document with all profiles.

// MaxProfiles is the maximum number of profiles of a plan.
const MaxProfiles = variants.MaxProfiles

// WithProfile reads the document with the settings of one profile. An empty name, and one that the document does
// not declare, read it as written. Other profiles are then not checked.
func WithProfile(name string) ParseOption {
	return func(p *parsing) { p.profile, p.only = name, true }
}

// With returns the document with a profile, or nil if it does not declare it. Parse must have read the document
// without [WithProfile].
func (d *Document) With(profile string) *Document {
	for _, v := range d.variants {
		if v.Profile == profile {
			return v
		}
	}
	return nil
}

// variant returns the document with a profile, or nil if it cannot be decoded.
func (d *Document) variant(p variants.Profile, r *reporter) *Document {
	v := &Document{Format: d.Format, Source: d.Source, Profiles: d.Profiles, Profile: p.Name, text: d.text, tree: p.Apply(d.tree),
		whole: d.tree, conditions: d.conditions, schemas: d.schemas, lenient: d.lenient, semantics: d.semantics}
	return v.decode(r)
}

// checkProfiles reports the problems of the document with each of its profiles, unless they are problems of the
// document itself.
func (d *Document) checkProfiles(c *Catalog, r *reporter) {
	if r.errors > 0 {
		return
	}
	own := slices.Clone(r.problems)
	for _, p := range d.declared {
		with := &reporter{lenient: r.lenient}
		v := d.variant(p, with)
		if v != nil {
			v.compile(c, true, with)
			d.variants = append(d.variants, v)
		}
		r.include(p.Name, with.done(), own)
	}
}

// recheckProfiles is checkProfiles of a document that was parsed.
func (d *Document) recheckProfiles(c *Catalog, r *reporter) {
	own := slices.Clone(r.problems)
	for _, v := range d.variants {
		with := &reporter{lenient: r.lenient}
		v.compile(c, false, with)
		r.include(v.Profile, with.done(), own)
	}
}

// include adds the problems of a profile, except those of the document itself.
func (r *reporter) include(profile string, problems, own Problems) {
	for _, p := range problems {
		if slices.ContainsFunc(own, func(o Problem) bool {
			return o.Line == p.Line && o.Column == p.Column && o.Code == p.Code && o.Message.String() == p.Message.String()
		}) {
			continue
		}
		if p.Severity == SeverityError {
			if r.errors++; r.errors > maxProblems {
				continue
			}
		} else if r.warnings++; r.warnings > maxWarnings {
			continue
		}
		p.Message = message.New("profile %s: %s", jsonvalue.Quote(profile), p.Message)
		r.problems = append(r.problems, p)
	}
}
