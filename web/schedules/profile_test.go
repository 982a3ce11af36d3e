package schedules_test

import (
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestTheProfileIsOneOfThePlan(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	webtest.HasProfiles(t, site, b, "/schedules", `name="cron"`, "cron", "@daily", "zone", "UTC", "overlap", "skip", "catchup", "ask",
		"do", "save")
}
