package versions

import (
	"context"
	"errors"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// maxPrograms is the maximum number of compiled versions in the cache.
const maxPrograms = 256

// Compiler compiles versions against the catalog of one configuration, and caches them
// by hash and profile. It is safe for concurrent use.
type Compiler struct {
	catalog func() *planner.Catalog
	cache   *lru.Cache[domain.ProgramRef, *runstate.Compiled]

	mu sync.Mutex
	// compiling contains a channel for each version that is being compiled. The channel is closed
	// when the compilation ends.
	compiling map[domain.ProgramRef]chan struct{}
}

// NewCompiler returns a compiler with an empty cache.
func NewCompiler(catalog func() *planner.Catalog) *Compiler {
	cache, err := lru.New[domain.ProgramRef, *runstate.Compiled](maxPrograms)
	if err != nil { // the only error is a size below 1
		panic("versions: " + err.Error())
	}
	return &Compiler{catalog: catalog, cache: cache, compiling: map[domain.ProgramRef]chan struct{}{}}
}

// get returns a compiled version, or nil if the caller must compile it and then call over.
// Concurrent callers wait, so that a hundred runs that start together compile their plan once.
func (c *Compiler) get(ctx context.Context, ref domain.ProgramRef) (p *runstate.Compiled, over func(), err error) {
	for {
		c.mu.Lock()
		if p, ok := c.cache.Get(ref); ok {
			c.mu.Unlock()
			return p, nil, nil
		}
		other := c.compiling[ref]
		if other == nil {
			mine := make(chan struct{})
			c.compiling[ref] = mine
			c.mu.Unlock()
			return nil, func() {
				c.mu.Lock()
				delete(c.compiling, ref)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// keep adds a compiled version to the cache.
func (c *Compiler) keep(program *walk.Program, v domain.Version, profile string) *runstate.Compiled {
	v.Source, v.Canonical = nil, nil
	p := runstate.NewCompiled(program, v)
	c.cache.Add(domain.ProgramRef{Hash: v.Hash, Profile: profile}, p)
	return p
}

// Compile compiles a stored version with a profile, or as written if it does not declare the profile. If the
// version names something that is not configured, the error is CodeInvalid.
func (r *Reader) Compile(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error) {
	in := r.compiler()
	p, over, err := in.get(ctx, ref)
	if p != nil || err != nil {
		return p, err
	}
	defer over()
	v, err := r.store.VersionByHash(ctx, ref.Hash)
	if err != nil {
		return nil, err
	}
	if v.Semantics > walk.Semantics {
		return nil, domain.Errorf(domain.CodeUnavailable, "plan %s version %d was written for a newer kairosd (semantics %d)",
			v.PlanKey, v.Number, v.Semantics).Suggest("upgrade kairosd")
	}
	doc, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)), planner.WithLenientRules(),
		planner.WithSemantics(v.Semantics), planner.WithProfile(ref.Profile))
	if doc == nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "stored plan %s version %d cannot be read: %w", v.PlanKey, v.Number, problems.Err())
	}
	compiled, err := doc.Program(in.catalog())
	if err != nil {
		return nil, &incompatibleError{doc, v, domain.Errorf(domain.CodeInvalid,
			"plan %s version %d cannot run on this server: %w", v.PlanKey, v.Number, err).
			Suggest("check that every tool, agent, and plan that it uses is configured")}
	}
	return in.keep(compiled, v, ref.Profile), nil
}

// incompatibleError is the error of a version that names something that is no longer configured.
type incompatibleError struct {
	doc     *planner.Document
	version domain.Version
	cause   *domain.Error
}

func (e *incompatibleError) Error() string { return e.cause.Error() }
func (e *incompatibleError) Unwrap() error { return e.cause }

// CompileReadOnly is Compile for reading. A version that no longer matches this server is compiled
// as if everything it names existed. Its runs can then be read and cancelled while the
// configuration is corrected.
func (r *Reader) CompileReadOnly(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error) {
	p, err := r.Compile(ctx, ref)
	m, ok := errors.AsType[*incompatibleError](err)
	if !ok {
		return p, err
	}
	compiled, readErr := m.doc.Program(nil)
	if readErr != nil {
		return nil, err
	}
	m.version.Source, m.version.Canonical = nil, nil
	return runstate.NewCompiled(compiled, m.version), nil
}

// CheckProfile reports a profile that a version does not declare. An empty name is none.
func (r *Reader) CheckProfile(ctx context.Context, hash, profile string) error {
	if profile == "" {
		return nil
	}
	p, err := r.CompileReadOnly(ctx, domain.AsWritten(hash))
	if err != nil || slices.Contains(p.Start.Profiles, profile) {
		return err
	}
	return domain.ProfileError(profile, p.Start.Profiles)
}

// Program returns a stored version, compiled for reading; see CompileReadOnly.
func (r *Reader) Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error) {
	p, err := r.CompileReadOnly(ctx, ref)
	if err != nil {
		return nil, err
	}
	return p.Program, nil
}
