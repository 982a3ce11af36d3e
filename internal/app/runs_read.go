package app

import (
	"context"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app/bundle"
	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handoff"
)

// find finds a run by its id, or by at least four characters at the start or end of a unique id. It
// does not search for a text that cannot be part of an id.
func (r *Runs) find(ctx context.Context, id string) (domain.Run, error) {
	if len(id) < 4 || len(id) > domain.IDLength || strings.Trim(id, "0123456789abcdefghjkmnpqrstvwxyz") != "" {
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run %.64q not found", id)
	}
	return r.store.FindRun(ctx, id)
}

// seen finds a run for a query.
func (r *Runs) seen(ctx context.Context, op Operation, by domain.Actor, id string) (domain.Run, error) {
	if err := r.allow(ctx, op, by, ""); err != nil {
		return domain.Run{}, err
	}
	return r.find(ctx, id)
}

// Find returns a run without its journal; see [Runs.Get].
func (r *Runs) Find(ctx context.Context, by domain.Actor, id string) (domain.Run, error) {
	return r.seen(ctx, GetRun, by, id)
}

// List returns the runs that match a filter, newest first. The filter may name a plan by its id or
// its key; a plan that does not exist has no runs.
//
// Errors: invalid (the filter), forbidden.
func (r *Runs) List(ctx context.Context, by domain.Actor, f domain.RunFilter) (domain.List[domain.Run], error) {
	var none domain.List[domain.Run]
	if err := r.allow(ctx, ListRuns, by, ""); err != nil {
		return none, err
	}
	if f.PlanKey != "" {
		switch p, err := r.store.Plan(ctx, f.PlanKey); {
		case err == nil:
			f.PlanKey = p.Key
		case domain.CodeOf(err) == domain.CodeNotFound:
			return none, nil
		default:
			return none, err
		}
	}
	return r.store.Runs(ctx, f)
}

// Facts contains all stored details of a run.
type Facts struct {
	domain.RunDetail
	// Lineage contains the runs that it came from, and those that came from it.
	Lineage []domain.Run
}

// Get returns a run with its journal, its waits, and its relatives.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Get(ctx context.Context, by domain.Actor, id string) (Facts, error) {
	run, err := r.seen(ctx, GetRun, by, id)
	if err != nil {
		return Facts{}, err
	}
	d, err := r.engine.Detail(ctx, run.ID)
	if err != nil {
		return Facts{}, err
	}
	lineage, err := r.store.Lineage(ctx, run.ID)
	return Facts{d, lineage}, err
}

// JournalPart contains consecutive rows of a journal.
type JournalPart struct {
	Rows []domain.Entry
	// More reports whether more rows follow.
	More bool
	// Damage is the reason why the journal ends here: the next row is damaged. It is empty
	// otherwise.
	Damage string
}

// Journal returns rows of a run's journal: at most limit, in order, with Seq > after.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Journal(ctx context.Context, by domain.Actor, id string, after int64, limit int) (JournalPart, error) {
	run, err := r.seen(ctx, GetJournal, by, id)
	if err != nil {
		return JournalPart{}, err
	}
	part := JournalPart{}
	if part.Rows, err = r.store.JournalPage(ctx, run.ID, after, limit); domain.CodeOf(err) == domain.CodeCorrupt {
		part.Damage = err.Error()
	} else if err != nil {
		return part, err
	}
	n := len(part.Rows)
	part.More = n > 0 && n == limit && part.Rows[n-1].Seq < run.LastSeq
	return part, nil
}

// Step returns the journal rows of the visit, or of the item of a visit, that the row with the
// number seq belongs to.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Step(ctx context.Context, by domain.Actor, id string, seq int64) (run domain.Run, part JournalPart, err error) {
	if run, err = r.seen(ctx, GetStep, by, id); err != nil {
		return run, part, err
	}
	rows, err := r.store.JournalPage(ctx, run.ID, 0, 0)
	if domain.CodeOf(err) == domain.CodeCorrupt {
		part.Damage = err.Error()
	} else if err != nil {
		return run, part, err
	}
	i := slices.IndexFunc(rows, func(e domain.Entry) bool { return e.Seq == seq })
	if i < 0 || rows[i].Node == "" {
		return run, part, domain.Errorf(domain.CodeNotFound, "run %s has no step %d", domain.ShortID(run.ID), seq)
	}
	of := &rows[i]
	for _, e := range rows {
		if e.Node == of.Node && e.Visit == of.Visit && e.Item == of.Item {
			part.Rows = append(part.Rows, e)
		}
	}
	return run, part, nil
}

// SearchSteps finds steps of all runs.
//
// Errors: invalid (the filter), forbidden.
func (r *Runs) SearchSteps(ctx context.Context, by domain.Actor, f domain.StepFilter) (domain.StepHits, error) {
	if err := r.allow(ctx, SearchSteps, by, ""); err != nil {
		return domain.StepHits{}, err
	}
	return r.store.Steps(ctx, f)
}

// Conversation returns the messages and the handoffs of a run's agents.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Conversation(ctx context.Context, by domain.Actor, id string) (domain.Conversation, error) {
	run, err := r.seen(ctx, ListMessages, by, id)
	if err != nil {
		return domain.Conversation{}, err
	}
	return r.store.Conversation(ctx, run.ID)
}

// Handoffs lists the handoffs of all runs, newest first.
//
// Errors: invalid (the filter), forbidden.
func (r *Runs) Handoffs(ctx context.Context, by domain.Actor, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error) {
	if err := r.allow(ctx, ListHandoffs, by, ""); err != nil {
		return domain.List[domain.HandoffSummary]{}, err
	}
	return r.store.HandoffsOf(ctx, f)
}

// Handoff returns one handoff: its task, its tools, and its result.
//
// Errors: not_found, forbidden.
func (r *Runs) Handoff(ctx context.Context, by domain.Actor, id string) (domain.HandoffDetail, error) {
	if err := r.allow(ctx, GetHandoff, by, ""); err != nil {
		return domain.HandoffDetail{}, err
	}
	h, err := r.store.Handoff(ctx, id)
	if err != nil {
		return domain.HandoffDetail{}, err
	}
	d, err := r.engine.Detail(ctx, h.Run)
	if err != nil {
		return domain.HandoffDetail{}, err
	}
	conversation, err := r.store.Conversation(ctx, h.Run)
	if err != nil {
		return domain.HandoffDetail{}, err
	}
	return handoff.In(d, conversation.Messages).Of(h.Handoff, r.now()), nil
}

// Preview returns what an action on a run would do, and its estimated time and cost.
//
// Errors: invalid (the request), not_found, conflict (the ID matches several runs), forbidden.
func (r *Runs) Preview(ctx context.Context, by domain.Actor, req domain.ActionRequest) (domain.Preview, error) {
	run, err := r.seen(ctx, PreviewRun, by, req.Run)
	if err != nil {
		return domain.Preview{}, err
	}
	req.Run = run.ID
	p, err := r.engine.Preview(ctx, by, req)
	if err != nil || !p.Allowed || len(p.Again)+len(p.New) == 0 {
		return p, err
	}
	flow, err := r.store.PlanFlow(ctx, run.PlanKey, 0, r.now().Add(-domain.ExpectedSince))
	if err != nil {
		return p, err
	}
	p.Expected = flow.Expect(p.Again, p.New)
	return p, nil
}

// Compare compares two runs. If b is empty, it compares a with the last successful run of the same
// plan.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Compare(ctx context.Context, by domain.Actor, a, b string) (rundiff.Comparison, error) {
	if err := r.allow(ctx, CompareRuns, by, ""); err != nil {
		return rundiff.Comparison{}, err
	}
	return rundiff.Read(ctx, source{r.store, r}, a, b, r.now())
}

// Export returns all stored data of a run for one file.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Export(ctx context.Context, by domain.Actor, id string) (domain.Run, *bundle.Bundle, error) {
	run, err := r.seen(ctx, ExportRun, by, id)
	if err != nil {
		return run, nil, err
	}
	b, err := bundle.Read(ctx, source{r.store, r}, run.ID)
	return run, b, err
}

// source reads the runs of a comparison and an export.
type source struct {
	Store
	runs *Runs
}

func (s source) FindRun(ctx context.Context, id string) (domain.Run, error) {
	return s.runs.find(ctx, id)
}

func (s source) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	return s.runs.engine.Detail(ctx, run)
}
