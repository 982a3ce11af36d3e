package hooks_test

import (
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestTheProfileIsOneOfThePlan(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	webtest.HasProfiles(t, site, b, "/events/hooks", `name="scheme"`, "scheme", "bearer", "secret", "S")
}
