package browsertest

import "testing"

// The field for the profile of a schedule follows the plan that the form has.
func TestProfilesFollowThePlan(t *testing.T) {
	d := newDaemon(t)
	d.plan("id: payout\nnodes: {a: {type: set, input: 1}}\nprofiles: {dev: {priority: 1}, prod: {priority: 2}}\n")
	d.plan("id: bare\nnodes: {a: {type: set, input: 1}}\n")
	b := d.tab()
	for _, page := range []string{"/schedules/new", "/events/hooks/new"} {
		b.open(page)
		b.until("a profile can be typed", there(`input[name="profile"]`))
		b.fill(`input[name="plan"]`, "payout")
		b.press("\t")
		b.until("the profiles of the plan are there", `document.querySelectorAll('select[name="profile"] option').length === 3`)
		b.accessible(page)
		b.fill(`input[name="plan"]`, "bare")
		b.press("\t")
		b.until("the other plan has none", `document.querySelectorAll('select[name="profile"] option').length === 1`)
		b.quiet(page)
	}
}
