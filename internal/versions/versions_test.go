package versions_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// counted is a store that counts reads of versions.
type counted struct {
	*store.Store
	reads atomic.Int64
}

func (c *counted) VersionByHash(ctx context.Context, hash string) (domain.Version, error) {
	c.reads.Add(1)
	return c.Store.VersionByHash(ctx, hash)
}

// reader returns a reader of an empty store, for a configuration with the given tools.
func reader(t *testing.T, tools ...string) (*versions.Reader, *counted) {
	t.Helper()
	catalog := &planner.Catalog{Tools: map[string]planner.ToolInfo{}}
	for _, name := range tools {
		catalog.Tools[name] = planner.ToolInfo{Effect: walk.EffectRead}
	}
	s := &counted{Store: storetest.Open(t)}
	compiler := versions.NewCompiler(func() *planner.Catalog { return catalog })
	return versions.NewReader(s, func() *versions.Compiler { return compiler }), s
}

// save stores a document, and returns its version.
func save(t *testing.T, r *versions.Reader, s *counted, src, origin string) domain.Version {
	t.Helper()
	p, _, err := r.ReadPlan([]byte(src), planner.FormatYAML, origin)
	if err != nil {
		t.Fatal(err)
	}
	_, v, _, err := s.PutVersion(t.Context(), p.By("ana"), domain.System)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A hundred runs that start together compile their plan once.
func TestAVersionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	r, s := reader(t)
	v := save(t, r, s, "id: p\nnodes: {a: {type: set, input: 1}}\n", "upload")
	programs := make([]*runstate.Compiled, 100)
	var wg sync.WaitGroup
	for i := range programs {
		wg.Go(func() {
			p, err := r.Compile(t.Context(), domain.AsWritten(v.Hash))
			if err != nil {
				t.Error(err)
			}
			programs[i] = p
		})
	}
	wg.Wait()
	for _, p := range programs {
		if p != programs[0] {
			t.Fatal("one version was compiled to two programs")
		}
	}
	if n := s.reads.Load(); n != 1 {
		t.Errorf("the version was read %d times", n)
	}
}

// A version whose tool is no longer configured cannot run, but its runs can still be read.
func TestAVersionWithoutItsToolIsReadOnly(t *testing.T) {
	t.Parallel()
	before, s := reader(t, "mail")
	v := save(t, before, s, "id: p\nnodes: {a: {type: mail, input: {}}}\n", "upload")
	catalog := &planner.Catalog{}
	compiler := versions.NewCompiler(func() *planner.Catalog { return catalog })
	after := versions.NewReader(s, func() *versions.Compiler { return compiler })
	_, err := after.Compile(t.Context(), domain.AsWritten(v.Hash))
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "mail") {
		t.Errorf("compile: %v", err)
	}
	p, err := after.CompileReadOnly(t.Context(), domain.AsWritten(v.Hash))
	if err != nil || len(p.Nodes) != 1 || p.Nodes[0].TypeName != "mail" {
		t.Errorf("read only: %+v, %v", p, err)
	}
	if p, err := before.Compile(t.Context(), domain.AsWritten(v.Hash)); err != nil || p.Nodes[0].Tool != "mail" {
		t.Errorf("the configuration before: %+v, %v", p, err)
	}
}

// A document is checked against the configuration before it is stored.
func TestReadPlanChecksTheConfiguration(t *testing.T) {
	t.Parallel()
	r, _ := reader(t, "mail")
	_, problems, err := r.ReadPlan([]byte("id: p\nnodes: {a: {type: mial}}\n"), planner.FormatYAML, "upload")
	if domain.CodeOf(err) != domain.CodeInvalid || len(problems) != 1 || problems[0].Suggestion.String() != "did you mean mail?" {
		t.Errorf("%v, %v", problems, err)
	}
	p, problems, err := r.ReadPlan([]byte("id: p\nnodes: {a: {type: mail, input: {}}}\n"), planner.FormatYAML, "upload")
	if err != nil || len(problems) != 0 || p.Key != "p" || !p.ByPerson {
		t.Errorf("%+v, %v, %v", p.NewVersion, problems, err)
	}
	if p, _, err := r.ReadPlan([]byte("id: p\nnodes: {a: {type: noop}}\n"), planner.FormatYAML, versions.OriginPlanner); err != nil ||
		p.ByPerson {
		t.Errorf("a planner's plan: %+v, %v", p.NewVersion, err)
	}
}

// Runs and steps name a plan by key, which means its newest version, or by key and number.
func TestResolveNamesAVersion(t *testing.T) {
	t.Parallel()
	r, s := reader(t)
	one := save(t, r, s, "id: p\nnodes: {a: {type: set, input: 1}}\n", "upload")
	two := save(t, r, s, "id: p\nnodes: {a: {type: set, input: 2}}\n", "upload")
	for name, want := range map[string]string{"p": two.Hash, "p@1": one.Hash, "p@2": two.Hash} {
		if hash, err := r.Resolve(t.Context(), name); err != nil || hash != want {
			t.Errorf("%s: %s, %v; want %s", name, hash, err, want)
		}
	}
	for name, want := range map[string]domain.Code{"q": domain.CodeNotFound, "p@3": domain.CodeNotFound, "p@0": domain.CodeInvalid,
		"p@x": domain.CodeInvalid} {
		if _, err := r.Resolve(t.Context(), name); domain.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	parent := save(
		t,
		r,
		s,
		"id: parent\nnodes: {a: {type: plan, plan: p@1}, b: {type: plan, plan: p}}\nedges: [{from: a, to: b}]\n",
		"upload",
	)
	compiled, err := r.Compile(t.Context(), domain.AsWritten(parent.Hash))
	if err != nil {
		t.Fatal(err)
	}
	if pins, err := r.Pins(t.Context(), compiled); err != nil || pins["p@1"] != one.Hash || pins["p"] != two.Hash {
		t.Errorf("pins: %v, %v", pins, err)
	}
}

// A planner's version waits for acceptance. An accepted version cannot be accepted again.
func TestAPlannersVersionIsProposed(t *testing.T) {
	t.Parallel()
	r, s := reader(t)
	current := save(t, r, s, "id: p\nnodes: {a: {type: set, input: 1}}\n", "upload")
	if _, _, err := r.ProposedVersion(t.Context(), "p"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a plan without a proposal: %v", err)
	}
	proposed := save(t, r, s, "id: p\nnodes: {a: {type: set, input: 2}}\n", versions.OriginPlanner)
	if _, v, err := r.ProposedVersion(t.Context(), "p"); err != nil || v.Hash != proposed.Hash {
		t.Errorf("proposed: %+v, %v", v, err)
	}
	if _, v, err := r.NewestVersion(t.Context(), "p"); err != nil || v.Hash != current.Hash {
		t.Errorf("current: %+v, %v", v, err)
	}
	author, operator := domain.Actor{Name: "ana", Role: domain.RoleAuthor}, domain.Actor{Name: "otto", Role: domain.RoleOperator}
	if _, restored, err := r.Acceptance(t.Context(), author, "p", proposed.Hash, "better"); err != nil || restored == nil ||
		restored.Base != current.Hash ||
		!restored.Accepts {
		t.Errorf("an author accepts: %+v, %v", restored, err)
	}
	if _, _, err := r.Acceptance(t.Context(), operator, "p", proposed.Hash, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator replaces a person's version: %v", err)
	}
	if _, restored, err := r.Acceptance(t.Context(), operator, "p", current.Hash, ""); err != nil || restored != nil {
		t.Errorf("the current version: %+v, %v", restored, err)
	}
}
