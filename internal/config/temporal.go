package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
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
	// histories. Plaintext leaves them unencrypted.
	PayloadKeyEnv  string `yaml:"payload_key_env"`
	PayloadKeyFile string `yaml:"payload_key_file"`
	Plaintext      bool   `yaml:"plaintext"`
}

// minPayloadKey is the minimum length of the secret that encrypts values.
const minPayloadKey = 16

// PayloadKey reads the secret that encrypts the values in histories. It is empty if they are not encrypted.
func (t Temporal) PayloadKey() ([]byte, error) {
	key := os.Getenv(t.PayloadKeyEnv)
	if t.PayloadKeyFile != "" {
		b, err := os.ReadFile(t.PayloadKeyFile)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "engine.temporal.payload_key_file: %w", err)
		}
		key = strings.TrimRight(string(b), "\r\n")
	}
	switch {
	case t.PayloadKeyEnv+t.PayloadKeyFile == "" && t.Plaintext:
		return nil, nil
	case t.PayloadKeyEnv+t.PayloadKeyFile == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the values of runs on Temporal have no key").
			Suggest("set engine.temporal.payload_key_file, or for trials engine.temporal.plaintext or --plaintext")
	case len(key) < minPayloadKey:
		return nil, domain.Errorf(domain.CodeInvalid, "the payload key of engine.temporal has fewer than %d characters", minPayloadKey).
			Suggest("write a random key to the file, such as with: openssl rand -hex 32")
	}
	return []byte(key), nil
}

// check returns what is wrong.
func (t Temporal) check() error {
	if t.LostAfter < 0 {
		return errors.New("lost_after is negative")
	}
	if t.PayloadKeyEnv != "" && t.PayloadKeyFile != "" || t.Plaintext && t.PayloadKeyEnv+t.PayloadKeyFile != "" {
		return errors.New("use one of payload_key_env, payload_key_file, and plaintext")
	}
	if t.UI == "" {
		return nil
	}
	if u, err := url.Parse(t.UI); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("ui: %q is not an address such as https://temporal.example.com", t.UI)
	}
	return nil
}
