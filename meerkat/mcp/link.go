package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection to a server, from its handshake to its end.
type link struct {
	session *sdk.ClientSession
	proc    *process  // nil over HTTP
	in      *messages // nil over HTTP
	dead    chan struct{}
	grace   time.Duration
	open    context.Context // that of its requests over HTTP
	hangUp  context.CancelFunc
}

// handlers are what a server may tell us.
type handlers struct {
	changed  func()
	progress func(*sdk.ProgressNotificationParams)
}

// dial starts or reaches a server and shakes hands with it.
func dial(ctx context.Context, s Server, o Options, h handlers) (*link, error) {
	l := &link{dead: make(chan struct{}), grace: o.Grace}
	l.open, l.hangUp = context.WithCancel(context.WithoutCancel(ctx))
	transport, err := l.transport(ctx, s, o)
	if err != nil {
		l.hangUp()
		return nil, err
	}
	l.session, err = client(o, h).Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: s.Protocol})
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	go func() {
		defer close(l.dead)
		_ = l.session.Wait() // why is asked of the process
	}()
	return l, nil
}

func (l *link) transport(ctx context.Context, s Server, o Options) (sdk.Transport, error) {
	if s.URL != "" {
		client, err := newDoor(l.open, s, o) //nolint:contextcheck // requests live as long as the link, not as its handshake
		if err != nil {
			return nil, err
		}
		return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: o.MaxMessage}, nil
	}
	var err error
	if l.proc, err = start(ctx, s, o); err != nil {
		return nil, err
	}
	log, mask := o.Log.With("mcp_server", s.Name), masker(s)
	l.in = newMessages(l.proc.stdout, o.MaxMessage, func(line []byte) {
		log.Debug("mcp server printed what is no message", "line", mask(string(line)))
	})
	// The messages grow by what keepExact adds; their limit was held already.
	return &sdk.IOTransport{Reader: pipe{l.in, l.proc}, Writer: l.proc.stdin, MaxLineLength: -1}, nil
}

// client is a client that offers servers nothing: no roots, no model, no user.
// The SDK declines what they ask for all the same.
func client(o Options, h handlers) *sdk.Client {
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

// failed ends what has begun and says in words of the user why there is no link.
func (l *link) failed(ctx context.Context, err error) error {
	l.hangUp()
	ended, fault := "", error(nil)
	if l.proc != nil {
		if ctx.Err() == nil {
			l.proc.gone(l.grace / 4) // it mostly has ended: its exit status says more than a broken pipe
		}
		fault = l.in.why() // before we close its stdout ourselves
		ended = l.proc.ending()
		l.proc.stop(0)
	}
	switch {
	case errors.Is(context.Cause(ctx), errStart):
		err = fmt.Errorf("it did not answer the handshake in time (%w); raise its start timeout, or look into its log", errStart)
	case ctx.Err() != nil:
		err = ctx.Err()
	case fault != nil:
		err = fault
	case ended != "":
		err = fmt.Errorf("it ended during the handshake (%s)", ended)
	}
	if l.proc != nil && l.proc.tail.String() != "" {
		err = fmt.Errorf("%w; it said: %s", err, l.proc.tail.String())
	}
	return err
}

var errStart = errors.New("start timeout")

// over reports whether the connection has ended, now or within a moment: the
// end of a call and the end of its connection race.
func (l *link) over(moment time.Duration) bool {
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-l.dead:
	case <-l.silent():
	case <-timer.C:
	}
	select { // what has ended counts, also when the moment was up at once
	case <-l.dead:
	case <-l.silent():
	default:
		return false
	}
	return true
}

// silent closes when the server's stdout has ended; over HTTP never.
func (l *link) silent() <-chan struct{} {
	if l.in == nil {
		return nil
	}
	return l.in.ended
}

// ending says why the connection ended.
func (l *link) ending() string {
	if l.in != nil && l.in.why() != nil {
		return l.in.why().Error()
	}
	if l.proc != nil {
		l.proc.gone(l.grace / 4)
		return l.proc.ending()
	}
	return ""
}

// close ends the connection and, if there is one, the process. The process goes
// first: the SDK waits for answers that may never come. Over HTTP it may say
// goodbye for as long as grace.
func (l *link) close() {
	defer l.hangUp()
	if l.proc != nil {
		l.proc.stop(l.grace)
	}
	defer time.AfterFunc(l.grace, l.hangUp).Stop()
	_ = l.session.Close() // a server that does not say goodbye is gone as well
	<-l.dead
}
