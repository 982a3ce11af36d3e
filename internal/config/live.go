package config

import (
	"reflect"
	"slices"
	"strings"
)

// Live returns the part of a configuration that applies to a daemon that was started with another
// one: everything except its addresses and reporting, which stay. later lists the keys that take
// effect at the next start, sorted.
func (c Config) Live(started Config) (live Config, later []string) {
	live = c
	keep := func(differs bool, restore func(), keys ...string) {
		if differs {
			restore()
			later = append(later, keys...)
		}
	}
	was := started.Server
	keep(c.Server.Listen != was.Listen, func() { live.Server.Listen = was.Listen }, "server.listen")
	keep(c.Server.SocketMode != was.SocketMode, func() { live.Server.SocketMode = was.SocketMode }, "server.socket_mode")
	keep(!slices.Equal(c.Server.Hosts, was.Hosts), func() { live.Server.Hosts = was.Hosts }, "server.hosts")
	keep(
		!slices.Equal(c.Server.TrustedProxies, was.TrustedProxies),
		func() { live.Server.TrustedProxies = was.TrustedProxies },
		"server.trusted_proxies",
	)
	// Another certificate can be applied, but TLS cannot be enabled or disabled.
	keep(
		(c.Server.TLSCert == "") != (was.TLSCert == ""),
		func() { live.Server.TLSCert, live.Server.TLSKey = was.TLSCert, was.TLSKey },
		"server.tls_cert",
		"server.tls_key",
	)
	keep(c.Hooks.Listen != started.Hooks.Listen, func() { live.Hooks.Listen = started.Hooks.Listen }, "hooks.listen")
	keep(c.Engine.Backend != started.Engine.Backend, func() { live.Engine.Backend = started.Engine.Backend }, "engine.backend")
	keep(
		!reflect.DeepEqual(c.Engine.Temporal, started.Engine.Temporal),
		func() { live.Engine.Temporal = started.Engine.Temporal },
		"engine.temporal",
	)
	keep(!reflect.DeepEqual(c.Telemetry, started.Telemetry), func() { live.Telemetry = started.Telemetry }, "telemetry")
	if len(later) > 0 {
		waits := func(n Named) bool {
			return slices.ContainsFunc(later, func(key string) bool { return n.Key == key || strings.HasPrefix(n.Key, key+".") })
		}
		live.Named = slices.DeleteFunc(slices.Clone(c.Named), waits)
		for _, n := range started.Named {
			if waits(n) {
				live.Named = append(live.Named, n)
			}
		}
		slices.SortStableFunc(live.Named, func(a, b Named) int { return strings.Compare(a.Key, b.Key) })
	}
	slices.Sort(later)
	return live, later
}

// Changed returns the top-level keys in which two configurations differ, sorted.
func Changed(before, after Config) []string {
	var out []string
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range a.NumField() {
		if key := a.Type().Field(i).Tag.Get("yaml"); key != "-" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
