package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is one connection to a server, from its handshake to its end.
type connection struct {
	session     *sdk.ClientSession
	process     *process       // nil over HTTP
	messages    *messageReader // nil over HTTP
	closed      chan struct{}
	grace       time.Duration
	lifetime    context.Context // that of its requests over HTTP
	endLifetime context.CancelFunc
}

// handlers receive the notifications of a server.
type handlers struct {
	changed  func()
	progress func(*sdk.ProgressNotificationParams)
}

// connect starts or reaches a server and performs the handshake.
func connect(ctx context.Context, s Server, o Options, h handlers) (*connection, error) {
	l := &connection{closed: make(chan struct{}), grace: o.Grace}
	l.lifetime, l.endLifetime = context.WithCancel(context.WithoutCancel(ctx))
	transport, err := l.openTransport(ctx, s, o)
	if err != nil {
		l.endLifetime()
		return nil, err
	}
	l.session, err = newClient(o, h).Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: s.Protocol})
	if err != nil {
		return nil, l.handshakeError(ctx, err)
	}
	go func() {
		defer close(l.closed)
		_ = l.session.Wait() // why is asked of the process
	}()
	return l, nil
}

func (l *connection) openTransport(ctx context.Context, s Server, o Options) (sdk.Transport, error) {
	if s.URL != "" {
		client, err := newHTTPClient(l.lifetime, s,
			o) //nolint:contextcheck // requests live as long as the link, not as its handshake
		if err != nil {
			return nil, err
		}
		return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: o.MaxMessage}, nil
	}
	var err error
	if l.process, err = startProcess(ctx, s, o); err != nil {
		return nil, err
	}
	log, mask := o.Log.With("mcp_server", s.Name), newMasker(s, o.Environ)
	l.messages = newMessageReader(l.process.stdout, o.MaxMessage, func(line []byte) {
		log.Debug("mcp server printed what is not a message", "line", mask(string(line)))
	})
	// The messages grow by what keepExactValues adds; their limit was held already.
	return &sdk.IOTransport{Reader: pipe{l.messages, l.process}, Writer: l.process.stdin, MaxLineLength: -1}, nil
}

// newClient returns a client that offers servers nothing: no roots, no model, no user.
// The SDK declines what they ask for all the same.
func newClient(o Options, h handlers) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "rkat", Version: o.Version}, &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			h.changed()
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			h.progress(r.Params)
		},
	})
}

// handshakeError closes what was opened and returns why there is no connection, in
// words of the user.
func (l *connection) handshakeError(ctx context.Context, err error) error {
	l.endLifetime()
	ended, fault := "", error(nil)
	if l.process != nil {
		if ctx.Err() == nil {
			// it mostly has ended: its exit status says more than a broken pipe
			l.process.hasExitedBefore(nil, l.grace/4)
		}
		fault = l.messages.failureCause() // before we close its stdout ourselves
		ended = l.process.exitDescription()
		l.process.stop(context.Background(), 0) //nolint:contextcheck // without grace there is nothing to hurry
	}
	var access accessError
	switch {
	case errors.As(err, &access):
		err = fmt.Errorf("it %w", access)
	case errors.As(context.Cause(ctx), new(startTimeoutError)):
		err = fmt.Errorf("it did not answer the handshake %w; look into its log", context.Cause(ctx))
	case ctx.Err() != nil:
		err = ctx.Err()
	case fault != nil:
		err = fault
	case ended != "":
		err = fmt.Errorf("it ended during the handshake (%s)", ended)
	}
	if l.process != nil && l.process.tail.String() != "" {
		err = fmt.Errorf("%w; it said: %s", err, l.process.tail.String())
	}
	return err
}

// startTimeoutError is the time that a server had to start, and has used up.
type startTimeoutError time.Duration

// Error names the time and the setting.
func (e startTimeoutError) Error() string {
	return fmt.Sprintf("within %s, which startTimeout of the server sets", time.Duration(e))
}

// messageSizeError says that a message is larger than limit.
func messageSizeError(limit int) error {
	return fmt.Errorf(
		"it sent a message of more than %d bytes; the setting limits.mcp_message_bytes holds this limit", limit,
	)
}

// hasEnded reports whether the connection has ended or ends within delay: a call may
// fail before the end of its connection is noticed.
func (l *connection) hasEnded(delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-l.closed:
	case <-l.outputEnded():
	case <-timer.C:
	}
	select { // what has ended counts, also when delay is 0
	case <-l.closed:
	case <-l.outputEnded():
	default:
		return false
	}
	return true
}

// outputEnded returns a channel that closes when the server's stdout has ended; over HTTP never.
func (l *connection) outputEnded() <-chan struct{} {
	if l.messages == nil {
		return nil
	}
	return l.messages.ended
}

// endReason returns why the connection ended.
func (l *connection) endReason() string {
	if l.messages != nil && l.messages.failureCause() != nil {
		return l.messages.failureCause().Error()
	}
	if l.process != nil {
		l.process.hasExitedBefore(nil, l.grace/4)
		return l.process.exitDescription()
	}
	return ""
}

// close ends the connection and, if there is one, the process. The process goes
// first: the SDK waits for answers that may never come. Over HTTP it may say
// goodbye for as long as grace. When hurry ends, it all ends soon after.
func (l *connection) close(hurry context.Context) {
	defer l.endLifetime()
	if l.process != nil {
		l.process.stop(hurry, l.grace)
	}
	defer context.AfterFunc(hurry, l.endLifetime)()
	defer time.AfterFunc(l.grace, l.endLifetime).Stop()
	_ = l.session.Close() // a server that does not say goodbye is gone as well
	<-l.closed
}
