package web

import (
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// startedIt reports whether the reader may be who started a run: by their name, or by
// a token that they made. The engine refuses their answer then.
func (r *request) startedIt(starter string) (bool, error) {
	if starter == r.who.Name || r.s.People == nil {
		return starter == r.who.Name, nil
	}
	who, err := r.s.People(r.ctx, starter)
	return slices.Contains(who, r.who.Name), err
}

// approvalView is an approval as a form or a row says it.
func (r *request) approvalView(a domain.Approval) (view.ApprovalView, error) {
	v := view.ApprovalView{ID: a.ID, Href: "/approvals/" + a.ID, Action: "/approvals/" + a.ID, Message: visible(a.Message), Run: domain.ShortID(a.Run),
		RunHref: "/runs/" + a.Run, Plan: a.PlanKey, PlanHref: "/plans/" + url.PathEscape(a.PlanKey), Node: a.Node, Since: r.time(a.CreatedAt), Digest: a.Digest, Status: a.Status,
		DecidedBy: visible(a.DecidedBy), Comment: r.approvalComment(a), CSRF: r.who.csrf, Idem: newID(), Agent: visible(a.Agent), Label: visible(cut(a.Label, 80)),
		Assignee: visible(a.Assignee), MayAsk: a.MayAsk, Outcome: r.approvalOutcome(a), Decided: r.time(a.DecidedAt),
		CanAct: r.who.Role.Includes(domain.RoleOperator), Typed: r.c.FormValue("comment")}
	first := map[bool]bool{true: true, false: true} // of those that reject, and of the others
	for i, x := range a.Answers() {
		b := view.AnswerButton{ID: x.ID, Label: visible(cut(x.Label, 60)), Rejects: x.Rejects(), Chosen: !x.Rejects() && first[false]}
		if i < len(a.Choices) && a.Choices[i].Label == "" || len(a.Choices) == 0 {
			switch x.ID { // the plan has no word of its own
			case "approve":
				b.Label = r.t("Approve")
			case "reject":
				b.Label = r.t("Reject")
			}
		}
		if first[x.Rejects()] {
			b.Key = "approve"
			if x.Rejects() {
				b.Key = "reject"
			}
			first[x.Rejects()] = false
		}
		v.Answers = append(v.Answers, b)
		if a.Answer == x.ID && len(a.Answers()) > 2 { // else the status says it
			v.Given = b.Label
		}
	}
	v.By = r.t("step %s", a.Node)
	if a.Agent != "" {
		v.By = r.t("agent %s", v.Agent)
	}
	v.Due = r.dueWords(a)
	v.StartedBy = visible(a.StartedBy)
	if r.s.TwoPeople != nil && r.s.TwoPeople() && a.StartedBy != "" {
		v.Two = r.t("1 of 2: %s started the run, somebody else answers", v.StartedBy)
		var err error
		if v.OwnRun, err = r.startedIt(a.StartedBy); err != nil {
			return v, err
		}
		v.OwnToken = v.OwnRun && a.StartedBy != r.who.Name
	}
	if a.Tool != "" {
		v.Tool, v.Arguments = a.Tool, visible(pretty(a.Arguments))
		v.Facts = argumentFacts(a.Arguments)
	}
	if schema := formSchema(a); schema != nil {
		v.Fields = r.fields(schema)
	}
	return v, nil
}

// dueWords say until when an approval waits, and what happens then.
func (r *request) dueWords(a domain.Approval) string {
	if a.DueAt.IsZero() {
		return r.t("no deadline")
	}
	if a.Status != "open" {
		return r.t("until %s, then %s", r.time(a.DueAt).Text, r.t(a.OnTimeout))
	}
	left := r.ago(r.s.now().Sub(a.DueAt))
	switch a.OnTimeout {
	case "approve":
		return r.t("auto-approve %s", left)
	case "fail":
		return r.t("fails %s", left)
	}
	return r.t("auto-reject %s", left)
}

// approvalComment is what was said with an answer; of a question that was taken back
// when its run was put aside, why.
func (r *request) approvalComment(a domain.Approval) string {
	if a.Status == "cancelled" && a.DecidedBy == domain.System.Name && a.Comment != "" {
		return r.t("It was taken back: %s", r.headlineOf(domain.RunWaiting, domain.WaitQuarantined, a.Comment))
	}
	return visible(a.Comment)
}

// approvalOutcome is how an approval ended, as lists show it.
func (r *request) approvalOutcome(a domain.Approval) view.Status {
	switch a.Status {
	case "approved":
		return word("ok", "i-ok", locale.Mark("approved"), true)
	case "rejected":
		return word("fail", "i-fail", locale.Mark("rejected"), true)
	case "asked_back":
		return word("idle", "i-retry", locale.Mark("asked back"), true)
	case "expired":
		return word("idle", "i-wait", locale.Mark("expired"), true)
	case "cancelled":
		return word("idle", "i-cancel", locale.Mark("cancelled"), true)
	}
	return word("need", "i-need", locale.Mark("open"), false)
}

// argumentFacts are the arguments of a call as terms and values, if it has a few
// plain ones; what is larger is read in the JSON below.
func argumentFacts(arguments domain.RawJSON) []view.Fact {
	v, err := jsonvalue.Decode(arguments)
	if err != nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok || len(m) > 20 {
		return nil
	}
	var out []view.Fact
	for _, k := range sorted(m) {
		text := jsonvalue.Text(m[k])
		if short := []rune(text); len(short) > 400 {
			text = string(short[:400]) + "…"
		}
		out = append(out, view.Fact{Term: visible(k), Text: visible(text)})
	}
	return out
}

func formSchema(a domain.Approval) any {
	if a.Form == nil {
		return nil
	}
	schema, err := jsonvalue.Decode(a.Form)
	if err != nil {
		return nil
	}
	return schema
}
