package versions

import (
	"context"
	"errors"
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
// by hash. It is safe for concurrent use.
type Compiler struct {
	catalog func() *planner.Catalog
	cache   *lru.Cache[string, *runstate.Compiled]

	mu sync.Mutex
	// compiling contains a channel for each version that is being compiled. The channel is closed
	// when the compilation ends.
	compiling map[string]chan struct{}
}

// NewCompiler returns a compiler with an empty cache.
func NewCompiler(catalog func() *planner.Catalog) *Compiler {
	cache, err := lru.New[string, *runstate.Compiled](maxPrograms)
	if err != nil { // the only error is a size below 1
		panic("versions: " + err.Error())
	}
	return &Compiler{catalog: catalog, cache: cache, compiling: map[string]chan struct{}{}}
}

// get returns a compiled version, or nil if the caller must compile it and then call over.
// Concurrent callers wait, so that a hundred runs that start together compile their plan once.
func (c *Compiler) get(ctx context.Context, hash string) (p *runstate.Compiled, over func(), err error) {
	for {
		c.mu.Lock()
		if p, ok := c.cache.Get(hash); ok {
			c.mu.Unlock()
			return p, nil, nil
		}
		other := c.compiling[hash]
		if other == nil {
			mine := make(chan struct{})
			c.compiling[hash] = mine
			c.mu.Unlock()
			return nil, func() {
				c.mu.Lock()
				delete(c.compiling, hash)
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
func (c *Compiler) keep(program *walk.Program, v domain.Version) *runstate.Compiled {
	v.Source, v.Canonical = nil, nil
	p := runstate.NewCompiled(program, v)
	c.cache.Add(v.Hash, p)
	return p
}

// Compile compiles a stored version. If the version names something that is not configured, the
// error is CodeInvalid.
func (r *Reader) Compile(ctx context.Context, hash string) (*runstate.Compiled, error) {
	in := r.compiler()
	p, over, err := in.get(ctx, hash)
	if p != nil || err != nil {
		return p, err
	}
	defer over()
	v, err := r.store.VersionByHash(ctx, hash)
	if err != nil {
		return nil, err
	}
	if v.Semantics > walk.Semantics {
		return nil, domain.Errorf(domain.CodeUnavailable, "plan %s version %d was written for a newer kairosd (semantics %d)",
			v.PlanKey, v.Number, v.Semantics).Suggest("upgrade kairosd")
	}
	doc, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)), planner.WithLenientRules(),
		planner.WithSemantics(v.Semantics))
	if doc == nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "stored plan %s version %d cannot be read: %w", v.PlanKey, v.Number, problems.Err())
	}
	compiled, err := doc.Program(in.catalog())
	if err != nil {
		return nil, &incompatibleError{doc, v, domain.Errorf(domain.CodeInvalid,
			"plan %s version %d cannot run on this server: %w", v.PlanKey, v.Number, err).
			Suggest("check that every tool, agent, and plan that it uses is configured")}
	}
	return in.keep(compiled, v), nil
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
func (r *Reader) CompileReadOnly(ctx context.Context, hash string) (*runstate.Compiled, error) {
	p, err := r.Compile(ctx, hash)
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

// Program returns a stored version, compiled for reading; see CompileReadOnly.
func (r *Reader) Program(ctx context.Context, hash string) (*walk.Program, error) {
	p, err := r.CompileReadOnly(ctx, hash)
	if err != nil {
		return nil, err
	}
	return p.Program, nil
}
