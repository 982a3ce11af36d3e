package start

import (
	"net/http"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// demoPage shows the newest demonstration and the actions that it allows.
func (s *section) demoPage(c *ui.Context) error { return s.showDemo(c, http.StatusOK, "") }

func (s *section) showDemo(c *ui.Context, code int, refused string) error {
	now, err := s.App.Demo.Get(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := DemoPage{Shell: c.Shell("home", "Pull the plug"), Idem: kit.NewID(), Error: refused, Ready: !now.Active(),
		Asking: now.Phase == demo.InDoubt, Progress: demoProgress(c, now)}
	p.Live = p.Progress.Moving
	switch now.Phase {
	case demo.InDoubt:
		first := p.Progress.Ledger[0]
		p.Payment = c.T("The ledger has a payment of %s with the receipt %s.", first.Amount, first.Receipt)
	case demo.Completed:
		p.Done = c.N(len(now.Payments), "The run completed. The ledger has %s payment.", "The run completed. The ledger has %s payments.")
	case demo.Failed:
		p.Failed = kit.Capitalize(c.Message(now.Error))
	}
	return c.Render(code, Demo(p))
}

func demoProgress(c *ui.Context, now demo.State) DemoProgress {
	p := DemoProgress{Moving: now.Active() && now.Phase != demo.InDoubt}
	for _, n := range now.Notes {
		p.Notes = append(p.Notes, DemoNote{At: c.Time(n.At), Text: c.Message(n.Text)})
	}
	for _, e := range now.Payments {
		row := DemoPayment{Receipt: e.Receipt, Amount: c.Number(int64(e.Amount)), Calls: c.Number(int64(e.Calls)), Key: e.Key}
		p.Ledger = append(p.Ledger, row)
	}
	return p
}

// demoFragment renders the progress of a demonstration. When the demonstration needs an answer or
// has ended, the page shows more than the progress, so the browser reloads it.
func (s *section) demoFragment(c *ui.Context) (templ.Component, error) {
	now, err := s.App.Demo.Get(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	p := demoProgress(c, now)
	if !p.Moving {
		c.Echo.Response().Header().Set("HX-Refresh", "true")
		return nil, nil
	}
	return demoSoFar(p), nil
}

// beginDemo starts a demonstration.
func (s *section) beginDemo(c *ui.Context) error {
	return s.demoDone(c, s.App.Demo.Begin(c, app.DemoStart{Meta: c.Meta(), Idempotent: c.Field("do") == "idempotent"}))
}

// answerDemo reports whether the payment happened, or stops the demonstration.
func (s *section) answerDemo(c *ui.Context) error {
	return s.demoDone(c, s.App.Demo.Answer(c, app.DemoAnswer{Meta: c.Meta(), Answer: demo.Answer(c.Field("do"))}))
}

func (s *section) demoDone(c *ui.Context, err error) error {
	if problem, refused := c.Refused(err); refused {
		return s.showDemo(c, http.StatusConflict, problem)
	}
	if err != nil {
		return err
	}
	return c.RedirectTo("/demo")
}
