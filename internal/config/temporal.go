package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Temporal configures the Temporal server that executes the runs.
type Temporal struct {
	Address   string `yaml:"address"`
	Namespace string `yaml:"namespace"`
	// Queue is the task queue of runs and workers.
	Queue string `yaml:"queue"`
	// UI is the address of Temporal's own pages, to which the pages of runs link.
	UI string `yaml:"ui"`
	// LostAfter is the time after which a worker that does not respond counts as lost.
	LostAfter time.Duration `yaml:"lost_after"`
	// PayloadKeyEnv is the environment variable, and PayloadKeyFile the file, with the secret that encrypts the values in
	// histories. DecryptKeyFiles have further secrets, which only decrypt. Plaintext leaves values unencrypted.
	PayloadKeyEnv   string   `yaml:"payload_key_env"`
	PayloadKeyFile  string   `yaml:"payload_key_file"`
	DecryptKeyFiles []string `yaml:"decrypt_key_files"`
	Plaintext       bool     `yaml:"plaintext"`
	// TLS encrypts the connection. APIKeyEnv is the environment variable, and APIKeyFile the file, with the key that
	// identifies this program to the server.
	TLS        TemporalTLS `yaml:"tls"`
	APIKeyEnv  string      `yaml:"api_key_env"`
	APIKeyFile string      `yaml:"api_key_file"`
}

// TemporalTLS configures the encryption of the connection. The fields are names of files, except ServerName.
type TemporalTLS struct {
	Enabled bool `yaml:"enabled"`
	// CA contains the certificates that the server may have. Empty means those of the system.
	CA string `yaml:"ca"`
	// Cert and Key are the certificate of this program and its private key, if the server requires one.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ServerName is the name in the certificate of the server. Empty means that of the address.
	ServerName string `yaml:"server_name"`
}

// Config returns the settings of a connection, or nil if it is not encrypted.
func (t TemporalTLS) Config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		certificates, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "engine.temporal.tls.ca: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(certificates) {
			return nil, domain.Errorf(domain.CodeInvalid, "engine.temporal.tls.ca: %s contains no certificate", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "engine.temporal.tls.cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// APIKey reads the key that identifies this program to the server. It is empty if there is none.
func (t Temporal) APIKey() (string, error) {
	if t.APIKeyEnv+t.APIKeyFile == "" {
		return "", nil
	}
	key, err := secretIn(t.APIKeyEnv, t.APIKeyFile, "api_key_file")
	if err == nil && key == "" {
		err = domain.Errorf(domain.CodeInvalid, "the API key of engine.temporal is empty")
	}
	return key, err
}

// secretIn reads a secret from an environment variable or a file.
func secretIn(env, file, setting string) (string, error) {
	if file == "" {
		return os.Getenv(env), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "engine.temporal.%s: %w", setting, err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// minPayloadKey is the minimum length of the secret that encrypts values.
const minPayloadKey = 16

// PayloadKeys reads the secrets of the values in histories. The first one encrypts, and all decrypt. There are none if values are
// not encrypted.
func (t Temporal) PayloadKeys() (keys [][]byte, err error) {
	switch {
	case t.PayloadKeyEnv+t.PayloadKeyFile == "" && t.Plaintext:
		return nil, nil
	case t.PayloadKeyEnv+t.PayloadKeyFile == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the values of runs on Temporal have no key").
			Suggest("set engine.temporal.payload_key_file, or for trials engine.temporal.plaintext or --plaintext")
	}
	add := func(env, file, setting string) error {
		key, err := secretIn(env, file, setting)
		if err == nil && len(key) < minPayloadKey {
			err = domain.Errorf(domain.CodeInvalid, "a payload key of engine.temporal has fewer than %d characters", minPayloadKey).
				Suggest("write a random key to the file, such as with: openssl rand -hex 32")
		}
		keys = append(keys, []byte(key))
		return err
	}
	if err := add(t.PayloadKeyEnv, t.PayloadKeyFile, "payload_key_file"); err != nil {
		return nil, err
	}
	for _, file := range t.DecryptKeyFiles {
		if err := add("", file, "decrypt_key_files"); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// check returns what is wrong.
func (t Temporal) check() error {
	if t.LostAfter < 0 {
		return errors.New("lost_after is negative")
	}
	if t.PayloadKeyEnv != "" && t.PayloadKeyFile != "" || t.Plaintext && t.PayloadKeyEnv+t.PayloadKeyFile != "" {
		return errors.New("use one of payload_key_env, payload_key_file, and plaintext")
	}
	if len(t.DecryptKeyFiles) > 0 && t.PayloadKeyEnv+t.PayloadKeyFile == "" {
		return errors.New("decrypt_key_files needs payload_key_file or payload_key_env")
	}
	if slices.Contains(t.DecryptKeyFiles, "") {
		return errors.New("decrypt_key_files contains an empty name")
	}
	tlsSettings := t.TLS
	tlsSettings.Enabled = false
	switch {
	case tlsSettings != (TemporalTLS{}) && !t.TLS.Enabled:
		return errors.New("tls: set enabled: true")
	case (t.TLS.Cert == "") != (t.TLS.Key == ""):
		return errors.New("tls: use cert and key together")
	case t.APIKeyEnv != "" && t.APIKeyFile != "":
		return errors.New("use one of api_key_env and api_key_file")
	case t.APIKeyEnv+t.APIKeyFile != "" && !t.TLS.Enabled:
		return errors.New("an API key needs tls: {enabled: true}")
	case t.UI == "":
		return nil
	}
	if u, err := url.Parse(t.UI); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("ui: %q is not an address such as https://temporal.example.com", t.UI)
	}
	return nil
}
