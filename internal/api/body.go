package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// Limits of the body of a request.
const (
	maxDocument  = 1 << 20
	maxBody      = 4 << 20
	maxDepth     = 128
	maxMembers   = 50_000  // in one JSON object
	maxValues    = 500_000 // in one JSON body
	bodyTimeout  = 30 * time.Second
	maxUserAgent = 256
)

// answers is the JSON format of responses, in which nil lists are [].
var answers = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		return json.MarshalWrite(w, v, jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false), jsontext.EscapeForHTML(false))
	},
	Unmarshal: huma.DefaultJSONFormat.Unmarshal,
}

// mount serves an operation of internal/app. It checks the permission, and then reads and checks
// the body. The operation stores idempotency keys, so the handler of an action passes meta on.
func mount[I, O any](a *API, op huma.Operation, h func(context.Context, *I) (*O, error)) {
	operation := app.Operation(op.OperationID)
	rule, ok := app.Policy(operation)
	if !ok {
		a.errs = append(a.errs, fmt.Errorf("api: %s %s: the policy has no operation %q", op.Method, op.Path, operation))
		return
	}
	a.routes = append(a.routes, served{operation, op.Method, op.Path})
	if rule.Role != "" {
		op.Security = []map[string][]string{{"token": {}}}
		op.Description = strings.TrimSpace(op.Description + "\n\nRequires the role " + string(rule.Role) + scopeText(rule.Scope) + ".")
	}
	if rule.Role == "" {
		op.Security = []map[string][]string{{}} // no credential is needed
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	limit := op.MaxBodyBytes
	if limit == 0 {
		limit = maxBody
	}
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // readBody does both
	op.Middlewares = append(huma.Middlewares{a.admit(operation), a.readBody(limit), a.match, a.keyed}, op.Middlewares...)
	a.add(op, func(to huma.API) {
		huma.Register(to, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := h(ctx, in)
			if err != nil {
				a.recordDenied(ctx, err)
				return nil, a.problem(ctx, err)
			}
			return out, nil
		})
	})
}

func scopeText(scope string) string {
	if scope == "" {
		return ""
	}
	return " and, for a token that has scopes, the scope " + scope
}

// readBody reads the body of a route that accepts one. It refuses other media types, compression,
// and bodies above the limit.
func (a *API) readBody(limit int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		want := ctx.Operation().RequestBody
		if want == nil {
			next(ctx)
			return
		}
		c := humaecho.Unwrap(ctx)
		r := c.Request()
		if p := checkMedia(r, want); p != nil {
			a.answer(ctx, p)
			return
		}
		if r.ContentLength > limit {
			a.answer(ctx, tooLarge(limit))
			return
		}
		control := http.NewResponseController(c.Response())
		_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection can
		body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, limit))
		if err != nil {
			a.answer(ctx, a.problem(ctx.Context(), bodyError(err, limit)))
			return
		}
		_ = control.SetReadDeadline(time.Time{})
		if isJSON(r.Header.Get("Content-Type")) && want.Content["application/yaml"] == nil && len(body) > 0 {
			if p := checkJSON(body); p != nil {
				a.answer(ctx, p)
				return
			}
		}
		r.Body = &readAgain{Reader: bytes.NewReader(body), text: body}
		next(ctx)
	}
}

// readAgain is a request body that was read into memory.
type readAgain struct {
	*bytes.Reader
	text []byte
}

func (*readAgain) Close() error { return nil }

// bodyOf returns the body that readBody has read, or nil.
func bodyOf(r *http.Request) []byte {
	if b, ok := r.Body.(*readAgain); ok {
		return b.text
	}
	return nil
}

func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return problemOf(http.StatusRequestTimeout, "the request body did not arrive in time")
	}
	return invalid("body.unreadable", "cannot read the request body")
}

func tooLarge(limit int64) *Problem {
	p := problemOf(http.StatusRequestEntityTooLarge, "the request body is too large")
	p.Suggestion = domain.Errorf("", "send at most %d bytes", limit).Message
	return p
}

func checkMedia(r *http.Request, want *huma.RequestBody) *Problem {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		p := problemOf(http.StatusUnsupportedMediaType, "compressed request bodies are not accepted")
		p.Reason = "content_encoding"
		return p
	}
	header := r.Header.Get("Content-Type")
	if header == "" && r.ContentLength == 0 {
		return nil // the route decides whether it requires a body
	}
	media, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	if err == nil && want.Content[media] != nil && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		len(r.Header["Content-Type"]) == 1 {
		return nil
	}
	var types []string
	for t := range want.Content {
		types = append(types, t)
	}
	p := problemOf(http.StatusUnsupportedMediaType, "this media type is not accepted here")
	p.Reason, p.Suggestion = "media_type", "send UTF-8 with one of the Content-Types: "+joinSorted(types)
	return p
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// checkJSON refuses bodies that a lenient decoder would accept: text that is not exactly one JSON
// value, duplicate names, invalid UTF-8, and excessive depth or size.
func checkJSON(body []byte) *Problem {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for values := 0; ; values++ {
		if _, err := d.ReadToken(); err == io.EOF && values > 0 {
			return nil
		} else if err != nil {
			return invalid("body.malformed", "the request body is not valid JSON at byte %d", d.InputOffset())
		}
		depth := d.StackDepth()
		if depth > maxDepth {
			return invalid("body.too_deep", "the request body is nested more than %d levels deep", maxDepth)
		}
		if kind, n := d.StackIndex(depth); kind == '{' && n > 2*maxMembers || values > maxValues {
			return invalid("body.too_many", "the request body has too many values")
		}
		if rest := body[d.InputOffset():]; depth == 0 && len(bytes.TrimSpace(rest)) > 0 {
			return invalid("body.malformed", "unexpected text after the JSON value, at byte %d", d.InputOffset())
		}
	}
}
