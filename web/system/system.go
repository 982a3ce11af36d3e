package system

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/config"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// system serves the health page.
func (s *section) system(c *ui.Context) error {
	if s.System == nil {
		return domain.Errorf(domain.CodeNotFound, "the system page requires a running server")
	}
	i, err := s.System.Server(c)
	if err != nil {
		return err
	}
	v, err := s.System.HealthMetrics(c)
	if err != nil {
		return err
	}
	tools, err := s.App.Tools.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	providers, err := s.App.Providers.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := s.systemPage(c, i)
	p.Attention, p.Healthy = sorted(s.healthMetrics(c, v, i, providers, tools))
	p.Normal = c.N(len(p.Healthy), "%s metric within its threshold", "%s metrics within their thresholds")
	return c.Render(http.StatusOK, Health(p))
}

// systemPage describes the state of the server: hold, maintenance, and configuration.
func (s *section) systemPage(c *ui.Context, i domain.Server) SystemPage {
	p := SystemPage{
		Shell:    c.Shell("system", "System"),
		Idem:     kit.NewID(),
		Parts:    s.systemTabs(c, "/system"),
		HeldHref: "/runs?q=" + url.QueryEscape("waiting:held"),
	}
	p.Hold = holdText(c, i.Hold)
	if i.Held > 0 {
		p.Held = c.N(int(i.Held), "%s run is held", "%s runs are held")
	}
	p.CanMaintain = c.Principal.Role.Includes(domain.RoleOperator)
	if m := i.Maintenance; m != nil {
		p.Maintenance = c.T("Since %s, by %s: %s",
			c.Time(m.Since).Text, kit.Escape(m.By), cmp.Or(kit.Escape(m.Reason), "-"))
	}
	p.CanRelease = (p.Hold != "" || p.Held != "") && c.Principal.Role.Includes(domain.RoleOperator)
	p.State = serverState(i)
	p.Health = slices.Concat(healthFacts(c, i), workerFacts(c, i.Workers), s.configFacts(c, i))
	return p
}

// holdText states why all runs are held, and which audit events are lost.
func holdText(c *ui.Context, h *domain.Hold) string {
	if h == nil {
		return ""
	}
	text := c.T("This database is older than the record of its state.")
	switch h.Reason {
	case domain.HoldRestored:
		text = c.T("This database was restored from %s.", kit.Escape(h.Backup))
	case domain.HoldKeyLost:
		text = c.T(
			"The key file of this database was lost. All sessions and tokens were ended. Only a new administrator can " +
				"release the runs.",
		)
	}
	text += " " + c.T("It ends at audit event %d.", h.Last) + " "
	if h.Lost > h.Last {
		text += c.N(int(h.Lost-h.Last), "%s event after that is lost.", "%s events after that are lost.") + " "
	}
	return text + c.T("New runs also wait until you release all.")
}

// serverState returns the state of the server.
func serverState(i domain.Server) kit.Status {
	switch {
	case i.Failed != "":
		return kit.Word("fail", "i-fail", locale.Mark("stopping"), false)
	case i.Safe != "":
		return kit.Word("need", "i-pause", locale.Mark("safe mode"), false)
	case i.Hold != nil:
		return kit.Word("need", "i-pause", locale.Mark("held"), false)
	case i.Maintenance != nil:
		return kit.Word("need", "i-pause", locale.Mark("maintenance"), false)
	}
	return kit.Word("ok", "i-ok", locale.Mark("running"), false)
}

// healthFacts returns what the server reports about itself.
func healthFacts(c *ui.Context, i domain.Server) (facts []kit.Fact) {
	add := func(term, format string, args ...any) {
		facts = append(facts, kit.Fact{Term: term, Text: fmt.Sprintf(format, args...)})
	}
	if reason := cmp.Or(i.Failed, i.Safe); reason != "" {
		add(c.T("Reason"), "%s", kit.Escape(reason))
	}
	add(c.T("Started"), "%s", c.Time(i.Started).Text)
	if i.LastFailure != "" {
		add(c.T("Previous stop"), "%s", kit.Escape(i.LastFailure))
	}
	if !i.CheckedAt.IsZero() {
		found := c.T("no problem found")
		if i.Finding != "" {
			found = kit.Escape(i.Finding)
		}
		add(c.T("Integrity check"), "%s: %s", c.Time(i.CheckedAt).Text, found)
	}
	add(c.T("Start number"), "%d", i.OpenCount)
	add(c.T("Audit events"), "%d", i.Events)
	add(c.T("Instance"), "%s", i.Instance)
	add(c.T("Version"), "%s, schema %d", i.Version, i.Schema)
	if i.Host != "" {
		add(c.T("Machine"), "%s", kit.Escape(i.Host))
	}
	if i.ConfigSum != "" {
		add(c.T("Configuration"), "%s, sha256:%.12s", kit.Escape(filepath.Base(i.ConfigFile)), i.ConfigSum)
	}
	return facts
}

// configFacts returns when the configuration was applied, and which changes of its file require a
// restart (O13).
func (s *section) configFacts(c *ui.Context, i domain.Server) (facts []kit.Fact) {
	if !i.ConfigAt.IsZero() {
		facts = append(facts, kit.Fact{Term: c.T("Active since"), Text: c.Time(i.ConfigAt).Text})
	}
	if len(i.ConfigLater) > 0 {
		facts = append(facts, kit.Fact{Term: c.T("After a restart"), Text: kit.Escape(strings.Join(i.ConfigLater, ", "))})
	}
	if i.ConfigError != "" {
		facts = append(facts, kit.Fact{Term: c.T("Not applied"), Text: kit.Escape(i.ConfigError)})
	}
	return facts
}

// systemParts are the pages about the server. op is the operation that a user must be allowed to
// perform.
var systemParts = []struct {
	href, word string
	op         app.Operation
}{
	{"/system", locale.Mark("Health"), app.GetSystem},
	{"/system/storage", locale.Mark("Storage"), app.GetSystem},
	{"/system/jobs", locale.Mark("Background jobs"), app.GetSystem},
	{"/system/log", locale.Mark("Daemon log"), app.GetLog},
	{"/system/config", locale.Mark("Configuration"), app.GetSettings},
}

func (s *section) systemTabs(c *ui.Context, current string) []kit.Link {
	var out []kit.Link
	for _, p := range systemParts {
		if c.May(p.op) {
			out = append(out, kit.Link{Text: c.T(p.word), Href: p.href, Current: p.href == current})
		}
	}
	return out
}

// status returns the status of the server.
func (s *section) status(c *ui.Context) (domain.Server, error) {
	if s.System == nil {
		return domain.Server{}, domain.Errorf(domain.CodeNotFound, "the system page requires a running server")
	}
	return s.System.Server(c)
}

// systemStorage serves the page about storage, retention, and backups.
func (s *section) systemStorage(c *ui.Context) error {
	i, err := s.status(c)
	if err != nil {
		return err
	}
	p := SystemPage{
		Shell:     c.Shell("system", "Storage"),
		Parts:     s.systemTabs(c, "/system/storage"),
		Idem:      kit.NewID(),
		BackupDir: i.BackupDir,
		Retention: i.Retention,
		PlansAt:   c.Time(i.PlansAt),
		TablesAt:  c.Time(i.TablesAt),
		CanBackUp: c.Principal.Role.Includes(domain.RoleAdmin),
	}
	addStorage(c, &p, i)
	if app.May(c.Principal.Actor(), app.RunRetention) && len(i.Retention) > 0 {
		dryRun := app.RetentionRequest{Meta: app.Meta{By: c.Principal.Actor()}, DryRun: true}
		if would, err := s.App.System.RunRetention(c, dryRun); err == nil {
			p.Would = c.T("Retention would free about %s now.", vital.Bytes(c.Display.Lang, wouldFree(would, i.Plans)))
		}
	}
	return c.Render(http.StatusOK, SystemStorage(p))
}

// addStorage adds the sizes of the database, its plans and tables, and the backups.
func addStorage(c *ui.Context, p *SystemPage, i domain.Server) {
	size := func(bytes int64) string { return vital.Bytes(c.Display.Lang, bytes) }
	p.Storage = []Figure{
		{Title: c.T("Database"), Value: size(i.Storage.Database)},
		{Title: c.T("Free inside the database"), Value: size(i.Storage.Unused)},
		{Title: c.T("Write-ahead log"), Value: size(i.Storage.WAL)},
		{Title: c.T("Free on the disk"), Value: size(i.Storage.Free), Remark: c.T("of %s", size(i.Storage.Disk))},
	}
	for _, s := range i.Plans {
		p.Plans = append(p.Plans, PlanStorage{Plan: kit.Escape(s.Plan.Key), Href: "/plans/" + url.PathEscape(s.Plan.Key),
			Runs: c.Number(s.Runs), Rows: c.Number(s.Rows), Purged: c.Number(s.Purged), Size: size(s.Bytes)})
	}
	for _, t := range i.Tables {
		p.Tables = append(p.Tables, TableRow{Name: kit.Escape(t.Table), Size: size(t.Bytes), Index: size(t.Index)})
	}
	for _, b := range i.Backups {
		p.Encrypted = p.Encrypted || b.Encryption != nil
		p.Backups = append(p.Backups, BackupRow{Name: kit.Escape(filepath.Base(b.Path)), Created: c.Time(b.Created), Size: size(b.Bytes),
			Event: c.Number(b.AuditSeq), Runs: c.Number(b.Rows["runs"])})
	}
}

// wouldFree estimates how many bytes retention would free, from the average size of the rows of
// each plan.
func wouldFree(would domain.RetentionResult, plans []domain.PlanStorage) int64 {
	per := map[string]float64{}
	for _, s := range plans {
		if s.Rows > 0 {
			per[s.Plan.Key] = float64(s.Bytes) / float64(s.Rows)
		}
	}
	total := 0.0
	for _, p := range would.Plans {
		total += per[p.Plan.Key] * float64(p.Rows)
	}
	return int64(total)
}

// systemJobs serves the page about background jobs.
func (s *section) systemJobs(c *ui.Context) error {
	i, err := s.status(c)
	if err != nil {
		return err
	}
	p := JobsPage{Shell: c.Shell("system", "Background jobs"), Parts: s.systemTabs(c, "/system/jobs")}
	for _, j := range i.Jobs {
		p.Jobs = append(p.Jobs, jobRow(c, j))
	}
	return c.Render(http.StatusOK, SystemJobs(p))
}

func jobRow(c *ui.Context, j domain.Job) JobRow {
	row := JobRow{
		Name:  c.T(j.Name),
		Every: kit.ApproxDuration(j.Every.Duration()),
		Error: kit.Escape(j.Error),
		Last:  c.Time(j.LastAt),
		Next:  c.Time(j.NextAt),
		State: kit.Word("idle", "i-wait", locale.Mark("waits"), true),
	}
	switch {
	case j.Running:
		row.State, row.Next = kit.Word("now", "i-now", locale.Mark("running"), false), kit.Time{}
	case j.Error != "":
		row.State = kit.Word("fail", "i-fail", locale.Mark("failed"), true)
	case !j.LastAt.IsZero():
		row.State = kit.Word("ok", "i-ok", locale.Mark("done"), true)
	}
	if j.Took > 0 {
		row.Took = vital.Span(j.Took.Duration())
	}
	return row
}

// These names of jobs are not literals elsewhere in this package. They are marked here for
// translation.
var _ = []string{
	locale.Mark("measure storage"),
	locale.Mark("retention"),
	locale.Mark("check the database"),
	locale.Mark("backup"),
	locale.Mark("test a restore"),
}

// shownLines is the maximum number of log lines on a page.
const shownLines = 200

// systemLog serves the newest lines of the daemon log.
func (s *section) systemLog(c *ui.Context) error {
	if s.System == nil {
		return domain.Errorf(domain.CodeNotFound, "the system page requires a running server")
	}
	level, text := c.Query("level"), c.Query("q")
	p := SystemLogPage{Shell: c.Shell("system", "Daemon log"), Parts: s.systemTabs(c, "/system/log"), Query: text}
	p.Levels = levels(c, level)
	if !slices.ContainsFunc(p.Levels, func(o kit.Option) bool { return o.Selected }) {
		return domain.Errorf(domain.CodeInvalid, "there is no level %q", kit.Escape(level)).Suggest("INFO, WARN or ERROR")
	}
	lines, err := s.System.Log(c, level, text)
	if err != nil {
		return err
	}
	addLines(c, &p, lines)
	return c.Render(http.StatusOK, SystemLog(p))
}

// addLines adds the lines of the log, and their number.
func addLines(c *ui.Context, p *SystemLogPage, lines []domain.DaemonLog) {
	p.Text = c.T("Lines since the start, newest first. kairosd writes all of them to standard error.")
	if len(lines) > shownLines {
		p.Text = c.T("The newest %s of %s lines that match, newest first.", c.Number(shownLines), c.Number(int64(len(lines))))
		lines = lines[:shownLines]
	}
	if len(lines) == 0 {
		p.Text = c.T("No matching lines.")
	}
	for _, l := range lines {
		p.Lines = append(p.Lines, DaemonLine{At: c.Time(l.At), Level: kit.Escape(l.Level), Text: kit.Escape(l.Message),
			Facts: kit.Escape(l.Facts), Role: map[string]string{"ERROR": "fail", "WARN": "need"}[l.Level]})
	}
}

// levels are the choices of the least level of the log. selected is that of the page.
func levels(c *ui.Context, selected string) (list []kit.Option) {
	for _, l := range []struct{ value, word string }{{"", locale.Mark("all")}, {"INFO", locale.Mark("info and above")},
		{"WARN", locale.Mark("warnings and errors")}, {"ERROR", locale.Mark("errors")}} {
		list = append(list, kit.Option{Value: l.value, Text: c.T(l.word), Selected: l.value == selected})
	}
	return list
}

// configured returns the active configuration.
func (s *section) configured(c *ui.Context) (domain.Settings, error) {
	if s.Settings == nil {
		return domain.Settings{}, domain.Errorf(domain.CodeNotFound, "settings are not shown here")
	}
	return s.Settings.Settings(c)
}

// systemConfig serves the active configuration with the source of each value. It does not contain
// secrets.
func (s *section) systemConfig(c *ui.Context) error {
	set, err := s.configured(c)
	if err != nil {
		return err
	}
	i, err := s.status(c)
	if err != nil {
		return err
	}
	p := SystemConfigPage{
		Shell:  c.Shell("system", "Configuration"),
		Parts:  s.systemTabs(c, "/system/config"),
		Source: config.Source(c, set),
	}
	if i.ConfigSum != "" {
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Checksum"), Text: "sha256:" + i.ConfigSum})
	}
	p.Facts = append(p.Facts, s.configFacts(c, i)...)
	p.Settings = config.Rows(c, set.Effective)
	return c.Render(http.StatusOK, SystemConfig(p))
}

// releaseAll handles the form that releases all held runs.
func (s *section) releaseAll(c *ui.Context) error {
	if _, err := s.App.System.Release(c, app.HeldRuns{Meta: c.Meta(), Reason: c.Field("reason")}); err != nil {
		return err
	}
	return c.RedirectTo("/system")
}

// maintain handles the form that starts or ends maintenance.
func (s *section) maintain(c *ui.Context) error {
	if _, err := s.App.System.Maintain(c, app.MaintenanceChange{Meta: c.Meta(), On: c.Field("on") == "true",
		Reason: c.Field("reason")}); err != nil {
		return err
	}
	return c.RedirectTo("/system")
}

// backUp handles the form that makes a backup. A large database takes minutes, so the backup
// continues if the client disconnects.
func (s *section) backUp(c *ui.Context) error {
	if _, err := s.App.System.BackUp(c, c.Meta()); err != nil {
		return err
	}
	return c.RedirectTo("/system/storage")
}
