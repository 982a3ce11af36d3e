package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// RestoreUntil is a Restore that stops like a killed process after a number of renames.
func RestoreUntil(ctx context.Context, backup, path string, renames int) error {
	_, err := restore(ctx, backup, path, RestoreOptions{Replace: true}, func(from, to string) error {
		if renames == 0 {
			return errors.New("died")
		}
		renames--
		return os.Rename(from, to)
	})
	return err
}

// SignManifest adds the MAC to a manifest that requires the key file.
func SignManifest(manifest *domain.Backup, keyFile string) ([]byte, error) {
	key, err := core.LoadKey(keyFile)
	if err != nil {
		return nil, err
	}
	var k core.Secrets
	k.SetKey(key)
	return encodeManifest(manifest, k.Derived)
}

// Forge changes a copy of a database, as a person with a shell could, and writes a matching
// manifest: with a MAC if the person has the key file, otherwise with the previous MAC.
func Forge(path, text string, manifest domain.Backup, keyFile string) error {
	pool, err := core.OpenPlain(path, "&_pragma=journal_mode(DELETE)")
	if err != nil {
		return err
	}
	if _, err = pool.Exec(text); err == nil && text != "" {
		_, err = pool.Exec("VACUUM")
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if manifest.SHA256, manifest.Bytes, err = fileSum(path); err != nil {
		return err
	}
	var signed []byte
	if keyFile != "" {
		signed, err = SignManifest(&manifest, keyFile)
	} else {
		signed, err = json.MarshalIndent(manifest, "", "  ")
	}
	return errors.Join(err, core.WriteWhole(path+ManifestSuffix, signed))
}
