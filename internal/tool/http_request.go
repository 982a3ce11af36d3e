package tool

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// forbidden contains the headers of the connection, which the tool sets itself.
var forbidden = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect"}

func (h *httpTool) request(ctx context.Context, a arguments, key string) (*http.Request, error) {
	u, err := url.Parse(strings.TrimSpace(a.text("url")))
	if err != nil {
		return nil, invalid("url: %s", err.(*url.Error).Err)
	}
	if err := checkURL(&http.Request{URL: u}); err != nil {
		return nil, err
	}
	if params := a.object("query"); len(params) > 0 {
		q := u.Query()
		for _, name := range slices.Sorted(maps.Keys(params)) {
			values, ok := params[name].([]any)
			if !ok {
				values = []any{params[name]}
			}
			for _, v := range values {
				q.Add(name, jsonvalue.Text(v))
			}
		}
		u.RawQuery = q.Encode()
	}
	var body io.Reader
	var contentType string
	if a.has("body") && a["body"] != nil {
		text, ok := a["body"].(string)
		contentType = "text/plain; charset=utf-8"
		if !ok {
			raw, err := jsonvalue.Encode(a["body"])
			if err != nil {
				return nil, invalid("body: %s", err)
			}
			text, contentType = string(raw), "application/json"
		}
		body = bytes.NewReader([]byte(text))
	}
	method, _ := httpMethod(a)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, invalid("url: %s", err)
	}
	req.Header.Set("User-Agent", userAgent)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if key != "" && httpEffect(map[string]any(a)) != walk.EffectRead {
		req.Header.Set("Idempotency-Key", key)
	}
	headers := a.object("headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := jsonvalue.Text(headers[name])
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, invalid("%s is not a header name", clip(name))
		case slices.Contains(forbidden, canonical) || strings.HasPrefix(canonical, "Proxy-"):
			return nil, invalid("the header %s may not be set", canonical)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, invalid("the header %s has a control character in its value", canonical)
		}
		req.Header.Set(canonical, value)
	}
	return req, nil
}

// isToken reports whether s is a token as defined by RFC 9110.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
