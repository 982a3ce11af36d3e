package settings

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/config"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) configured(c *ui.Context) (domain.Settings, error) {
	if s.Settings == nil {
		return domain.Settings{}, domain.Errorf(domain.CodeNotFound, "settings are not shown here")
	}
	return s.Settings.Settings(c)
}

// accessSettings serves the page about login methods and sessions.
func (s *section) accessSettings(c *ui.Context) error {
	set, err := s.configured(c)
	if err != nil {
		return err
	}
	p := AccessPage{Shell: c.Shell("settings", "Access"), Source: config.Source(c, set)}
	p.Settings = config.Rows(c, set.Access)
	return c.Render(http.StatusOK, AccessSettings(p))
}

// retentionSettings serves the retention rules, with a preview of what they would delete now.
func (s *section) retentionSettings(c *ui.Context) error {
	return s.showRetention(c, http.StatusOK, "")
}

func (s *section) showRetention(c *ui.Context, code int, problem string) error {
	set, err := s.configured(c)
	if err != nil {
		return err
	}
	p := RetentionPage{
		Shell:  c.Shell("settings", "Retention"),
		Source: config.Source(c, set),
		Idem:   kit.NewID(),
		Error:  problem,
		Every:  set.Retention.Every.Age(),
		Audit:  set.Retention.Audit.Age(),
	}
	if set.Retention.MaxSize > 0 {
		p.MaxSize = c.Size(int(set.Retention.MaxSize))
	}
	for _, v := range set.Retention.Rules {
		row := RetentionRow{
			Plan:      kit.Escape(v.Plan),
			Completed: v.Completed.Age(),
			Failed:    v.Failed.Age(),
			Cancelled: v.Cancelled.Age(),
		}
		if v.Keep > 0 {
			row.Keep = c.Number(v.Keep)
		}
		p.Rules = append(p.Rules, row)
	}
	would, err := s.App.System.RunRetention(c, app.RetentionRequest{Meta: app.Meta{By: c.Principal.Actor()}, DryRun: true})
	switch domain.CodeOf(err) {
	case "":
		p.Would = c.N(
			int(would.Runs),
			"%s run would lose its journal and values",
			"%s runs would lose their journals and values",
		) + ", " +
			c.N(
				int(would.Rows),
				"%s journal row in all.",
				"%s journal rows in all.",
			)
		for _, plan := range would.Plans {
			p.Plans = append(
				p.Plans,
				RetainedRow{
					Plan:   kit.Escape(plan.Plan.Key),
					Href:   "/plans/" + url.PathEscape(plan.Plan.Key),
					Reason: kit.Escape(plan.Reason),
					Runs:   c.Number(plan.Runs),
					Rows:   c.Number(plan.Rows),
				},
			)
		}
		if p.CanRun = would.Runs+would.Events > 0; !p.CanRun {
			p.Would = c.T("No expired data.")
		}
	case domain.CodeConflict, domain.CodeUnavailable:
		p.Would = c.Sentence(err) // such as a retention run in progress
	default:
		return err
	}
	return c.Render(code, Retention(p))
}

func (s *section) runRetention(c *ui.Context) error {
	if _, err := s.configured(c); err != nil {
		return err
	}
	reason := strings.TrimSpace(c.Field("reason"))
	if reason == "" || len(reason) > ui.MaxReason {
		return s.showRetention(
			c,
			http.StatusUnprocessableEntity,
			c.T("Enter a reason for the audit log, at most %d characters.", ui.MaxReason),
		)
	}
	if _, err := s.App.System.RunRetention(c, app.RetentionRequest{Meta: c.Meta(), Reason: reason}); err != nil {
		return err
	}
	return c.RedirectTo("/settings/retention")
}

var kindWords = map[string]string{
	"failed": locale.Mark(
		"a run failed",
	), "completed": locale.Mark("a run completed"), "cancelled": locale.Mark("a run was cancelled"),
	"approval": locale.Mark("an approval waits"),
	"in_doubt": locale.Mark(
		"a step is in doubt",
	), "quarantined": locale.Mark("a run is quarantined"), "held": locale.Mark("a run is held"),
	"budget": locale.Mark("a budget is used up"),
	"system": locale.Mark("kairosd itself is in trouble"), "test": locale.Mark("a test"),
}

var deliveryWords = map[domain.DeliveryStatus]string{
	domain.DeliveryPending: locale.Mark(
		"waits",
	), domain.DeliverySent: locale.Mark("delivered"), domain.DeliveryFailed: locale.Mark("failed"),
}

// notificationSettings serves the notification channels and their newest messages.
func (s *section) notificationSettings(c *ui.Context) error {
	set, err := s.configured(c)
	if err != nil {
		return err
	}
	p := NotificationsPage{Shell: c.Shell("settings", "Notifications"), Source: config.Source(c, set)}
	for i, to := range set.Notifications {
		p.Channels = append(p.Channels, channel(c, i, to))
	}
	return c.Render(http.StatusOK, Notifications(p))
}

// channel describes a channel and its newest deliveries. i is its place in the list.
func channel(c *ui.Context, i int, to domain.ChannelInfo) ChannelView {
	ch := ChannelView{
		ID:     "c" + strconv.Itoa(i),
		Name:   kit.Escape(to.Name),
		Type:   to.Type,
		Target: kit.Escape(to.Target),
		Plans:  kit.Escape(strings.Join(to.Plans, ", ")),
		Signed: to.Signed,
		Idem:   kit.NewID(),
		Test:   "/settings/notifications/" + url.PathEscape(to.Name) + "/test",
	}
	var kinds []string
	for _, k := range to.On {
		kinds = append(kinds, c.T(kindWords[k]))
	}
	ch.On = strings.Join(kinds, ", ")
	for _, d := range to.Last {
		ch.Last = append(ch.Last, delivery(c, d))
	}
	return ch
}

func delivery(c *ui.Context, d domain.Delivery) DeliveryRow {
	row := DeliveryRow{
		ID:       d.ID,
		Kind:     c.T(kindWords[d.Kind]),
		Created:  c.Time(d.CreatedAt),
		State:    c.T(deliveryWords[d.Status]),
		Bad:      d.Status == domain.DeliveryFailed,
		Attempts: c.Number(int64(d.Attempts)),
		Error:    kit.Escape(d.Error),
	}
	if d.Status == domain.DeliveryPending && d.DueAt.After(time.Now()) {
		row.Due = c.Time(d.DueAt)
	}
	if d.More > 0 {
		row.More = c.N(int(d.More), "and %s more like it", "and %s more like it")
	}
	return row
}

// testChannel handles the form that sends a test message. Its result becomes the first row of the
// list.
func (s *section) testChannel(c *ui.Context) error {
	if _, err := s.configured(c); err != nil {
		return err
	}
	if _, err := s.App.System.TestNotifications(c, app.ChannelTest{Meta: c.Meta(), Channel: c.Param("channel")}); err != nil {
		return err
	}
	return c.RedirectTo("/settings/notifications")
}
