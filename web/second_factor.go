package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rsc.io/qr"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
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

// loginCode finishes a login that waits for a code of the second factor.
func (r *request) loginCode() error {
	ticket := r.c.FormValue("ticket")
	secret, user, err := r.s.Auth.LoginCode(r.ctx, ticket, r.c.FormValue("code"), r.s.client(r.c.Request()), r.c.Request().UserAgent())
	if domain.CodeOf(err) == domain.CodeForbidden { // another code may be right
		return r.askCode(http.StatusUnprocessableEntity, view.LoginCodePage{Ticket: ticket, Next: r.c.FormValue("next"), Error: r.sentence(err)})
	}
	if err != nil {
		return r.loginFailed(err, view.LoginPage{Next: r.c.FormValue("next")})
	}
	r.enter(secret, user)
	return r.to(localPath(r.c.FormValue("next")))
}

func (r *request) askCode(code int, p view.LoginCodePage) error {
	p.Shell = r.shell("", "Log in")
	p.Here = "/login"
	return r.render(code, view.LoginCode(p))
}

// needsCode is the ticket of a login whose password was right and that wants a code.
func needsCode(err error) (ticket string, ok bool) {
	var e interface{ NeedsCode() string }
	if !errors.As(err, &e) {
		return "", false
	}
	return e.NeedsCode(), true
}

// secondFactorPage turns one's second factor on or off.
func (r *request) secondFactorPage() error { return r.showSecondFactor(http.StatusOK, "", "") }

// showSecondFactor shows the page; with a secret, the one that was shown before.
func (r *request) showSecondFactor(code int, problem, secret string) error {
	on, left, err := r.s.Auth.SecondFactor(r.ctx, r.who.ID)
	if err != nil {
		return err
	}
	p := view.SecondFactorPage{Shell: r.shell("me", "Second factor"), Idem: newID(), Error: problem, On: on, HasPassword: r.who.PasswordHash != "", Left: r.n(left, "%s recovery code is left.", "%s recovery codes are left.")}
	if p.Must, err = r.s.Auth.MustEnrol(r.ctx, r.who.User); err != nil {
		return err
	}
	if on || !p.HasPassword {
		return r.render(code, view.SecondFactor(p))
	}
	if secret == "" {
		secret = r.s.Auth.NewSecondFactor()
	}
	p.Secret = secret
	for i := 0; i < len(secret); i += 4 {
		p.Spelled = strings.TrimSpace(p.Spelled + " " + secret[i:min(i+4, len(secret))])
	}
	label := url.PathEscape("kairosd:" + r.who.Name + "@" + r.c.Request().Host)
	p.URI = "otpauth://totp/" + label + "?secret=" + secret + "&issuer=kairosd"
	if p.Picture, p.Size, err = qrPath(p.URI); err != nil {
		return err
	}
	return r.render(code, view.SecondFactor(p))
}

// qrPath draws a text as a QR code: the dark squares as one path, in modules, with the
// quiet zone that readers need.
func qrPath(text string) (path string, size int, err error) {
	c, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", 0, err
	}
	const quiet = 4
	var b strings.Builder
	for y := range c.Size {
		for x := 0; x < c.Size; x++ {
			if !c.Black(x, y) {
				continue
			}
			from := x
			for x+1 < c.Size && c.Black(x+1, y) {
				x++
			}
			fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from+1, x-from+1)
		}
	}
	return b.String(), c.Size + 2*quiet, nil
}

// setSecondFactor turns the reader's second factor on, by a code of it, or off.
func (r *request) setSecondFactor() error {
	switch do := r.c.FormValue("do"); do {
	case "on":
		secret := r.c.FormValue("secret")
		codes, err := r.s.Auth.EnableSecondFactor(r.ctx, r.who.User, secret, r.c.FormValue("code"), r.who.secret)
		if problem, ok := r.refused(err); ok {
			return r.showSecondFactor(refusedWith(err), problem, secret)
		}
		if err != nil {
			return err
		}
		return r.render(http.StatusOK, view.SecondFactor(view.SecondFactorPage{Shell: r.shell("me", "Second factor"), On: true, HasPassword: true, Codes: codes}))
	case "off":
		return r.once(func() (string, error) {
			return "/me", r.s.Auth.DisableSecondFactor(r.ctx, r.who.actor(), r.who.ID)
		})
	default:
		return domain.Errorf(domain.CodeInvalid, "nothing is done by %q", visible(do))
	}
}

// secondWords say whether somebody has a second factor.
var secondWords = map[bool]string{true: locale.Mark("on"), false: locale.Mark("off")}

// secondFactorWord is that for a user; empty for those who log in elsewhere only.
func (r *request) secondFactorWord(u domain.User) (string, error) {
	if u.PasswordHash == "" {
		return "–", nil
	}
	must, err := r.s.Auth.MustEnrol(r.ctx, u)
	if err != nil || must {
		return r.t("off, though the role must have one"), err
	}
	on, _, err := r.s.Auth.SecondFactor(r.ctx, u.ID)
	return r.t(secondWords[on]), err
}
