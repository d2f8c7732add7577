package backendtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func checkCancel(ctx context.Context, open Open) error {
	w := newWorker()
	ask, asked := make(chan struct{}), make(chan session.ID, 64)
	w.during = func(_ server.Run, c server.Control) {
		<-ask
		c.OnCancel(func(operation session.ID) { asked <- operation })
	}
	letAsk := sync.OnceFunc(func() { close(ask) })
	defer letAsk()
	b := open(w.executeRun, server.BackendLimits{})
	_, err := b.CancelOperation(ctx, numberedSession(1), numberedSession(2))
	if err := expectError[*server.NotRunningError]("CancelOperation without a run", err); err != nil {
		return err
	}
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	before, after := numberedSession(2), numberedSession(3)
	if err := cancelOperation(ctx, b, r, before); err != nil {
		return err
	}
	letAsk()
	if err := awaitCancel(ctx, asked, before); err != nil {
		return err
	}
	if err := cancelOperation(ctx, b, r, after); err != nil {
		return err
	}
	return awaitCancel(ctx, asked, after)
}

// cancelOperation asks a run that is under way to cancel an operation.
func cancelOperation(ctx context.Context, b server.Backend, r server.Run, operation session.ID) error {
	got, err := b.CancelOperation(ctx, r.Session, operation)
	if err == nil && got.ID != r.ID {
		err = fmt.Errorf("CancelOperation returned run %s, want %s", got.ID, r.ID)
	}
	return err
}

// awaitCancel waits until a run learns of an operation. Earlier ones may come again.
func awaitCancel(ctx context.Context, asked <-chan session.ID, want session.ID) error {
	for {
		select {
		case got := <-asked:
			if got == want {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the run does not learn of operation %s", want)
		}
	}
}
