package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// needsProof reports whether a route wants a proof of who is there that is not old:
// every act of admins, and what changes how one logs in.
func needsProof(rt route) bool {
	return rt.method == http.MethodPost && (rt.role() == domain.RoleAdmin || rt.path == "/me/second-factor")
}

// whileHeldBack are the pages of those who must set up a second factor first.
var whileHeldBack = []string{"/me/second-factor", "/logout"}

// heldBack leads whoever must set up a second factor there, whatever they ask
// for; it reports whether it has answered.
func (r *request) heldBack(rt route) (bool, error) {
	if slices.Contains(whileHeldBack, rt.path) {
		return false, nil
	}
	must, err := r.s.Auth.MustEnrol(r.ctx, r.who.User)
	if err != nil || !must {
		return false, err
	}
	if rt.method != http.MethodGet || rt.path == "/live" {
		return true, domain.Errorf(domain.CodeForbidden, "the role %s must have a second factor", r.who.Role).Suggest("set it up on your own page; nothing was done")
	}
	return true, r.to("/me/second-factor")
}

// proven asks who is there before an act that needs it. It reports whether the act may
// go on; if not, the question is answered already, with what was posted in it, so that
// nothing is typed twice.
func (r *request) proven() (bool, error) {
	fresh, err := r.s.Auth.Fresh(r.ctx, r.who.secret)
	if err != nil || fresh {
		return fresh, err
	}
	on, _, err := r.s.Auth.SecondFactor(r.ctx, r.who.ID)
	if err != nil {
		return false, err
	}
	code, posted := http.StatusUnprocessableEntity, r.c.Request().PostForm
	p := view.ProofPage{Post: r.c.Request().URL.RequestURI(), Code: on, Name: r.who.Name, Password: r.who.PasswordHash != ""}
	if posted.Has("proof_password") {
		err := r.s.Auth.Confirm(r.ctx, r.who.secret, posted.Get("proof_password"), posted.Get("proof_code"))
		if err == nil {
			return true, nil
		}
		problem, ok := r.refused(err)
		if !ok {
			return false, err
		}
		code, p.Error = refusedWith(err), problem
	}
	for _, name := range sortedFields(posted) {
		if strings.HasPrefix(name, "proof_") {
			continue
		}
		for _, v := range posted[name] {
			p.Fields = append(p.Fields, view.Hidden{Name: name, Value: v})
		}
	}
	if takes, provider := r.s.Auth.Ways(); provider != "" && (!takes || !p.Password) {
		p.Password, p.Provider, p.ProviderHref = false, r.t("Log in with %s", visible(provider)), "/login/oidc?next="+url.QueryEscape(r.c.Request().URL.Path) // every act has a page of its own
	}
	p.Shell = r.shell("", "Is it you?")
	return false, r.render(code, view.Proof(p))
}

func sortedFields(v url.Values) []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
