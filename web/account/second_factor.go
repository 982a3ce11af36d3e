package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"rsc.io/qr"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// loginCode handles the form for the code of the second factor, which completes a login.
func (s *section) loginCode(c *ui.Context) error {
	ticket := c.Field("ticket")
	secret, user, err := s.Auth.LoginCode(c, ticket, c.Field("code"), domain.RequestOf(c).Address, c.Echo.Request().UserAgent())
	if domain.CodeOf(err) == domain.CodeForbidden { // wrong code; the user can retry
		return s.askCode(c, http.StatusUnprocessableEntity, LoginCodePage{Ticket: ticket, Next: c.Field("next"), Error: c.Sentence(err)})
	}
	if err != nil {
		return s.loginFailed(c, err, LoginPage{Next: c.Field("next")})
	}
	s.enter(c, secret, user)
	return c.RedirectTo(link.Local(c.Field("next")))
}

func (s *section) askCode(c *ui.Context, code int, p LoginCodePage) error {
	p.Shell = c.Shell("", "Log in")
	p.Address = "/login"
	return c.Render(code, LoginCode(p))
}

// needsCode returns the ticket of a login with a correct password that requires a code.
func needsCode(err error) (ticket string, ok bool) {
	var e interface{ NeedsCode() string }
	if !errors.As(err, &e) {
		return "", false
	}
	return e.NeedsCode(), true
}

// secondFactorPage serves the page of the user's second factor.
func (s *section) secondFactorPage(c *ui.Context) error {
	return s.showSecondFactor(c, http.StatusOK, "", "")
}

// showSecondFactor renders the page. If secret is not empty, the page shows this secret again
// instead of a new one.
func (s *section) showSecondFactor(c *ui.Context, code int, problem, secret string) error {
	on, left, err := s.Auth.SecondFactor(c, c.Principal.ID)
	if err != nil {
		return err
	}
	p := SecondFactorPage{
		Shell:       c.Shell("me", "Second factor"),
		Idem:        kit.NewID(),
		Error:       problem,
		On:          on,
		HasPassword: c.Principal.PasswordHash != "",
		Left:        c.N(left, "%s recovery code is left.", "%s recovery codes are left."),
	}
	if p.Must, err = s.Auth.MustEnrol(c, c.Principal.User); err != nil {
		return err
	}
	if on || !p.HasPassword {
		return c.Render(code, SecondFactor(p))
	}
	if secret == "" {
		secret = s.Auth.NewSecondFactor()
	}
	p.Secret = secret
	for i := 0; i < len(secret); i += 4 {
		p.Spelled = strings.TrimSpace(p.Spelled + " " + secret[i:min(i+4, len(secret))])
	}
	label := url.PathEscape("kairosd:" + c.Principal.Name + "@" + c.Echo.Request().Host)
	p.URI = "otpauth://totp/" + label + "?secret=" + secret + "&issuer=kairosd"
	if p.Picture, p.Size, err = qrPath(p.URI); err != nil {
		return err
	}
	return c.Render(code, SecondFactor(p))
}

// qrPath encodes a text as a QR code. It returns an SVG path of the dark modules and the width of
// the code in modules, including the quiet zone.
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

// setSecondFactor handles the form that turns the user's second factor on or off. Turning it on
// requires a valid code.
func (s *section) setSecondFactor(c *ui.Context) error {
	switch do := c.Field("do"); do {
	case "on":
		return s.addSecondFactor(c)
	case "off":
		if err := s.App.Accounts.RemoveSecondFactor(c, app.UserNamed{Meta: c.Meta(), User: c.Principal.ID}); err != nil {
			return err
		}
		return c.RedirectTo("/me")
	default:
		return domain.Errorf(domain.CodeInvalid, "nothing is done by %q", kit.Escape(do))
	}
}

func (s *section) addSecondFactor(c *ui.Context) error {
	secret := c.Field("secret")
	codes, err := s.App.Accounts.AddSecondFactor(c,
		app.Enrollment{Meta: c.Meta(), Secret: secret, Code: c.Field("code"), Keep: app.SessionHash(c.Principal.Secret)})
	if domain.CodeOf(err) == domain.CodeAlreadyDone { // repeated request
		return c.RedirectTo("/me/second-factor")
	}
	if problem, ok := c.Refused(err); ok {
		return s.showSecondFactor(c, ui.RefusedWith(err), problem, secret)
	}
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK,
		SecondFactor(SecondFactorPage{Shell: c.Shell("me", "Second factor"), On: true, HasPassword: true, Codes: codes}))
}

var secondFactorTexts = map[bool]string{true: locale.Mark("on"), false: locale.Mark("off")}

// secondFactorWord returns the state of a user's second factor, or "–" for users without a
// password.
func (s *section) secondFactorWord(c *ui.Context, u domain.User) (string, error) {
	if u.PasswordHash == "" {
		return "–", nil
	}
	must, err := s.Auth.MustEnrol(c, u)
	if err != nil || must {
		return c.T("off, but the role requires one"), err
	}
	on, _, err := s.Auth.SecondFactor(c, u.ID)
	return c.T(secondFactorTexts[on]), err
}
