package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Webhook is a receiver over HTTP.
type Webhook struct {
	URL string
	// Secret signs messages. If it is empty, they are not signed.
	Secret string
}

// host returns the receiver's host. It leaves out the path, which may contain a secret.
func (w *Webhook) host() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// sendTimeout limits one attempt.
const sendTimeout = 20 * time.Second

// post makes one attempt. The signature covers id, time, and body, as in Standard Webhooks:
// webhook-signature is "v1," and the base64 of HMAC-SHA256(secret, id.timestamp.body).
func (s *Service) post(ctx context.Context, dialer *net.Dialer, w *Webhook, d domain.Delivery) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(d.Body))
	if err != nil {
		return &refusal{fmt.Errorf("invalid webhook address")} // without the address, which may contain a secret
	}
	stamp := strconv.FormatInt(s.c.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "kairosd")
	req.Header.Set("Webhook-Id", d.ID)
	req.Header.Set("Webhook-Timestamp", stamp)
	if w.Secret != "" {
		req.Header.Set("Webhook-Signature", Sign(w.Secret, d.ID, stamp, d.Body))
	}
	client := http.Client{
		// No proxy, no reused connection, no redirect: the address is checked at the socket, and a
		// message is only sent to the configured address.
		Transport: &http.Transport{
			Proxy:               nil,
			DialContext:         dialer.DialContext,
			DisableKeepAlives:   true,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		if inner, ok := err.(*url.Error); ok { //nolint:errorlint // client.Do always returns this type
			err = inner.Err
		}
		return fmt.Errorf("%s: %w", w.host(), err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the body does not matter
	failure := fmt.Errorf("%s returned %s", w.host(), resp.Status)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			return &later{failure, time.Duration(min(n, 86400)) * time.Second}
		}
		return failure
	default:
		return &refusal{failure}
	}
}

// Sign returns the signature of a message.
func Sign(secret, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
