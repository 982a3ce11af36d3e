package tool

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func newReadFile(f *files) llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name:    "read_file",
			Private: true,
			Description: "Reads a file inside the configured directories. Gives {path, content, encoding, size, modified}; " +
				"what is not UTF-8 text comes as base64.",
			Effect: walk.EffectRead,
			Schema: object(map[string]any{
				"path": property(
					"string",
					"relative to a configured directory, or absolute inside one",
					"minLength",
					1,
					"maxLength",
					4096,
				),
				"encoding": property("string", "default: text if it is UTF-8, else base64", "enum", []any{"text", "base64"}),
			}, "path"),
		},
		call: func(_ context.Context, args arguments, _ llm.ToolCall) (any, error) {
			content, info, err := f.read(args.text("path"))
			if err != nil {
				return nil, err
			}
			out := map[string]any{"path": args.text("path"), "content": string(content), "encoding": "text", "size": len(content),
				"modified": info.ModTime().UTC().Format(time.RFC3339)}
			switch isText := utf8.Valid(content); {
			case args.text("encoding") == "text" && !isText:
				return nil, suggest(invalid("file %s is not UTF-8 text", clip(args.text("path"))), "read it with encoding: base64")
			case args.text("encoding") == "base64" || !isText:
				out["content"], out["encoding"] = base64.StdEncoding.EncodeToString(content), "base64"
			}
			return out, nil
		},
	}
}

func newWriteFile(f *files) llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name: "write_file",
			Description: "Writes a whole file inside the configured directories; readers see the old file or the new one, " +
				"never a part. Gives {path, size}.",
			Effect: walk.EffectIdempotent,
			Schema: object(map[string]any{
				"path": property(
					"string",
					"relative to the first configured directory, or absolute inside one",
					"minLength",
					1,
					"maxLength",
					4096,
				),
				"content":  map[string]any{"description": "text, or any value, which is written as JSON"},
				"encoding": property("string", "how content is given; default text", "enum", []any{"text", "base64"}),
			}, "path", "content"),
		},
		call: func(_ context.Context, args arguments, _ llm.ToolCall) (any, error) {
			text, isText := args["content"].(string)
			content := []byte(text)
			var err error
			switch {
			case args.text("encoding") == "base64":
				if content, err = base64.StdEncoding.DecodeString(text); err != nil || !isText {
					return nil, invalid("content is not base64")
				}
			case !isText:
				if content, err = jsonvalue.Encode(args["content"]); err != nil {
					return nil, invalid("content: %s", err)
				}
			}
			if int64(len(content)) > f.max {
				return nil, refused(CodeTooLarge, "content of %d bytes; at most %d are written", len(content), f.max)
			}
			if err := f.write(args.text("path"), content); err != nil {
				return nil, err
			}
			return map[string]any{"path": args.text("path"), "size": len(content)}, nil
		},
	}
}

// write replaces a file atomically: it syncs the content under a temporary name before it renames
// the file.
func (f *files) write(path string, content []byte) error {
	candidates, err := f.candidates(path)
	if err != nil {
		return err
	}
	dir, inside := candidates[0][0], candidates[0][1]
	if f.guard.protects(filepath.Join(dir, inside)) {
		return fileError(path, refused(CodeBlocked, "this file belongs to kairosd"))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fileError(path, err)
	}
	defer root.Close()
	switch info, err := root.Stat(inside); {
	case err == nil && !info.Mode().IsRegular():
		return fileError(path, invalid("it is not a regular file"))
	case err == nil && f.guard.protectsFile(info):
		return fileError(path, refused(CodeBlocked, "this file belongs to kairosd"))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fileError(path, err)
	}
	if parent := filepath.Dir(inside); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return fileError(path, err)
		}
	}
	return fileError(path, writeInto(root, inside, content))
}

func writeInto(root *os.Root, inside string, content []byte) (err error) {
	temporary := filepath.Join(filepath.Dir(inside), fmt.Sprintf(".%.100s.%d.tmp", filepath.Base(inside), time.Now().UnixNano()))
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()           // the first error is the one to report
			_ = root.Remove(temporary) // a file left on disk is harmless
		}
	}()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := root.Rename(temporary, inside); err != nil {
		return err
	}
	// The name is durable after its directory is synced.
	parent, err := root.Open(filepath.Dir(inside))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
