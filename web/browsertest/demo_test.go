package browsertest

import "testing"

// The demonstration kills a real second daemon during a payment. The page warns of a duplicate
// payment, accepts a decision, and shows one payment in the ledger.
func TestThePlugIsPulledInTheBrowser(t *testing.T) {
	large(t)
	d := newDaemon(t)
	b := d.tab()
	b.open("/")
	b.click(`main a[href="/demo"]`)
	b.until("the page of the demonstration is there", there(`button[value="unsafe"]`))
	b.click(`button[value="unsafe"]`)
	b.until("the page asks", there(`.note.doubt button[value="happened"]`))
	b.until("it warns", `document.querySelector(".note.doubt").innerText.includes("might pay twice")`)
	b.click(`button[value="happened"]`)
	b.until("the run completed with one payment", `document.querySelector(".note.good")?.innerText.includes("The ledger has 1 payment.")`)
	b.open("/")
	b.until("the step is done", `!document.querySelector('main a[href="/demo"]')`)
	b.quiet("the demonstration")
}
