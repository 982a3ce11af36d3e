package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
	"github.com/kairosd/kairosd/web/view"
)

// Settings is what the configuration says, and what can be tried of it. Values
// are changed in the configuration file: a page never holds a secret.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

func (r *request) configured() (domain.Settings, error) {
	if r.s.Settings == nil {
		return domain.Settings{}, domain.Errorf(domain.CodeNotFound, "settings are not shown here")
	}
	return r.s.Settings.Settings(r.ctx)
}

// source says where settings are changed.
func (r *request) source(s domain.Settings) string {
	if s.File == "" {
		return r.t("There is no configuration file: everything is as it comes. Start kairosd with --config FILE to change it.")
	}
	return r.t("Set in %s, which kairosd reads when it starts.", visible(s.File))
}

var originWords = map[string]string{"file": locale.Mark("the file"), "default": locale.Mark("as it comes"), "command line": locale.Mark("the command line"), "environment": locale.Mark("the environment")}

// accessSettings shows how people come in.
func (r *request) accessSettings() error {
	s, err := r.configured()
	if err != nil {
		return err
	}
	p := view.AccessPage{Shell: r.shell("settings", "Access"), Source: r.source(s)}
	for _, v := range s.Access {
		p.Settings = append(p.Settings, view.SettingRow{Key: visible(v.Key), Value: visible(v.Value), Origin: r.t(originWords[v.Origin])})
	}
	return r.render(http.StatusOK, view.AccessSettings(p))
}

// retentionSettings shows the rules and what they would remove now.
func (r *request) retentionSettings() error { return r.showRetention(http.StatusOK, "") }

func (r *request) showRetention(code int, problem string) error {
	s, err := r.configured()
	if err != nil {
		return err
	}
	p := view.RetentionPage{Shell: r.shell("settings", "Retention"), Source: r.source(s), Idem: newID(), Error: problem, Every: visible(s.Retention.Every), Audit: visible(s.Retention.Audit), MaxSize: visible(s.Retention.MaxSize)}
	for _, v := range s.Retention.Rules {
		row := view.RetentionRow{Plan: visible(v.Plan), Completed: visible(v.Completed), Failed: visible(v.Failed), Cancelled: visible(v.Cancelled)}
		if v.Keep > 0 {
			row.Keep = r.number(v.Keep)
		}
		p.Rules = append(p.Rules, row)
	}
	would, err := r.s.App.System.RunRetention(r.ctx, app.RetentionRequest{Meta: app.Meta{By: r.who.actor()}, DryRun: true})
	switch domain.CodeOf(err) {
	case "":
		p.Would = r.n(int(would.Runs), "Now %s run would lose its journal and values", "Now %s runs would lose their journals and values") + ", " +
			r.n(int(would.Rows), "%s journal row in all.", "%s journal rows in all.")
		for _, plan := range would.Plans {
			p.Plans = append(p.Plans, view.RetainedRow{Plan: visible(plan.Plan), Href: "/plans/" + url.PathEscape(plan.Plan), Reason: visible(plan.Reason), Runs: r.number(plan.Runs), Rows: r.number(plan.Rows)})
		}
		if p.CanRun = would.Runs+would.Events > 0; !p.CanRun {
			p.Would = r.t("Nothing would go now.")
		}
	case domain.CodeConflict, domain.CodeUnavailable:
		p.Would = r.sentence(err) // it is at work
	default:
		return err
	}
	return r.render(code, view.Retention(p))
}

func (r *request) runRetention() error {
	if _, err := r.configured(); err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	if reason == "" || len(reason) > ui.MaxReason {
		return r.showRetention(http.StatusUnprocessableEntity, r.t("Say why, in at most %d characters: the audit log keeps it.", ui.MaxReason))
	}
	if _, err := r.s.App.System.RunRetention(r.ctx, app.RetentionRequest{Meta: r.meta(), Reason: reason}); err != nil {
		return err
	}
	return r.to("/settings/retention")
}

var kindWords = map[string]string{
	"failed": locale.Mark("a run failed"), "completed": locale.Mark("a run completed"), "cancelled": locale.Mark("a run was cancelled"), "approval": locale.Mark("an approval waits"),
	"in_doubt": locale.Mark("a step is in doubt"), "quarantined": locale.Mark("a run is quarantined"), "held": locale.Mark("a run is held"), "budget": locale.Mark("a budget is used up"),
	"system": locale.Mark("kairosd itself is in trouble"), "test": locale.Mark("a test"),
}

var deliveryWords = map[domain.DeliveryStatus]string{
	domain.DeliveryPending: locale.Mark("waits"), domain.DeliverySent: locale.Mark("delivered"), domain.DeliveryFailed: locale.Mark("given up"),
}

// notificationSettings shows who is told of what, and the newest messages.
func (r *request) notificationSettings() error {
	s, err := r.configured()
	if err != nil {
		return err
	}
	p := view.NotificationsPage{Shell: r.shell("settings", "Notifications"), Source: r.source(s)}
	for i, c := range s.Notifications {
		ch := view.ChannelView{ID: "c" + strconv.Itoa(i), Name: visible(c.Name), Type: c.Type, Target: visible(c.Target), Plans: visible(strings.Join(c.Plans, ", ")), Signed: c.Signed, Idem: newID(),
			Test: "/settings/notifications/" + url.PathEscape(c.Name) + "/test"}
		var kinds []string
		for _, k := range c.On {
			kinds = append(kinds, r.t(kindWords[k]))
		}
		ch.On = strings.Join(kinds, ", ")
		for _, d := range c.Last {
			row := view.DeliveryRow{ID: d.ID, Kind: r.t(kindWords[d.Kind]), Created: r.time(d.CreatedAt), State: r.t(deliveryWords[d.Status]), Bad: d.Status == domain.DeliveryFailed, Attempts: r.number(int64(d.Attempts)), Error: visible(d.Error)}
			if d.Status == domain.DeliveryPending && d.DueAt.After(time.Now()) {
				row.Due = r.time(d.DueAt)
			}
			if d.More > 0 {
				row.More = r.n(int(d.More), "and %s more like it", "and %s more like it")
			}
			ch.Last = append(ch.Last, row)
		}
		p.Channels = append(p.Channels, ch)
	}
	return r.render(http.StatusOK, view.Notifications(p))
}

// testChannel sends a test message; what came of it is the newest in the list.
func (r *request) testChannel() error {
	if _, err := r.configured(); err != nil {
		return err
	}
	if _, err := r.s.App.System.TestNotifications(r.ctx, app.ChannelTest{Meta: r.meta(), Channel: r.c.Param("channel")}); err != nil {
		return err
	}
	return r.to("/settings/notifications")
}
