package notify_test

import (
	"net"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
)

// Channels change while messages wait: later events use the new channels and links, and nothing is
// sent twice.
func TestReceiversChange(t *testing.T) {
	t.Parallel()
	before, after := newReceiver(t), newReceiver(t)
	d := open(t, storetest.Open(t), loopback, hook(before.URL))
	d.pass()
	d.run("ledger", domain.RunFailed, "", "the bank is closed")
	d.pass()
	if got := before.take(); len(got) != 1 {
		t.Fatalf("before: %+v", got)
	}
	if err := d.Reconfigure(notify.Reach{Channels: []notify.Channel{hook(after.URL)}}); err == nil {
		t.Error("channels without a dialer are taken")
	}
	dialer, err := tool.NewDialer(nil, loopback)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Reconfigure(notify.Reach{Channels: []notify.Channel{hook(after.URL, "completed")}, Dialer: dialer,
		URL: "https://other.example"}); err != nil {
		t.Fatal(err)
	}
	run := d.run("ledger", domain.RunCompleted, "", "")
	d.run("other", domain.RunFailed, "", "nobody is told of failures now")
	d.pass()
	if got := after.take(); len(got) != 1 || got[0].Run.URL != "https://other.example/runs/"+run.ID {
		t.Errorf("after: %+v", got)
	}
	if got := before.take(); len(got) != 0 {
		t.Errorf("the receiver of before is told: %+v", got)
	}
	if err := d.Reconfigure(notify.Reach{Dialer: &net.Dialer{}}); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Channels(t.Context(), 5); err != nil || len(list) != 0 {
		t.Errorf("channels: %+v %v", list, err)
	}
}
