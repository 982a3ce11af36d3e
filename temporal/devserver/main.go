// Command devserver is a Temporal server for tests and trials: one process, with a SQLite file. It prints its address.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7233", "address of the server; port 0 chooses one")
	db := flag.String("db", "", "SQLite file (required)")
	namespace := flag.String("namespace", "default", "namespace to create")
	var files certificates
	flag.StringVar(&files.cert, "tls-cert", "", "certificate for localhost; with it, the server requires TLS and certificates of clients")
	flag.StringVar(&files.key, "tls-key", "", "private key of the certificate")
	flag.StringVar(&files.ca, "tls-ca", "", "certificates of authorities that sign the certificates of the server and its clients")
	flag.Parse()
	if err := serve(*listen, *db, *namespace, files); err != nil {
		log.Fatal(err)
	}
}

// hosts returns the addresses of the four services. The frontend has the given address.
func hosts(listen string) (map[primitives.ServiceName]static.Hosts, int, error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, 0, err
	}
	all := map[primitives.ServiceName]static.Hosts{}
	for _, name := range []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService, primitives.MatchingService,
		primitives.WorkerService} {
		own := 0
		if name == primitives.FrontendService {
			own = port
		}
		if own == 0 {
			if own, err = freePort(host); err != nil {
				return nil, 0, err
			}
		}
		if name == primitives.FrontendService {
			port = own
		}
		all[name] = static.SingleLocalHost(net.JoinHostPort(host, strconv.Itoa(own)))
	}
	return all, port, nil
}

func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// certificates are the files for TLS, or empty.
type certificates struct{ cert, key, ca string }

// config requires TLS and certificates of clients. The parts of the server connect to the frontend as clients do.
func (c certificates) config() (config.RootTLS, error) {
	switch {
	case c == certificates{}:
		return config.RootTLS{}, nil
	case c.cert == "" || c.key == "" || c.ca == "":
		return config.RootTLS{}, fmt.Errorf("use -tls-cert, -tls-key, and -tls-ca together")
	}
	own := config.ClientTLS{ServerName: "localhost", RootCAFiles: []string{c.ca}}
	return config.RootTLS{
		Frontend: config.GroupTLS{Client: own,
			Server: config.ServerTLS{CertFile: c.cert, KeyFile: c.key, ClientCAFiles: []string{c.ca}, RequireClientAuth: true}},
		SystemWorker: config.WorkerTLS{CertFile: c.cert, KeyFile: c.key, Client: own},
	}, nil
}

func serve(listen, db, namespace string, files certificates) error {
	if db == "" {
		return fmt.Errorf("-db is required")
	}
	encrypted, err := files.config()
	if err != nil {
		return err
	}
	all, port, err := hosts(listen)
	if err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	store := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: db,
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "2"}}
	services := map[string]config.Service{}
	for name, h := range all {
		_, text, err := net.SplitHostPort(h.Self)
		if err != nil {
			return err
		}
		own, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: own, BindOnLocalHost: true}}
	}
	c := &config.Config{
		Global: config.Global{Metrics: &metrics.Config{}, TLS: encrypted},
		Persistence: config.Persistence{DefaultStore: "sqlite", VisibilityStore: "sqlite", NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{"sqlite": {SQL: store}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{History: config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"}}},
		PublicClient: config.PublicClient{HostPort: address},
	}
	if _, err := os.Stat(db); os.IsNotExist(err) {
		if err := sqlite.SetupSchema(store); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	ns, err := sqlite.NewNamespaceConfig("active", namespace, false, nil)
	if err != nil {
		return err
	}
	if err := sqlite.CreateNamespaces(store, ns); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	logger := serverlog.NewZapLogger(serverlog.BuildZapLogger(serverlog.Config{Stdout: false, Level: "error"}))
	authorizer, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&c.Global.Authorization, logger)
	if err != nil {
		return err
	}
	s, err := temporal.NewServer(temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(logger),
		temporal.WithStaticHosts(all), temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }))
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	if err := accepting(address); err != nil {
		return err
	}
	fmt.Println(address)
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	<-stop.Done()
	return s.Stop()
}

// accepting waits until the server accepts connections.
func accepting(address string) error {
	var err error
	for range 300 {
		var c net.Conn
		if c, err = net.DialTimeout("tcp", address, time.Second); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
