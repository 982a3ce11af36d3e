package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	imageUser = 65532             // has no name in the image
	imageData = "/var/lib/kairos" // a volume
)

// image writes an OCI image for all platforms of bins as a layout in one archive
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md). The image has no base:
// it consists of the two programs, the data directory, and /tmp.
func (r *release) image(bins map[platform]string) error {
	if len(bins) == 0 {
		return nil
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range slices.SortedFunc(maps.Keys(bins), func(a, b platform) int { return cmp.Compare(a.arch, b.arch) }) {
		image, err := r.imageOf(p, bins[p])
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	dir, err := os.MkdirTemp("", "kairosd-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
	})); err != nil {
		return err
	}
	return r.tarOf(dir, r.done("kairosd_"+r.version+"_oci.tar"))
}

// imageOf is the image for one platform.
func (r *release) imageOf(p platform, bin string) (v1.Image, error) {
	content, err := r.layer(bin)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "kairosd release"}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/kairosd"},
		Cmd:          []string{"serve"},
		Env:          []string{"KAIROSD_DATA=" + imageData, "KAIROS_DB=" + imageData + "/kairos.db"},
		Volumes:      map[string]struct{}{imageData: {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal:   "SIGTERM",
		WorkingDir:   imageData,
		Labels:       map[string]string{"org.opencontainers.image.title": "kairosd", "org.opencontainers.image.version": r.version},
	}
	return mutate.ConfigFile(image, config)
}

// layer is the file system of an image.
func (r *release) layer(bin string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, program := range programs {
		content, err := os.ReadFile(filepath.Join(bin, program))
		if err != nil {
			return nil, err
		}
		if err := r.put(w, program, content, 0o755); err != nil {
			return nil, err
		}
	}
	for _, d := range []tar.Header{
		{Name: "tmp/", Mode: 0o1777},
		{Name: "var/", Mode: 0o755},
		{Name: "var/lib/", Mode: 0o755},
		{Name: "var/lib/kairos/", Mode: 0o700, Uid: imageUser, Gid: imageUser},
	} {
		d.Typeflag, d.ModTime, d.Format = tar.TypeDir, r.time, tar.FormatPAX
		if err := w.WriteHeader(&d); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// tarOf packs a directory in the order of its names.
func (r *release) tarOf(dir, to string) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	w := tar.NewWriter(f)
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return r.put(w, filepath.ToSlash(name), content, 0o644)
	}); err != nil {
		return err
	}
	return w.Close()
}
