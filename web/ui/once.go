package ui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// posts holds the results of forms that this process has answered, so that a
// second post of the same form returns the first one's result and does nothing.
// Forms answered by an earlier process are found in the audit log.
type posts struct {
	mu   sync.Mutex
	done map[string]*posted
}

type posted struct {
	once sync.Once
	to   string
	err  error
	at   time.Time
	// retried is set when this process refused the form before: nothing an earlier
	// process did can be the reason for its records.
	retried bool
}

// once runs f for the first post with this key and returns its result for every
// later one. earlier finds the result of a process that ended before it answered;
// empty if there is none. A post that failed may be tried again.
func (p *posts) once(key string, earlier, f func() (string, error)) (string, error) {
	p.mu.Lock()
	now := time.Now()
	for k, d := range p.done {
		if now.Sub(d.at) > 24*time.Hour || len(p.done) > 10_000 {
			delete(p.done, k)
		}
	}
	if p.done == nil {
		p.done = map[string]*posted{}
	}
	d := p.done[key]
	if d == nil {
		d = &posted{at: now}
		p.done[key] = d
	}
	p.mu.Unlock()
	d.once.Do(func() {
		if !d.retried {
			if d.to, d.err = earlier(); d.err != nil || d.to != "" {
				return
			}
		}
		d.to, d.err = f()
	})
	if d.err != nil {
		p.mu.Lock()
		if p.done[key] == d {
			p.done[key] = &posted{at: now, retried: true}
		}
		p.mu.Unlock()
	}
	return d.to, d.err
}

// Once carries out the posted form at most once and redirects to the result, also
// if kairosd is killed before it answers and the form is sent again.
func (c *Context) Once(f func() (string, error)) error { return c.OnceOf("", f) }

// OnceOf is once for one of several actions of a form: each is done at most once.
func (c *Context) OnceOf(act string, f func() (string, error)) error {
	to, err := c.Result(act, f)
	if err != nil {
		return err
	}
	return c.To(to)
}

// Result carries out one action of the posted form at most once and returns the
// address of its result.
func (c *Context) Result(act string, f func() (string, error)) (string, error) {
	form := c.Echo.FormValue("idem")
	if form == "" {
		return f()
	}
	key := c.Who.ID + ":" + form + act
	// Everything the form leads to is recorded under a name that its repetition has
	// too. The record of an action commits with the action, so the audit log knows
	// what was done however the process ended.
	sum := sha256.Sum256([]byte("form\x00" + key))
	c.Who.Request.ID = hex.EncodeToString(sum[:8])
	named := domain.WithRequest(c.Context, c.Who.Request)
	c.named.Store(&named)
	return c.Site.posts.once(key, func() (string, error) { return carriedOut(c) }, f)
}

// carriedOut returns the page of what this request did in an earlier process:
// the run that it created, else whatever its last record is about. It is empty if
// the audit log has no record of the request.
func carriedOut(c *Context) (string, error) {
	list, err := c.Site.App.Audit.List(c, c.Who.Actor(), domain.AuditFilter{Requests: []string{c.Who.Request.ID}, Page: domain.Page{Limit: 50}})
	if err != nil {
		return "", err
	}
	to := ""
	for _, e := range list.Items {
		if cmp.Or(e.Result, "ok") != "ok" {
			continue
		}
		if e.Action == "run.created" {
			return "/runs/" + e.Run, nil
		}
		if to == "" {
			to = cmp.Or(c.About(e).Href, "/audit/"+strconv.FormatInt(e.Seq, 10))
		}
	}
	return to, nil
}
