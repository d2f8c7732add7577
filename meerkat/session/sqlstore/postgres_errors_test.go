package sqlstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// TestSilentDatabase checks that a database that takes a connection and says nothing is away, as
// one that refuses it is: an Append waits for it.
func TestSilentDatabase(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	config, err := pgx.ParseConfig("postgres://u@" + listener.Addr().String() + "/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.ConnectTimeout = 10 * time.Millisecond
	_, silent := pgx.ConnectConfig(t.Context(), config)
	const unknown = "; it is unknown whether the last records are stored; resume the session when the database is back"
	for want, err := range map[string]error{
		"cannot be reached: no answer within 5s":           silent,
		"cannot be reached: no answer within 5s" + unknown: &awayError{silent},
		"no answer within 30s":                             context.DeadlineExceeded,
	} {
		got := database{name: "d"}.wrapError(t.Context(), err)
		if !errors.As(got, new(*session.StorageError)) ||
			!strings.HasPrefix(got.Error(), "session database d: "+want+"; see to ") {
			t.Errorf("%v", got)
		}
		if !isAway(err) {
			t.Errorf("%v: not away", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := (database{}).wrapError(ended, silent); !errors.Is(got, context.Canceled) {
		t.Errorf("the end of the caller's context: %v", got)
	}
}

// TestRetryAfterSilence checks that an Append is tried again also where the try before waited
// longer for an answer than the patience is, and that it ends with the patience otherwise.
func TestRetryAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := retryWhileAway(t.Context(), DefaultPatience, func() error {
			if tries++; tries == 1 {
				time.Sleep(answerTime)
				return context.DeadlineExceeded
			}
			return nil
		})
		if err != nil || tries != 2 {
			t.Errorf("after a silent try: %v after %d tries", err, tries)
		}
		began := time.Now()
		err = retryWhileAway(t.Context(), DefaultPatience, func() error { return context.DeadlineExceeded })
		if took := time.Since(began); !errors.As(err, new(*awayError)) || took < DefaultPatience ||
			took > DefaultPatience+2*retryTime {
			t.Errorf("a database that stays away: %v after %s", err, took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := retryWhileAway(ended, DefaultPatience, func() error { return context.Canceled }); errors.As(err, new(*awayError)) {
			t.Errorf("the caller's end: %v", err)
		}
	})
}
