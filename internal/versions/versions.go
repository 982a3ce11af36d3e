package versions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store contains the methods that read plans.
type Store interface {
	// Plan finds a plan by id or key, including archived plans. If it does not exist, the error is
	// CodeNotFound.
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// VersionByHash and VersionByNumber return a version with its source.
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Reader reads stored versions and compiles them for the active configuration. It is
// safe for concurrent use.
type Reader struct {
	store    Store
	compiler func() *Compiler
}

// NewReader returns a reader. compiler returns the compiler of the active configuration.
func NewReader(s Store, compiler func() *Compiler) *Reader {
	return &Reader{store: s, compiler: compiler}
}

// Catalog returns the tools, agents, and skills of the active configuration.
func (r *Reader) Catalog() *planner.Catalog { return r.compiler().catalog() }

// CheckPlan validates a document for this server without storing it.
func (r *Reader) CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems) {
	return checkPlan(r.withPlans(r.compiler().catalog()), src, f)
}

// CheckUntrusted validates a stored document whose input other systems send.
func (r *Reader) CheckUntrusted(src []byte) planner.Problems {
	catalog := r.withPlans(r.compiler().catalog())
	if doc, _ := planner.Parse(src); doc != nil && catalog != nil {
		catalog.UntrustedInput = true
		return doc.Check(catalog)
	}
	return nil
}

// withPlans returns a catalog with the stored plans.
func (r *Reader) withPlans(catalog *planner.Catalog) *planner.Catalog {
	if catalog == nil {
		return nil
	}
	c := *catalog
	c.Plan = func(name, profile string) (planner.PlanInfo, bool) {
		hash, err := r.Resolve(context.Background(), name)
		if err != nil { // unknown, or it cannot be read now: a run reports that
			return planner.PlanInfo{}, domain.CodeOf(err) != domain.CodeNotFound
		}
		p, err := r.CompileReadOnly(context.Background(), domain.ProgramRef{Hash: hash, Profile: profile})
		if err != nil {
			return planner.PlanInfo{}, true
		}
		return planner.PlanInfo{Input: p.InputSchema, Program: p.Program}, true
	}
	return &c
}

func checkPlan(catalog *planner.Catalog, src []byte, f planner.Format) (*planner.Document, planner.Problems) {
	doc, _ := planner.Parse(src, planner.WithFormat(f))
	if doc == nil {
		// An author who corrects the document also needs to see what this server lacks.
		_, problems := planner.Parse(src, planner.WithFormat(f), planner.WithCatalog(catalog))
		return nil, problems
	}
	return doc, doc.Check(catalog)
}

// NewPlan is a valid document that can be stored. The caller sets Base, Reason, and the author.
type NewPlan struct {
	domain.NewVersion
	doc     *planner.Document
	program *walk.Program
	in      *Compiler
}

// By returns the version of the document by an author.
func (p NewPlan) By(author string) domain.NewVersion {
	v := p.NewVersion
	v.Author, v.Facts = author, factsOf(p.program, v.Canonical, author)
	return v
}

// ReadPlan parses and validates a document that is to be stored. It also returns warnings. If the
// document has errors, the error is CodeInvalid.
func (r *Reader) ReadPlan(src []byte, f planner.Format, origin string) (NewPlan, planner.Problems, error) {
	in := r.compiler()
	doc, problems := checkPlan(r.withPlans(in.catalog()), src, f)
	if err := problems.Err(); err != nil {
		return NewPlan{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	p, err := in.newPlan(doc, origin)
	return p, problems, err
}

// newPlan returns the version of a valid document.
func (c *Compiler) newPlan(doc *planner.Document, origin string) (NewPlan, error) {
	v := domain.NewVersion{Key: doc.ID, Hash: doc.Hash, Kind: string(doc.Kind()), Format: string(doc.Format), Origin: origin,
		Semantics: walk.Semantics, Source: doc.Source, Canonical: doc.Canonical(), ByPerson: origin != OriginPlanner && origin != "replan"}
	if doc.Graph != nil {
		v.Name, v.Description = doc.Graph.Name, doc.Graph.Description
	} else {
		v.Name, v.Description = doc.Steps.Name, doc.Steps.Description
	}
	program, err := doc.Program(c.catalog())
	if err != nil {
		return NewPlan{}, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	if v.Schedule, err = declared(program); err == nil && v.Schedule != nil && !v.ByPerson {
		err = domain.Errorf(domain.CodeInvalid, "a generated plan cannot have a schedule").Suggest("remove schedule from the plan")
	}
	if err == nil && len(program.Start.Expose) > 0 && !v.ByPerson {
		err = domain.Errorf(domain.CodeInvalid, "a generated plan cannot expose itself as a tool").Suggest("remove expose from the plan")
	}
	return NewPlan{v, doc, program, c}, err
}

// KeepPlan caches a plan that was just stored, so that its first run need not read and compile it
// again. Do not call it for known content, because the stored document may differ with the same
// hash.
func (r *Reader) KeepPlan(p NewPlan, stored domain.Version) {
	if compiled, err := p.doc.Program(p.in.catalog()); err == nil {
		p.in.keep(compiled, stored, "")
	}
}

// NewestVersion finds a plan by key or id, including archived plans, with its newest version. If it
// does not exist, the error is CodeNotFound.
func (r *Reader) NewestVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error) {
	p, err := r.store.Plan(ctx, plan)
	if err != nil {
		return p, domain.Version{}, err
	}
	v, err := r.store.VersionByHash(ctx, p.LatestHash)
	return p, v, err
}

// ProposedVersion finds the newest version that a planner made after the plan's current version and
// that was not accepted. If there is none, the error is CodeNotFound.
func (r *Reader) ProposedVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error) {
	p, err := r.store.Plan(ctx, plan)
	if err != nil {
		return p, domain.Version{}, err
	}
	var found domain.Version
	for n := p.Latest + 1; ; n++ {
		v, err := r.store.VersionByNumber(ctx, p.ID, n)
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound && found.Hash != "":
			return p, found, nil
		case err != nil:
			return p, found, err
		case v.Origin == OriginPlanner:
			found = v
		}
	}
}

// Restored returns the change that makes a version the current one of its plan. The caller sets
// Base.
func (r *Reader) Restored(ctx context.Context, v domain.Version, reason string) (domain.RestoredVersion, error) {
	prog, err := r.Compile(ctx, domain.AsWritten(v.Hash))
	if err != nil {
		return domain.RestoredVersion{}, err
	}
	schedule, err := declared(prog.Program)
	return domain.RestoredVersion{PlanID: v.PlanID, Hash: v.Hash, Name: prog.Name, Description: prog.Description,
		Reason: reason, Facts: factsOf(prog.Program, v.Canonical, v.Author), Schedule: schedule}, err
}

// Acceptance returns the change that accepts a version. Nil means that the current version is
// already accepted. It returns CodeConflict if a person made the version. It returns CodeForbidden
// if it would replace a version that a person wrote and the actor may not write plans.
func (r *Reader) Acceptance(ctx context.Context, actor domain.Actor, plan, hash, reason string) (
	domain.Plan, *domain.RestoredVersion, error) {
	p, err := r.store.Plan(ctx, plan)
	if err != nil {
		return p, nil, err
	}
	v, err := r.store.VersionByHash(ctx, hash)
	if err != nil {
		return p, nil, err
	}
	switch current := v.Hash == p.LatestHash; {
	case v.PlanID != p.ID:
		return p, nil, domain.Errorf(domain.CodeNotFound, "plan %s has no such version", p.Key)
	case current && p.Stage != domain.StageDraft:
		return p, nil, nil
	case p.Archived:
		return p, nil, domain.Errorf(domain.CodeConflict, "the plan %s is archived", p.Key)
	case current:
		return p, nil, nil
	case v.Origin != OriginPlanner:
		return p, nil, domain.Errorf(domain.CodeConflict, "v%d of %s is not a draft", v.Number, p.Key).
			Suggest("an author can make it current again: restore it")
	}
	if p.Stage != domain.StageDraft {
		old, err := r.store.VersionByHash(ctx, p.LatestHash)
		if err != nil {
			return p, nil, err
		}
		if err := domain.CheckMayReplace(actor, old); err != nil {
			return p, nil, err
		}
	}
	restored, err := r.Accepted(ctx, p, v, reason)
	return p, &restored, err
}

// Accepted returns the change that makes a planner's version the current one of its plan.
func (r *Reader) Accepted(ctx context.Context, p domain.Plan, v domain.Version, reason string) (domain.RestoredVersion, error) {
	restored, err := r.Restored(ctx, v, reason)
	restored.Base, restored.Accepts = p.LatestHash, true
	return restored, err
}

// OriginPlanner marks versions that a planner made.
const OriginPlanner = "planner"

// factsOf returns the facts of a plan that lists filter by: the tools, agents, and secrets of its
// nodes, its owner, and its labels. The owner is the metadata key owner, or else the author. Other
// metadata become labels.
func factsOf(p *walk.Program, canonical []byte, author string) []domain.PlanFact {
	seen := map[domain.PlanFact]bool{}
	var out []domain.PlanFact
	add := func(kind, value string) {
		f := domain.PlanFact{Kind: kind, Value: value}
		if value != "" && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	walk.EachNode(p, func(_ string, n *walk.ProgramNode) {
		add(domain.FactTool, n.Tool)
		add(domain.FactAgent, n.Agent)
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				add(domain.FactSecret, ref.Secret())
			}
		}
		if u := n.Undo; u != nil {
			add(domain.FactTool, u.Tool)
			add(domain.FactAgent, u.Agent)
			if u.Input != nil {
				for _, ref := range u.Input.References() {
					add(domain.FactSecret, ref.Secret())
				}
			}
		}
	})
	owner := author
	var metadata map[string]any
	if doc, err := jsonvalue.Decode(canonical); err == nil { // a stored document is always readable
		m, _ := doc.(map[string]any)
		metadata, _ = m["metadata"].(map[string]any)
	}
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		switch v := metadata[k].(type) {
		case map[string]any, []any, nil:
		default:
			if k == "owner" {
				owner = jsonvalue.Text(v)
			} else if len(out) < maxFacts {
				add(domain.FactLabel, k+"="+jsonvalue.Text(v))
			}
		}
	}
	add(domain.FactOwner, owner)
	for _, protocol := range p.Start.Expose {
		add(domain.FactExpose, protocol)
	}
	return out
}

// maxFacts is the maximum number of facts of a plan.
const maxFacts = 1000

// Pins maps every plan that plan nodes name to a version. It is called once, when a run is created.
func (r *Reader) Pins(ctx context.Context, p *runstate.Compiled) (map[string]string, error) {
	if !p.HasPlans {
		return nil, nil
	}
	plans := map[string]string{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Type != walk.TypePlan {
			continue
		}
		for _, name := range n.PlanNames() {
			if plans[name] != "" {
				continue
			}
			hash, err := r.Resolve(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("node %q runs plan %q: %w", n.ID, name, err)
			}
			plans[name] = hash
		}
	}
	return plans, nil
}

// Resolve finds the version that `key` or `key@version` currently names.
func (r *Reader) Resolve(ctx context.Context, name string) (string, error) {
	key, number, versioned := strings.Cut(name, "@")
	p, err := r.store.Plan(ctx, key)
	if err != nil {
		return "", err
	}
	if !versioned {
		return p.LatestHash, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return "", domain.Errorf(domain.CodeInvalid, "%q is not a version number", number)
	}
	v, err := r.store.VersionByNumber(ctx, p.ID, n)
	if err != nil {
		return "", err
	}
	return v.Hash, nil
}
