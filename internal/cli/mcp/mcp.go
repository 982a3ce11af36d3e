// Package mcp has the command kairos mcp: an MCP server on standard input and output. It passes each
// request on to the MCP server of kairosd, so that both have the same tools.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// Command returns the command. with connects it to a server, a socket, or a database.
func Command(s cli.Streams, with func(*cobra.Command, func(*client.Client) error) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve plans as tools to an MCP client", Args: cobra.NoArgs,
		Long: `Serves an MCP client, such as an assistant or an editor, on standard input and output.
Plans with "expose: [mcp]" are tools. Over the network, the client has the permissions
of the token. On this machine, it acts as you.`,
		Example: "  kairos mcp\n  kairos mcp --server https://kairos.example.com --token \"$KAIROS_TOKEN\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd, func(b *client.Client) error {
				return Serve(cmd.Context(), b, io.NopCloser(s.In), nopCloser{s.Out})
			})
		},
	}
	cmd.AddCommand(confirmCommand(s, with), refuseCommand(s, with), requestsCommand(s, with))
	return cmd
}

func refuseCommand(s cli.Streams, with func(*cobra.Command, func(*client.Client) error) error) *cobra.Command {
	var r apitypes.RunConfirm
	cmd := &cobra.Command{
		Use: "refuse RUN ACTION DIGEST", Short: "Refuse an action of an MCP client", Args: cobra.ExactArgs(3),
		Long: `Refuses an action that an MCP client asks for, and withdraws a confirmation. The client
reads the reason. Tokens cannot refuse: run this on the machine of the server.`,
		Example: "  kairos mcp refuse 7qx2 rerun 3f9a0c --reason \"the bank is closed\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, func(b *client.Client) error {
				r.Action, r.Digest = domain.Action(args[1]), args[2]
				if err := b.Refuse(cmd.Context(), args[0], r); err != nil {
					return err
				}
				s.Printf("refused: %s %s\n", r.Action, args[0])
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&r.Seq, "at", 0, "for a fork: the journal position up to which results are kept")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "reason, for the client and the audit log")
	return cmd
}

func requestsCommand(s cli.Streams, with func(*cobra.Command, func(*client.Client) error) error) *cobra.Command {
	return &cobra.Command{
		Use: "requests", Short: "List actions that MCP clients ask for", Args: cobra.NoArgs,
		Long: `Lists the actions that MCP clients ask a person to confirm, newest first. A request stays
open for 24 hours, while its preview stays the same.`,
		Example: "  kairos mcp requests",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd, func(b *client.Client) error {
				list, err := b.RequestedActions(cmd.Context())
				if err != nil {
					return err
				}
				if len(list) == 0 {
					s.Printf("no MCP client asks for an action\n")
				}
				for _, q := range list {
					at := ""
					if q.Seq > 0 {
						at = fmt.Sprintf(" --at %d", q.Seq)
					}
					s.Printf("%s %s of %s, asked by %s at %s: steps that run again: %d, new: %d, with side effects: %d\n", q.Action, q.Run,
						q.Plan, q.By, q.At.Local().Format(time.DateTime), q.Again, q.New, q.Effects)
					s.Printf("  kairos mcp confirm %s %s %s%s\n", q.Run, q.Action, q.Digest, at)
				}
				return nil
			})
		},
	}
}

func confirmCommand(s cli.Streams, with func(*cobra.Command, func(*client.Client) error) error) *cobra.Command {
	var r apitypes.RunConfirm
	cmd := &cobra.Command{
		Use: "confirm RUN ACTION DIGEST", Short: "Confirm an action of an MCP client", Args: cobra.ExactArgs(3),
		Long: `Confirms an action that an MCP client previewed: resume, rerun, fork, or cancel. The
client can then carry it out once, within 15 minutes, if its preview still has the
digest. Tokens cannot confirm: run this on the machine of the server.`,
		Example: "  kairos mcp confirm 7qx2 resume 3f9a0c",
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, func(b *client.Client) error {
				r.Action, r.Digest = domain.Action(args[1]), args[2]
				p, err := b.Confirm(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				s.Printf("confirmed: %s %s (steps that run again: %d, new: %d, with side effects: %d)\n", p.Action, p.Run, len(p.Again),
					len(p.New), len(p.Effects))
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&r.Seq, "at", 0, "for a fork: the journal position up to which results are kept")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "reason, kept in the audit log")
	return cmd
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Serve answers a client until its input ends.
func Serve(ctx context.Context, b *client.Client, in io.ReadCloser, out io.WriteCloser) error {
	p := &proxy{about: &mcp.Implementation{Name: "kairos", Version: buildinfo.Read().Version}}
	p.endpoint.Endpoint, p.endpoint.HTTPClient = b.MCP()
	p.endpoint.DisableStandaloneSSE, p.endpoint.MaxRetries = true, -1
	first, err := p.connect(ctx, nil)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "cannot use the MCP server: %w", err).
			Suggest("check the address, and that the token has the scope mcp")
	}
	options := &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }}
	if r := first.InitializeResult(); r != nil {
		options.Instructions = r.Instructions
	}
	_ = first.Close() // the server keeps nothing of it
	server := mcp.NewServer(p.about, options)
	server.AddReceivingMiddleware(p.pass)
	err = server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// proxy passes requests on. Each has its own connection, so that it outlasts a restart of kairosd.
type proxy struct {
	about    *mcp.Implementation
	endpoint mcp.StreamableClientTransport
}

// connect opens a connection. progress receives the notifications of progress.
func (p *proxy) connect(
	ctx context.Context,
	progress func(context.Context, *mcp.ProgressNotificationClientRequest),
) (*mcp.ClientSession, error) {
	transport := p.endpoint
	return mcp.NewClient(p.about, &mcp.ClientOptions{ProgressNotificationHandler: progress}).Connect(ctx, &transport, nil)
}

// pass answers requests about tools with the answers of kairosd.
func (p *proxy) pass(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			remote, err := p.connect(ctx, nil)
			if err != nil {
				return nil, err
			}
			defer remote.Close() //nolint:errcheck // the server keeps nothing of it
			params := &mcp.ListToolsParams{}
			if r.Params != nil {
				params.Cursor = r.Params.Cursor
			}
			return remote.ListTools(ctx, params)
		case *mcp.CallToolRequest:
			if r.Params != nil {
				return p.call(ctx, r)
			}
		}
		return next(ctx, method, req)
	}
}

func (p *proxy) call(ctx context.Context, r *mcp.CallToolRequest) (mcp.Result, error) {
	token := r.Params.GetProgressToken()
	remote, err := p.connect(ctx, func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n.Params.Progress,
			Message: n.Params.Message}) // fails if the client is gone
	})
	if err != nil {
		return nil, err
	}
	defer remote.Close() //nolint:errcheck // the server keeps nothing of it
	params := &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments}
	if key, ok := r.Params.Meta[domain.MCPKey]; ok {
		params.Meta = mcp.Meta{domain.MCPKey: key}
	}
	if token != nil {
		params.SetProgressToken("call")
	}
	return remote.CallTool(ctx, params)
}
