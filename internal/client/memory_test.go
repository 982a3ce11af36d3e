package client_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// The memory of sessions belongs to their owner. Access by others requires an admin, and deletions
// are in the audit log.
func TestMemory(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator, viewer, admin := d.as(t, domain.RoleOperator), d.as(t, domain.RoleViewer), d.as(t, domain.RoleAdmin)
	d.engine.Save(chain)
	const session = "a customer/7?#%2F&ñ"
	for range 3 {
		run, err := operator.Start(
			t.Context(),
			domain.StartRequest{Plan: "chain", Session: session, Input: domain.RawJSON(`"how are you?"`)},
		)
		if err != nil {
			t.Fatal(err)
		}
		if r := settled(t, operator, run.ID); r.Status != domain.RunCompleted {
			t.Fatalf("%+v", r)
		}
	}
	who, err := operator.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := operator.MemorySessions(t.Context(), "", domain.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Session != session || list.Items[0].Exchanges != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	page, err := operator.Memories(t.Context(), "", session, domain.Page{Limit: 2})
	if err != nil || len(page.Items) != 2 || page.Next == "" {
		t.Fatalf("%+v %v", page, err)
	}
	if rest, err := operator.Memories(t.Context(), "", session, domain.Page{Limit: 2, After: page.Next}); err != nil ||
		len(rest.Items) != 1 ||
		rest.Next != "" {
		t.Errorf("%+v %v", rest, err)
	}
	for name, c := range map[string]struct {
		by    *client.Client
		owner string
		want  domain.Code
	}{
		"an operator, another's": {d.as(t, domain.RoleOperator), who.Name, domain.CodeForbidden},
		"a viewer":               {viewer, "", domain.CodeForbidden},
		"an admin, their own":    {admin, "", ""},
	} {
		if _, err := c.by.Forget(t.Context(), c.owner, session, ""); domain.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if n, err := admin.Forget(t.Context(), who.Name, session, "asked to be forgotten"); err != nil || n != 3 {
		t.Errorf("forgot %d, %v", n, err)
	}
	if list, err := operator.MemorySessions(t.Context(), "", domain.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("after it was forgotten: %+v %v", list, err)
	}
	events, err := d.engine.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "memory.forget"})
	if err != nil || len(events.Items) != 1 || events.Items[0].Reason != "asked to be forgotten" ||
		events.Items[0].Object != "memory:"+who.Name+"/"+session {
		t.Errorf("%+v %v", events.Items, err)
	}
}
