package webtest

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web"
)

// runViews are the views of a run.
var runViews = []string{"", "?view=graph", "?view=state", "?view=handoffs", "?view=events", "?view=log", "?view=io", "?view=lineage"}

// Paths returns the addresses of all pages, filled in with the runs of a seed.
func (d Seeded) Paths() []string {
	out := []string{
		"/",
		"/runs",
		"/runs?q=status:failed",
		"/plans",
		"/plans/new",
		"/schedules",
		"/schedules/new?plan=ledger&cron=@daily",
		"/events/hooks",
		"/events/hooks/new?plan=ledger&scheme=bearer",
		"/events/signals",
		"/events/signals/new?name=paid.42",
		"/ask",
		"/demo",
		"/first-steps",
		"/plans/ledger",
		"/plans/ledger/start",
		"/plans/ledger/edit",
		"/approvals",
		"/audit",
		"/system",
		"/system/storage",
		"/system/jobs",
		"/system/log",
		"/system/config",
		"/help",
		"/docs",
		"/docs/faq",
		"/docs/reference/tools",
		"/docs?q=approval+timeout",
		"/settings/users",
		"/settings/roles",
		"/settings/tokens",
		"/settings/access",
		"/settings/notifications",
		"/settings/retention",
		"/settings/secrets",
		"/settings/secrets/BANK/rotate",
		"/me",
		"/me/second-factor",
		"/login",
		"/login/link?token=none",
		"/agents",
		"/agents/providers",
		"/agents/tools",
		"/agents/spend",
		"/agents/budgets",
		"/agents/budgets/new",
		"/agents/budgets/team",
		"/agents/budgets/team/edit",
		"/agents/budgets/team/raise",
		"/agents/budgets/team/delete",
		"/agents/spend?range=30d",
	}
	out = append(
		out,
		"/agents/tools/calculator",
		"/agents/tools/calculator/try",
		"/agents/tools/http",
		"/agents/tools/http/disable",
		"/agents/tools/http/enable",
		"/agents/tools/crm.find",
		"/agents/tools/crm.find/enable",
		"/agents/providers/script",
		"/agents/providers/script/disable",
		"/agents/providers/script/enable",
		"/agents/agents/supervisor",
		"/agents/agents/desk",
		"/memory",
	)
	out = append(
		out,
		"/plans/ledger?node=post&paint=failed",
		"/plans/ledger/v/1/restore",
		"/plans?state=draft",
		"/plans?q=tool:http",
		"/steps",
		"/steps?q=status:failed&sort=took",
	)
	for _, r := range []domain.Run{d.Completed, d.Failed, d.Waiting, d.InDoubt, d.Hostile} {
		for _, v := range runViews {
			out = append(out, "/runs/"+r.ID+v)
		}
	}
	for _, a := range []string{"resume", "fork", "fork?at=1", "rerun", "undo", "delete"} {
		out = append(out, fmt.Sprintf("/runs/%s/%s", d.Failed.ID, a))
	}
	out = append(
		out,
		"/runs?sort=took",
		"/runs/new",
		"/runs/new?like="+d.Failed.ID,
		"/plans?state=archived",
		"/runs/"+d.Failed.ID+"/peek",
		"/runs/"+d.Failed.ID+"/ack",
		"/runs/"+d.Failed.ID+"/unack",
		"/failures/ack?plan=ledger&node=post&code=blocked",
		"/failures/unack?plan=ledger&node=post&code=blocked",
	)
	out = append(
		out,
		"/runs/"+d.Failed.ID+"/resume?only=post%231&attempts=3&timeout=1m",
		"/runs/"+d.Completed.ID+"/fork?at=5",
		"/runs/"+d.Completed.ID+"?view=io&find=1",
		"/runs/"+d.Completed.ID+"?view=state&nthcp=2",
		"/runs/"+d.Completed.ID+"?step=end&tab=output&into=.squares&nth=1",
		"/runs/"+d.Failed.ID+"?view=log&step=1",
		"/runs/"+d.Completed.ID+"?view=handoffs&step=1",
		"/runs/"+d.Completed.ID+"?view=events&step=end",
	)
	out = append(
		out,
		"/runs/"+d.Failed.ID+"/note",
		"/plans/ledger/v/1",
		"/plans/ledger/v/1/accept",
		"/agents/servers/crm/retry",
		"/settings/users/marta",
	)
	out = append(out, d.furniture()...)
	return append(
		out,
		"/runs/"+d.Waiting.ID+"/cancel",
		"/bulk",
		"/bulk/new?do=resume&q=status:failed",
		"/bulk/new?do=cancel&q=status:failed",
		"/bulk/new?do=label&q=plan:ledger",
		"/failures",
		"/failures?plan=ledger",
		"/failures?show=acknowledged",
		"/failures/ack?all=1",
		"/find",
		"/find?q=re",
		"/plans/ledger/archive",
		"/plans/ledger/pause",
		"/plans?state=paused",
		"/plans/new?example=order-triage",
		"/approvals?show=all&plan=refund",
		"/plans/ledger/diff/1/1",
		"/runs/compare?a="+d.Failed.ID+"&b="+d.Completed.ID,
		"/runs/"+d.Failed.ID+"/steps/2",
		"/runs/"+d.Failed.ID+"?critical=show&sort=took&idle=show",
		"/runs/"+d.Failed.ID+"?view=graph&node=done&paint=took&zoom=fit",
		"/runs/"+d.Completed.ID+"?view=graph&mode=ran",
		"/runs/"+d.Completed.ID+"?view=state&cp=5&against=1",
		"/runs/"+d.Completed.ID+"?step=1&tab=change",
		"/runs/"+d.InDoubt.ID+"?tab=definition",
		"/runs/compare?a="+d.Hostile.ID+"&b="+d.Hostile.ID,
		"/audit?q=actor:marta+since:24h",
		"/audit/1",
		"/audit/verify",
		"/approvals?status=approved",
		"/handoffs",
		"/handoffs?view=loops",
		"/approvals?show=all",
		"/approvals?show=decided",
		"/doubts?plan=payment&node=pay",
		"/approvals/bulk?plan=refund&node=ask&answer=reject",
	)
}

// Routes returns the routes of the dashboard with their minimum roles.
func (s *Site) Routes() []web.Route { return s.site.Routes() }
