package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// remembered finds whose session the address speaks of: one's own, or as an
// admin another's.
func (r *request) remembered() (owner, session string, err error) {
	owner, session = cmp.Or(r.c.FormValue("owner"), r.who.Name), r.c.FormValue("session")
	return owner, session, domain.CheckMemoryOwner(r.who.actor(), owner)
}

// memoryHref is the address of a page about memory.
func (r *request) memoryHref(path, owner, session, after string) string {
	q := url.Values{}
	if owner != r.who.Name {
		q.Set("owner", owner)
	}
	if session != "" {
		q.Set("session", session)
	}
	if after != "" {
		q.Set("after", after)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// memory lists sessions that remember something, or shows what one remembers.
func (r *request) memory() error {
	owner, session, err := r.remembered()
	if err != nil {
		return err
	}
	title := r.t("Memory")
	if session != "" {
		title = r.t("Memory of %s", visible(session))
	}
	p := view.MemoryPage{Shell: r.shell("", title), Session: visible(session), Example: `kairos ask --session customer-7 "…"`, Back: r.memoryHref("/memory", owner, "", "")}
	if owner != r.who.Name {
		p.Owner = visible(owner)
	}
	page := r.page()
	if session == "" {
		list, err := r.s.App.Memory.Sessions(r.ctx, r.who.actor(), owner, page)
		if err != nil {
			return err
		}
		for _, s := range list.Items {
			p.Sessions = append(p.Sessions, view.MemorySessionRow{Name: visible(s.Session), Href: r.memoryHref("/memory", owner, s.Session, ""), Exchanges: r.number(s.Exchanges), Last: r.time(s.LastAt)})
		}
		if list.Next != "" {
			p.More = r.memoryHref("/memory", owner, "", list.Next)
		}
		return r.render(http.StatusOK, view.Memory(p))
	}
	list, err := r.s.App.Memory.Exchanges(r.ctx, r.who.actor(), owner, session, page)
	if err != nil {
		return err
	}
	if len(list.Items) == 0 && page.After == "" {
		return domain.Errorf(domain.CodeNotFound, "the session %q remembers nothing", visible(session))
	}
	for _, m := range list.Items {
		p.Items = append(p.Items, view.MemoryRow{Asked: visible(m.Input), Answered: visible(m.Output), Run: view.Link{Text: m.Run[max(0, len(m.Run)-4):], Href: "/runs/" + m.Run}, At: r.time(m.At)})
	}
	if list.Next != "" {
		p.More = r.memoryHref("/memory", owner, session, list.Next)
	}
	if r.who.Role.Includes(domain.RoleOperator) {
		p.Forget = r.memoryHref("/memory/forget", owner, session, "")
	}
	return r.render(http.StatusOK, view.Memory(p))
}

// forgetPage asks before a session is made to forget.
func (r *request) forgetPage() error { return r.showForget(http.StatusOK, "") }

func (r *request) showForget(code int, problem string) error {
	owner, session, err := r.remembered()
	if err != nil {
		return err
	}
	list, err := r.s.App.Memory.Exchanges(r.ctx, r.who.actor(), owner, session, domain.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return domain.Errorf(domain.CodeNotFound, "the session %q remembers nothing", visible(session))
	}
	p := view.ConfirmPage{Shell: r.shell("", r.t("Forget %s", visible(session))), Heading: r.t("Forget %s", visible(session)), Crumb: view.Link{Text: r.t("Memory"), Href: r.memoryHref("/memory", owner, "", "")},
		Says: r.t("Agents of later runs of this session are not told of what was said in it. This cannot be taken back. The journals of its runs stay until they are deleted."),
		Post: r.memoryHref("/memory/forget", owner, session, ""), Back: r.memoryHref("/memory", owner, session, ""), Idem: newID(), Error: problem, Danger: true, NeedsReason: true,
		Facts: []view.Fact{{Term: r.t("Session"), Text: visible(session)}, {Term: r.t("Owner"), Text: visible(owner)}, {Term: r.t("Last"), Text: r.time(list.Items[0].At).Text}}}
	return r.render(code, view.Confirm(p))
}

func (r *request) forget() error {
	owner, session, err := r.remembered()
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	if reason == "" {
		return r.showForget(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	if _, err := r.s.App.Memory.Forget(r.ctx, app.SessionChange{Meta: r.meta(), Owner: owner, Session: session, Reason: reason}); err != nil {
		return err
	}
	return r.to(r.memoryHref("/memory", owner, "", ""))
}
