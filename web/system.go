package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// system shows how the daemon and its data are, and what can be done about it.
func (r *request) system() error {
	if r.s.System == nil {
		return domain.Errorf(domain.CodeNotFound, "this installation has no page about itself")
	}
	i, err := r.s.System.Installation(r.ctx)
	if err != nil {
		return err
	}
	v, err := r.s.System.Vitals(r.ctx)
	if err != nil {
		return err
	}
	tools, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	providers, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	p := view.SystemPage{Vitals: r.vitals(v, i, providers, tools), Shell: r.shell("system", "System"), Idem: newID(), Parts: r.systemTabs("/system"),
		HeldHref: "/runs?q=" + url.QueryEscape("waiting:held")}
	if h := i.Hold; h != nil {
		p.Hold = r.t("This database is older than what was recorded of it.") + " "
		if h.Reason == domain.HoldRestored {
			p.Hold = r.t("This database was restored from %s.", visible(h.Backup)) + " "
		}
		if h.Reason == domain.HoldKeyLost {
			p.Hold = r.t("The key file of this database was lost: all access was ended, and only a new administrator can release the runs.") + " "
		}
		p.Hold += r.t("It ends at audit event %d.", h.Last) + " "
		if h.Lost > h.Last {
			p.Hold += r.n(int(h.Lost-h.Last), "%s event after that is lost.", "%s events after that are lost.") + " "
		}
		p.Hold += r.t("New runs wait, too, until you release all.")
	}
	if i.Held > 0 {
		p.Held = r.n(int(i.Held), "%s run is held", "%s runs are held")
	}
	p.CanMaintain = r.who.Role.Includes(domain.RoleOperator)
	if m := i.Maintenance; m != nil {
		p.Maintenance = r.t("Since %s, by %s: %s", r.time(m.Since).Text, visible(m.By), cmp.Or(visible(m.Reason), "-"))
	}
	p.CanRelease = (p.Hold != "" || p.Held != "") && r.who.Role.Includes(domain.RoleOperator)
	fact := func(list *[]view.Fact, term, format string, args ...any) {
		*list = append(*list, view.Fact{Term: term, Text: fmt.Sprintf(format, args...)})
	}
	state := r.t("running")
	switch {
	case i.Failed != "":
		state = r.t("stopping: %s", i.Failed)
	case i.Safe != "":
		state = r.t("safe mode: %s", i.Safe)
	case i.Hold != nil:
		state = r.t("held")
	}
	fact(&p.Health, r.t("State"), "%s", state)
	fact(&p.Health, r.t("Started"), "%s", r.time(i.Started).Text)
	if i.LastFailure != "" {
		fact(&p.Health, r.t("Stopped before by"), "%s", visible(i.LastFailure))
	}
	if !i.CheckedAt.IsZero() {
		found := r.t("nothing was found")
		if i.Finding != "" {
			found = visible(i.Finding)
		}
		fact(&p.Health, r.t("Examined"), "%s: %s", r.time(i.CheckedAt).Text, found)
	}
	fact(&p.Health, r.t("Start number"), "%d", i.Epoch)
	fact(&p.Health, r.t("Audit events"), "%d", i.Events)
	fact(&p.Health, r.t("Installation"), "%s", i.Instance)
	fact(&p.Health, r.t("Version"), "%s, schema %d", i.Version, i.Schema)
	if i.Host != "" {
		fact(&p.Health, r.t("Machine"), "%s", visible(i.Host))
	}
	if i.ConfigSum != "" {
		fact(&p.Health, r.t("Configuration"), "%s, sha256:%.12s", visible(filepath.Base(i.ConfigFile)), i.ConfigSum)
	}
	p.Health = append(p.Health, r.configFacts(i)...)
	return r.render(http.StatusOK, view.System(p))
}

// configFacts say since when the configuration is in force, and what of its file is
// not (O13).
func (r *request) configFacts(i domain.Installation) (facts []view.Fact) {
	if !i.ConfigAt.IsZero() {
		facts = append(facts, view.Fact{Term: r.t("In force since"), Text: r.time(i.ConfigAt).Text})
	}
	if len(i.ConfigLater) > 0 {
		facts = append(facts, view.Fact{Term: r.t("Takes effect at the next start"), Text: visible(strings.Join(i.ConfigLater, ", "))})
	}
	if i.ConfigError != "" {
		facts = append(facts, view.Fact{Term: r.t("Not taken up"), Text: visible(i.ConfigError)})
	}
	return facts
}

// systemParts are the pages about the installation and who may see each.
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

func (r *request) systemTabs(current string) []view.Link {
	var out []view.Link
	for _, p := range systemParts {
		if r.may(p.op) {
			out = append(out, view.Link{Text: r.t(p.word), Href: p.href, Current: p.href == current})
		}
	}
	return out
}

// installation is how the daemon and its data are.
func (r *request) installation() (domain.Installation, error) {
	if r.s.System == nil {
		return domain.Installation{}, domain.Errorf(domain.CodeNotFound, "this installation has no page about itself")
	}
	return r.s.System.Installation(r.ctx)
}

// systemStorage shows what takes room, what would free it, and the backups.
func (r *request) systemStorage() error {
	i, err := r.installation()
	if err != nil {
		return err
	}
	p := view.SystemPage{Shell: r.shell("system", "Storage"), Parts: r.systemTabs("/system/storage"), Idem: newID(), BackupDir: i.BackupDir, Retention: i.Retention, PlansAt: r.time(i.PlansAt), TablesAt: r.time(i.TablesAt),
		CanBackUp: r.who.Role.Includes(domain.RoleAdmin)}
	p.Storage = []view.Fact{
		{Term: r.t("Database"), Text: r.bytes(i.Storage.Database)},
		{Term: r.t("Free in it"), Text: r.bytes(i.Storage.Unused)},
		{Term: r.t("Write-ahead log"), Text: r.bytes(i.Storage.WAL)},
		{Term: r.t("Free on the disk"), Text: r.t("%s of %s", r.bytes(i.Storage.Free), r.bytes(i.Storage.Disk))},
	}
	for _, s := range i.Plans {
		p.Plans = append(p.Plans, view.PlanStorage{Plan: visible(s.Plan), Href: "/plans/" + url.PathEscape(s.Plan), Runs: r.number(s.Runs),
			Rows: r.number(s.Rows), Purged: r.number(s.Purged), Size: r.bytes(s.Bytes)})
	}
	for _, t := range i.Tables {
		p.Tables = append(p.Tables, view.TableRow{Name: visible(t.Table), Size: r.bytes(t.Bytes), Index: r.bytes(t.Index)})
	}
	for _, b := range i.Backups {
		p.Encrypted = p.Encrypted || b.Encryption != nil
		p.Backups = append(p.Backups, view.BackupRow{Name: visible(filepath.Base(b.Path)), Created: r.time(b.Created), Size: r.bytes(b.Bytes),
			Event: r.number(b.AuditSeq), Runs: r.number(b.Rows["runs"])})
	}
	if app.May(r.who.actor(), app.RunRetention) && len(i.Retention) > 0 {
		if would, err := r.s.App.System.RunRetention(r.ctx, app.RetentionRequest{Meta: app.Meta{By: r.who.actor()}, DryRun: true}); err == nil {
			p.Would = r.t("Retention would free about %s now.", r.bytes(wouldFree(would, i.Plans)))
		}
	}
	return r.render(http.StatusOK, view.SystemStorage(p))
}

// wouldFree estimates what retention would free by what the rows of each plan take
// on average.
func wouldFree(would domain.Retained, plans []domain.PlanStorage) int64 {
	per := map[string]float64{}
	for _, s := range plans {
		if s.Rows > 0 {
			per[s.Plan] = float64(s.Bytes) / float64(s.Rows)
		}
	}
	total := 0.0
	for _, p := range would.Plans {
		total += per[p.Plan] * float64(p.Rows)
	}
	return int64(total)
}

// systemJobs shows what the daemon does by itself.
func (r *request) systemJobs() error {
	i, err := r.installation()
	if err != nil {
		return err
	}
	p := view.SystemPage{Shell: r.shell("system", "Background jobs"), Parts: r.systemTabs("/system/jobs")}
	for _, j := range i.Jobs {
		row := view.JobRow{Name: r.t(j.Name), Every: about(j.Every), Error: visible(j.Error), Last: r.time(j.LastAt), Next: r.time(j.NextAt), State: word("idle", "i-wait", locale.Mark("waits"), true)}
		switch {
		case j.Running:
			row.State, row.Next = word("now", "i-now", locale.Mark("running"), false), view.Time{}
		case j.Error != "":
			row.State = word("fail", "i-fail", locale.Mark("failed"), true)
		case !j.LastAt.IsZero():
			row.State = word("ok", "i-ok", locale.Mark("done"), true)
		}
		if j.Took > 0 {
			row.Took = span(j.Took)
		}
		p.Jobs = append(p.Jobs, row)
	}
	return r.render(http.StatusOK, view.SystemJobs(p))
}

// The jobs of the daemon, for the catalogue of words.
var _ = []string{locale.Mark("sum up storage"), locale.Mark("retention"), locale.Mark("examine the database"), locale.Mark("backup"), locale.Mark("test a restore")}

// shownLines is how many lines of the log a page holds.
const shownLines = 200

// systemLog shows the end of the daemon's own log.
func (r *request) systemLog() error {
	if r.s.System == nil {
		return domain.Errorf(domain.CodeNotFound, "this installation has no page about itself")
	}
	level, text := r.c.QueryParam("level"), r.c.QueryParam("q")
	p := view.SystemLogPage{Shell: r.shell("system", "Daemon log"), Parts: r.systemTabs("/system/log"), Query: text}
	known := false
	for _, l := range []struct{ value, word string }{{"", locale.Mark("all")}, {"INFO", locale.Mark("info and worse")}, {"WARN", locale.Mark("warnings and errors")}, {"ERROR", locale.Mark("errors")}} {
		known = known || l.value == level
		p.Levels = append(p.Levels, view.Option{Value: l.value, Text: r.t(l.word), Selected: l.value == level})
	}
	if !known {
		return domain.Errorf(domain.CodeInvalid, "there is no level %q", visible(level)).Suggest("INFO, WARN or ERROR")
	}
	lines, err := r.s.System.Log(r.ctx, level, text)
	if err != nil {
		return err
	}
	p.Says = r.t("The newest lines since the start, newest first. Everything is on the daemon's standard error.")
	if len(lines) > shownLines {
		p.Says = r.t("The newest %s of %s lines that match, newest first.", r.number(shownLines), r.number(int64(len(lines))))
		lines = lines[:shownLines]
	}
	if len(lines) == 0 {
		p.Says = r.t("No line matches.")
	}
	for _, l := range lines {
		p.Lines = append(p.Lines, view.DaemonLine{At: r.time(l.At), Level: visible(l.Level), Text: visible(l.Message), Facts: visible(l.Facts), Bad: l.Level == "ERROR" || l.Level == "WARN"})
	}
	return r.render(http.StatusOK, view.SystemLog(p))
}

// systemConfig shows what the daemon goes by, and where it is from; no secret is in it.
func (r *request) systemConfig() error {
	s, err := r.configured()
	if err != nil {
		return err
	}
	i, err := r.installation()
	if err != nil {
		return err
	}
	p := view.SystemConfigPage{Shell: r.shell("system", "Configuration"), Parts: r.systemTabs("/system/config"), Source: r.source(s)}
	if i.ConfigSum != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Checksum"), Text: "sha256:" + i.ConfigSum})
	}
	p.Facts = append(p.Facts, r.configFacts(i)...)
	for _, v := range s.Effective {
		p.Settings = append(p.Settings, view.SettingRow{Key: visible(v.Key), Value: visible(v.Value), Origin: r.t(originWords[v.Origin])})
	}
	return r.render(http.StatusOK, view.SystemConfig(p))
}

// releaseAll ends a hold.
func (r *request) releaseAll() error {
	if _, err := r.s.App.System.Release(r.ctx, app.HeldRuns{Meta: r.meta(), Reason: r.c.FormValue("reason")}); err != nil {
		return err
	}
	return r.to("/system")
}

// maintain begins or ends maintenance.
func (r *request) maintain() error {
	if _, err := r.s.App.System.Maintain(r.ctx, app.MaintenanceChange{Meta: r.meta(), On: r.c.FormValue("on") == "true", Reason: r.c.FormValue("reason")}); err != nil {
		return err
	}
	return r.to("/system")
}

// backUp makes a backup. It goes on when the browser is closed: a large database takes
// minutes.
func (r *request) backUp() error {
	if _, err := r.s.App.System.BackUp(r.ctx, r.meta()); err != nil {
		return err
	}
	return r.to("/system/storage")
}

// bytesText is a size for people.
func (r *request) bytes(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%d KiB", n/unit)
	case n < unit*unit*unit:
		return r.display.lang.Decimal(float64(n)/(unit*unit), 1) + " MiB"
	}
	return r.display.lang.Decimal(float64(n)/(unit*unit*unit), 2) + " GiB"
}
