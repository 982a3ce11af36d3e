package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Email is an SMTP server, with the sender and the recipients of notifications.
type Email struct {
	Server string // host:port
	// TLS is starttls (the default), tls (from the first byte), or none. Use none only for a
	// server on this machine.
	TLS      string
	Username string
	Password string
	From     string
	To       []string
}

// mail makes one attempt to deliver d by e-mail.
func (s *Service) mail(ctx context.Context, dialer *net.Dialer, e *Email, d domain.Delivery) error {
	text, err := e.compose(d, s.c.Now())
	if err != nil {
		return &refusal{err}
	}
	host, _, err := net.SplitHostPort(e.Server)
	if err != nil {
		return &refusal{err}
	}
	conn, err := dialer.DialContext(ctx, "tcp", e.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	secure := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if e.TLS == "tls" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	defer c.Close()
	if e.TLS == "" || e.TLS == "starttls" {
		if err := c.StartTLS(secure); err != nil {
			return fmt.Errorf("%s: STARTTLS: %w", e.Server, err)
		}
	}
	if e.Username != "" {
		if err := c.Auth(smtp.PlainAuth("", e.Username, e.Password, host)); err != nil {
			return permanent(fmt.Errorf("%s: log in: %w", e.Server, err))
		}
	}
	if err := c.Mail(e.From); err != nil {
		return permanent(err)
	}
	for _, to := range e.To {
		if err := c.Rcpt(to); err != nil {
			return permanent(fmt.Errorf("%s: %w", to, err))
		}
	}
	w, err := c.Data()
	if err != nil {
		return permanent(err)
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return permanent(err)
	}
	_ = c.Quit() // the message has been delivered
	return nil
}

// permanent marks SMTP refusals (5xx) as final. Other errors are retried.
func permanent(err error) error {
	if reply, ok := errors.AsType[*textproto.Error](err); ok && reply.Code >= 500 {
		return &refusal{err}
	}
	return err
}

// compose writes the mail. Header values are joined to one line and encoded, so text of a run
// cannot add a header.
func (e *Email) compose(d domain.Delivery, now time.Time) ([]byte, error) {
	var m domain.Notification
	if err := json.Unmarshal(d.Body, &m); err != nil {
		return nil, fmt.Errorf("message %s: %w", d.ID, err)
	}
	subject, _, _ := strings.Cut(m.Text, "\n")
	if r := []rune(subject); len(r) > 150 {
		subject = string(r[:150]) + "…"
	}
	host := "kairosd"
	if _, h, ok := strings.Cut(e.From, "@"); ok {
		host = h
	}
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", e.From}, {"To", strings.Join(e.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", oneLine(subject))},
		{"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", "<" + d.ID + "@" + host + ">"}, {"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], oneLine(h[1]))
	}
	b.WriteString("\r\n")
	q := quotedprintable.NewWriter(&b)
	if _, err := q.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n") + "\r\n")); err != nil {
		return nil, err
	}
	return b.Bytes(), q.Close()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
