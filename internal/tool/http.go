package tool

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// httpTool is the tool `http`. It checks addresses at the socket, after resolution, so that neither
// a name, nor a redirect, nor a changing DNS answer leads to a private address (M08, M09).
type httpTool struct {
	config HTTPConfig
	allow  []netip.Prefix
	guard  *Guard
	client *http.Client
}

func newHTTP(c HTTPConfig, guard *Guard) (*httpTool, error) {
	allow, err := parsePrefixes(c.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("tools.http.allow_private: %w", err)
	}
	h := &httpTool{config: c, allow: allow, guard: guard}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CAFiles) > 0 {
		if tlsConfig.RootCAs, err = x509.SystemCertPool(); err != nil {
			tlsConfig.RootCAs = x509.NewCertPool()
		}
		for _, file := range c.CAFiles {
			pem, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("tools.http.ca_files: %w", err)
			}
			if !tlsConfig.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("tools.http.ca_files: no certificate in %s", file)
			}
		}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: h.control}
	dial := dialer.DialContext
	if c.Examples {
		e := &examples{}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(address); err == nil && host == exampleHost {
				return e.dial(ctx, network, address)
			}
			return dialer.DialContext(ctx, network, address)
		}
	}
	h.client = &http.Client{
		// No proxy, not even from the environment (M11), and no cookie jar (M14).
		Transport: &http.Transport{
			Proxy: nil, DialContext: dial, TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 256 << 10,
			// With kept connections, the transport repeats requests that have an Idempotency-Key.
			// The engine decides about retries.
			DisableKeepAlives: true,
		},
		CheckRedirect: h.redirect,
	}
	return h, nil
}

func (h *httpTool) Spec() llm.ToolSpec {
	return llm.ToolSpec{
		Name: "http",
		Description: "Sends an HTTP request and gives {status, headers, body}; a JSON body is decoded, header names are in lower case. " +
			"Private addresses are refused unless the configuration allows them.",
		Effect:   walk.EffectUnsafe,
		EffectOf: httpEffect,
		HostOf:   httpHost,
		Schema: object(map[string]any{
			"url": property("string", "http or https address", "minLength", 1, "maxLength", 8192),
			"method": property(
				"string",
				"default GET, or POST with a body",
				"enum",
				[]any{
					"GET",
					"HEAD",
					"POST",
					"PUT",
					"PATCH",
					"DELETE",
					"OPTIONS",
					"get",
					"head",
					"post",
					"put",
					"patch",
					"delete",
					"options",
				},
			),
			"headers": property(
				"object",
				"request headers",
				"additionalProperties",
				map[string]any{"type": []any{"string", "number", "boolean"}},
			),
			"query": property(
				"object",
				"parameters added to the address",
				"additionalProperties",
				map[string]any{"type": []any{"string", "number", "boolean", "array"}},
			),
			"body": map[string]any{"description": "text is sent as it is, anything else as JSON"},
			"expect": property("array", "status codes that are results and not failures; default 200 to 299 and 304",
				"items", map[string]any{"type": "integer", "minimum": 100, "maximum": 599}),
			"response": property(
				"string",
				"how the body is given: auto (default), json, text or base64",
				"enum",
				[]any{"auto", "json", "text", "base64"},
			),
			"redirects": property("integer", "redirects to follow; default 0", "minimum", 0, "maximum", h.config.MaxRedirects),
			"timeout":   property("string", fmt.Sprintf("at most %s, as 500ms or 10s", h.config.Timeout)),
		}, "url"),
	}
}

// httpEffect returns the side-effect class of a request by its method. An unknown method may have
// any effect.
func httpEffect(args any) walk.Effect {
	m, ok := args.(map[string]any)
	if !ok {
		return walk.EffectUnsafe
	}
	switch method, known := httpMethod(m); {
	case !known:
		return walk.EffectUnsafe
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		return walk.EffectRead
	case method == http.MethodPut || method == http.MethodDelete:
		return walk.EffectIdempotent
	}
	return walk.EffectUnsafe
}

// httpHost returns the first target of a request: the host, with its port unless that is 443.
func httpHost(args any) string {
	m, ok := args.(map[string]any)
	if !ok {
		return ""
	}
	text, _ := m["url"].(string)
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	switch {
	case port == "443" && u.Scheme == "https", port == "" && u.Scheme == "https":
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(host, port)
}

// MaxDuration returns the timeout of a call.
func (h *httpTool) MaxDuration() time.Duration { return h.config.Timeout }

func httpMethod(args map[string]any) (method string, known bool) {
	if v, ok := args["method"]; ok {
		s, isText := v.(string)
		return strings.ToUpper(s), isText
	}
	if _, ok := args["body"]; ok {
		return http.MethodPost, true
	}
	return http.MethodGet, true
}

// blockedError is the error of a target that may not be reached.
type blockedError struct{ reason message.Message }

func (e *blockedError) Error() string { return e.reason.String() }

// control checks the address that a socket is about to connect to (M08, M15).
func (h *httpTool) control(network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return &blockedError{message.New("cannot connect to the address %s %s", network, address)}
	}
	for _, face := range faces(target.Addr()) {
		if h.guard.own(netip.AddrPortFrom(face, target.Port())) {
			return &blockedError{message.New("%s is kairosd's own address", address)}
		}
	}
	if port := int(target.Port()); port < 1024 && port != 80 && port != 443 && !slices.Contains(h.config.AllowPorts, port) {
		return &blockedError{message.New("port %d is not for HTTP", port)}
	}
	if !permitted(target.Addr(), h.allow) {
		return &blockedError{message.New("%s is not a public address", target.Addr())}
	}
	return nil
}

type redirectsKey struct{}

// redirect follows as many redirects as the call requests. Every hop passes the same checks (M10).
func (h *httpTool) redirect(req *http.Request, via []*http.Request) error {
	limit, _ := req.Context().Value(redirectsKey{}).(int)
	if limit == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > limit {
		return refused("redirects", "more than %d redirects", limit)
	}
	if err := checkURL(req); err != nil {
		return err
	}
	from := via[len(via)-1].URL
	if from.Scheme == "https" && req.URL.Scheme == "http" {
		return refused(CodeBlocked, "redirect from https to http at %s", req.URL.Host)
	}
	if from.Host != req.URL.Host {
		if req.Body != nil && req.Body != http.NoBody {
			return refused(CodeBlocked, "redirect of a body from %s to another host, %s", from.Host, req.URL.Host)
		}
		// The headers may contain credentials for the first host.
		req.Header = http.Header{"User-Agent": {userAgent}}
	}
	return nil
}

const userAgent = "kairosd"

func checkURL(req *http.Request) error {
	u := req.URL
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refused(CodeBlocked, "%s addresses are refused: only http and https", clip(u.Scheme))
	case u.User != nil:
		return suggest(refused(CodeBlocked, "an address with user information is refused"), "send an Authorization header")
	case u.Hostname() == "":
		return invalid("the address %s has no host", clip(u.String()))
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return invalid("%s is not a port", port)
		}
	}
	return nil
}

func (h *httpTool) Call(ctx context.Context, call llm.ToolCall) (any, error) {
	args, ok := call.Args.(map[string]any)
	if !ok {
		return nil, invalid("arguments of http: not an object")
	}
	a := arguments(args)
	timeout := h.config.Timeout
	if text := a.text("timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, suggest(invalid("timeout %s is not a duration", clip(text)), "use a duration, such as 500ms or 10s")
		}
		timeout = min(timeout, d)
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, redirectsKey{}, a.number("redirects", 0)), timeout)
	defer cancel()
	// Before the connection is established, including the handshake, nothing has been sent.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})

	req, err := h.request(ctx, a, call.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	res, err := h.client.Do(req)
	if err != nil {
		return nil, h.transportFailure(parent, req, err, sent.Load(), timeout)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, h.config.MaxBytes+1))
	call.Log(
		"debug",
		fmt.Sprintf(
			"%s %s: %s, %d bytes in %s",
			req.Method,
			req.URL.Redacted(),
			res.Status,
			len(body),
			time.Since(start).Round(time.Millisecond),
		),
	)
	accepted := accepts(a, res.StatusCode)
	switch {
	case !accepted:
		return nil, statusFailure(req, res, body)
	case err != nil:
		return nil, h.transportFailure(parent, req, err, true, timeout)
	case int64(len(body)) > h.config.MaxBytes:
		return nil, (&walk.Failure{
			Code:      CodeTooLarge,
			Permanent: true,
		}).WithMessage("the response of %s has more than %d bytes", req.URL.Host, h.config.MaxBytes)
	}
	return h.result(a, call, res, body)
}

func accepts(a arguments, status int) bool {
	list, ok := a["expect"].([]any)
	if !ok || len(list) == 0 {
		return 200 <= status && status <= 299 || status == http.StatusNotModified
	}
	return slices.ContainsFunc(list, func(v any) bool { return jsonvalue.Text(v) == fmt.Sprint(status) })
}

// result returns the plan's view of a response.
func (h *httpTool) result(a arguments, call llm.ToolCall, res *http.Response, body []byte) (any, error) {
	headers := map[string]any{}
	for name, values := range res.Header {
		if name != "Set-Cookie" { // cookies are neither stored nor shown (M14)
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	out := map[string]any{"status": res.StatusCode, "headers": headers, "body": nil}
	if len(body) == 0 {
		return out, nil
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	switch as := a.text("response"); {
	case as == "base64", as != "json" && !utf8.Valid(body):
		out["body"], out["encoding"] = base64.StdEncoding.EncodeToString(body), "base64"
	case as == "json", as != "text" && isJSON:
		v, err := jsonvalue.Decode(body)
		if err != nil && as == "json" {
			return nil, (&walk.Failure{
				Code:      "not_json",
				Permanent: true,
			}).WithMessage("the response of %s is not JSON: %s", res.Request.URL.Host, err)
		}
		if err != nil {
			call.Log("warn", fmt.Sprintf("the response is not valid %s: %s", kind, err))
			v = string(body)
		}
		out["body"] = v
	default:
		out["body"] = string(body)
	}
	return out, nil
}

// transportFailure classifies a request without a response.
func (h *httpTool) transportFailure(parent context.Context, req *http.Request, err error, sent bool, timeout time.Duration) error {
	host := req.URL.Host
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		f.NoEffect = f.NoEffect && !sent
		return f
	}
	if b, ok := errors.AsType[*blockedError](err); ok {
		f := suggest(
			refused(CodeBlocked, "%s cannot be reached: %s", host, b.reason),
			"to permit it, list it under tools.http.allow_private or allow_ports; kairosd's own addresses are always refused",
		)
		f.NoEffect = !sent // a redirect led to the address
		return f
	}
	if parent.Err() != nil { // the node's own timeout, a cancel, or a shutdown
		return (&walk.Failure{Code: walk.AsFailure(parent.Err()).Code, NoEffect: !sent}).
			WithMessage("%s %s: %s", req.Method, host, parent.Err()).WithCause(parent.Err())
	}
	f := (&walk.Failure{Code: CodeUnreachable, NoEffect: !sent}).WithMessage("%s %s: %s", req.Method, host, reason(err))
	if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		f.Code = walk.CodeTimeout
		f.WithMessage("%s %s: no complete answer within %s", req.Method, host, timeout)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		f.Code, f.Permanent, f.Suggestion = "certificate", true, "list the certificate authority under tools.http.ca_files"
	}
	return f.WithCause(err)
}

// reason returns the innermost error, without the address that every layer repeats.
func reason(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// statusFailure classifies a response with an error status. A 4xx means that the server did
// nothing. 408 and 5xx do not.
func statusFailure(req *http.Request, res *http.Response, body []byte) error {
	f := (&walk.Failure{
		Code:   fmt.Sprintf("http_%d", res.StatusCode),
		Detail: strings.ToValidUTF8(string(body[:min(len(body), 2048)]), "�"),
	}).WithMessage("%s %s: %s", req.Method, req.URL.Host, res.Status)
	switch code := res.StatusCode; {
	case code >= 500 || code == http.StatusRequestTimeout:
	case code == http.StatusTooManyRequests || code == http.StatusTooEarly:
		f.NoEffect = true
	case code >= 400:
		f.Permanent, f.NoEffect = true, true
	case code >= 300:
		f.Permanent = true
		f.Suggestion = "set redirects: 1, or use the address of the redirect"
		if to, err := res.Location(); err == nil {
			f.WithMessage("%s %s: %s to %s", req.Method, req.URL.Host, res.Status, to.Redacted())
		}
	default:
		f.Permanent = true
	}
	if !f.Permanent {
		f.RetryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return f
}

// retryAfter parses seconds or an HTTP date, and returns at most a day.
func retryAfter(text string, now time.Time) time.Duration {
	var d time.Duration
	if r, ok := parseRat(strings.TrimSpace(text)); ok && r.IsInt() {
		d = 24 * time.Hour
		if r.Num().IsInt64() && r.Num().Int64() < 86400 {
			d = time.Duration(r.Num().Int64()) * time.Second
		}
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 24*time.Hour)
}
