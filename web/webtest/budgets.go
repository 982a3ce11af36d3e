package webtest

import (
	"fmt"
	"testing"
	"time"
)

// budget inserts a budget that is nearly used up, with a window before, and a run that waits for it.
const budget = `
INSERT INTO budgets (public_id, key, scope, period, zone, unit, soft, degrade, hard, degrade_to, actor, created_at, updated_at)
VALUES ('%[1]s', 'team', 'label:team=a & <b>', 'day', 'Europe/Madrid', 'tokens', 500, 800, 1000, 'offline/echo', 'ada', %[2]d, %[2]d);
INSERT INTO budget_windows (budget_id, start_at, end_at, calls, used, estimated, extra, soft_at, degrade_at, hard_at)
SELECT b.id, %[2]d - 90000000000, %[2]d - 3600000000, 7, 420, 0, 0, 0, 0, 0 FROM budgets AS b WHERE b.public_id = '%[1]s';
INSERT INTO budget_windows (budget_id, start_at, end_at, calls, used, estimated, extra, soft_at, degrade_at, hard_at)
SELECT b.id, %[2]d - 3600000000, %[2]d + 82800000000, 12, 990, 40, 50, %[2]d, %[2]d, %[2]d FROM budgets AS b WHERE b.public_id = '%[1]s';
INSERT INTO budget_waits (run_id, budget_id, since, start_at, end_at, least)
SELECT r.id, b.id, %[2]d, %[2]d - 3600000000, %[2]d + 82800000000, 80
FROM budgets AS b, runs AS r WHERE b.public_id = '%[1]s' AND r.public_id = '%[3]s';
`

// budgets adds a budget for which a run waits.
func (d *Seeded) budgets(tb testing.TB, on Furnishing) {
	tb.Helper()
	on.Damage(tb, fmt.Sprintf(budget, "budget-of-the-team", time.Now().UnixMicro(), d.Waits.ID))
}
