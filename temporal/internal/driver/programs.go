package driver

import (
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Programs compiles versions and keeps them by hash and profile. It is safe for concurrent use.
type Programs struct {
	// Catalog returns the catalog of the configuration. Nil compiles as if everything that a plan names existed, so
	// that the result does not depend on a configuration.
	Catalog func() *planner.Catalog

	mu    sync.Mutex
	known map[domain.ProgramRef]*runstate.Compiled
}

// maxPrograms is the number of compiled versions that Programs keeps.
const maxPrograms = 1000

// Get compiles a version with a profile, or as written if it does not declare the profile. The result depends only on
// these and on the catalog.
func (p *Programs) Get(v domain.Version, profile string) (*runstate.Compiled, error) {
	ref := domain.ProgramRef{Hash: v.Hash, Profile: profile}
	p.mu.Lock()
	c := p.known[ref]
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if v.Semantics > walk.Semantics {
		return nil, domain.Errorf(domain.CodeUnavailable, "plan %s version %d was written for a newer kairosd (semantics %d)",
			v.PlanKey, v.Number, v.Semantics).Suggest("upgrade the workers")
	}
	doc, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)), planner.WithLenientRules(),
		planner.WithSemantics(v.Semantics), planner.WithProfile(profile))
	if doc == nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "plan %s version %d cannot be read: %w", v.PlanKey, v.Number, problems.Err())
	}
	var catalog *planner.Catalog
	if p.Catalog != nil {
		catalog = p.Catalog()
	}
	program, err := doc.Program(catalog)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "plan %s version %d cannot run on this worker: %w", v.PlanKey, v.Number, err).
			Suggest("check that every tool, agent, and plan that it uses is configured")
	}
	v.Source, v.Canonical = nil, nil
	c = runstate.NewCompiled(program, v)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPrograms {
		p.known = map[domain.ProgramRef]*runstate.Compiled{}
	}
	p.known[ref] = c
	return c, nil
}
