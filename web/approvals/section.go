// Package approvals serves the approvals inbox, and the pages that decide one or several approvals.
package approvals

import (
	"context"

	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
	Cards  approval.Ports
}

// Reader reads runs and approvals from the store.
type Reader interface {
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// ApprovalsCount counts matching approvals up to cap.
	ApprovalsCount(ctx context.Context, f domain.ApprovalFilter, cap int) (int, error)
}

// Engine reads runs.
type Engine interface {
	part.Programs
	// Detail replays the journal of a run. It returns its state and what it waits for.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the routes, fragments, and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p, part.Rows{Programs: p.Engine}}
	done := []ui.Done{
		{Name: "approval-decided", Path: "/approvals/:approval", Message: locale.Mark("Decision recorded.")},
		{Name: "approvals-decided", Path: "/approvals/bulk", Message: locale.Mark("All listed requests are decided.")},
		{Name: "approval-assigned", Path: "/approvals/:approval/assign", Message: locale.Mark("Request assigned.")},
	}
	return ui.Section{Fragments: s.fragments(), Done: done, Routes: []ui.Route{
		{Get: "/approvals", Operation: app.ListApprovals, Handle: s.approvals},
		{Get: "/approvals/bulk", Operation: app.DecideApproval, Handle: s.bulkApprovals},
		{Post: "/approvals/bulk", Operation: app.DecideApproval, Handle: s.decideSimilar},
		{Get: "/approvals/:approval/assign", Operation: app.AssignApproval, Handle: s.approval},
		{Post: "/approvals/:approval/assign", Operation: app.AssignApproval, Handle: s.assign},
		{Get: "/approvals/:approval", Operation: app.GetApproval, Handle: s.approval},
		{Post: "/approvals/:approval", Operation: app.DecideApproval, Handle: s.decide},
	}}
}

// fragments returns the live regions. The list is part of each page with a decision.
func (s *section) fragments() (out []ui.Fragment) {
	pages := map[string]app.Operation{
		"/approvals":                  app.ListApprovals,
		"/approvals/:approval":        app.GetApproval,
		"/approvals/:approval/assign": app.AssignApproval,
	}
	for page, op := range pages {
		out = append(
			out,
			ui.Fragment{
				Page:      page,
				ID:        "list",
				Operation: op,
				Topics:    []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					v, _, err := s.list(c, c.Param("approval"))
					return inbox(v), err
				},
			},
		)
	}
	return out
}
