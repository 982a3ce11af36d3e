package servertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// authority signs certificates.
type authority struct {
	s    *server
	name string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

// newAuthority returns an authority whose certificate is in a file.
func (s *server) newAuthority(name string) *authority {
	s.t.Helper()
	a := &authority{s: s, name: name}
	a.file, _ = a.issue(name, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	return a
}

// issue writes a certificate and its key to files. The first one is that of the authority itself.
func (a *authority) issue(name string, change func(*x509.Certificate)) (cert, key string) {
	t := a.s.t
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if change != nil {
		change(c)
	}
	if a.key == nil {
		a.key, a.cert = own, c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return a.s.file(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		a.s.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// The connections to the server are encrypted, and the server requires certificates of the control plane and the workers. A
// program without one, or with the certificate of another authority, ends with an error. With TLS 1.3, the server may close the
// connection before the client has read why it refuses a certificate.
func TestTLS(t *testing.T) {
	s, b := newServer(t), openBank(t)
	known, unknown := s.newAuthority("ca"), s.newAuthority("unknown")
	cert, key := known.issue("server", nil)
	s.flags = []string{"-tls-cert", cert, "-tls-key", key, "-tls-ca", known.file}
	s.up()
	cert, key = known.issue("client", nil)
	s.tls = "{enabled: true, ca: " + known.file + ", cert: " + cert + ", key: " + key + "}"
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(paymentOf(b, true)))
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(run.ID)
	k.until(run.ID, domain.RunCompleted, "")
	if n := b.payments.Load(); n != 2 {
		t.Errorf("%d payments", n)
	}
	foreign, foreignKey := unknown.issue("foreign", nil)
	for _, c := range []struct{ tls, reason string }{
		{"{enabled: false}", "error reading server preface"},
		{"{enabled: true, ca: " + unknown.file + ", cert: " + cert + ", key: " + key + "}", "certificate signed by unknown authority"},
		{"{enabled: true, ca: " + known.file + "}", "check --address and engine.temporal.tls"},
		{"{enabled: true, ca: " + known.file + ", cert: " + foreign + ", key: " + foreignKey + "}",
			"check --address and engine.temporal.tls"},
	} {
		s.tls = c.tls
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "kairos-temporal"), "worker", "--address", s.address,
			"--config", s.config()).CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), c.reason) || !strings.Contains(string(out), "connect to Temporal at "+s.address) {
			t.Errorf("%s: %v, %s; want %q", c.tls, err, out, c.reason)
		}
	}
}
