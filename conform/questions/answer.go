package questions

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/wires/wire"
)

// answer is an answer as it is judged: unpacked, and without the key, so that no report can quote it.
type answer struct {
	*client.Answer
	sent     []byte // the body as it came
	holdsKey bool
}

// The bounds of a run, beside the budget of requests.
const (
	// patience is how long limits of the rate are waited for in all.
	patience = 2 * time.Minute
	// maxEndless is how many answers may take too long or be too long.
	maxEndless = 8
	// maxBody is more than any answer to a question has.
	maxBody = 4 << 20
)

// isLimited reports whether the server limits the rate of requests.
func (a *answer) isLimited() bool { return a.Response.Status == http.StatusTooManyRequests }

// send sends a request, and again where the server limits its rate, as clients do. The last answer is the one that counts.
func (j *judge) send(ctx context.Context, ask func() *client.Answer) (answers []*answer) {
	for ctx.Err() == nil {
		from := ask()
		a := &answer{Answer: from, sent: from.Response.Body}
		if plain := unpack(a.sent); plain != nil {
			a.Response.Body = plain
		}
		if a.Exchange, a.holdsKey = j.mask.Exchange(a.Exchange); a.holdsKey || len(a.Response.Body) != len(a.sent) {
			a.Reply = a.ReadReply()
		}
		answers = append(answers, a)
		wait := waitOf(a.Response.Header)
		if !a.isLimited() || wait < 0 || j.patience.Add(-int64(wait)) < 0 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	if answers == nil { // the run was ended
		answers = []*answer{{Answer: &client.Answer{Reply: &wire.Reply{}, Err: ctx.Err()}}}
	}
	return answers
}

// waitOf returns how long a client waits after status 429: what the server says, or a second. It is below 0 where the
// client should not ask again.
func waitOf(h http.Header) time.Duration {
	wait := time.Second
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = time.Duration(ms * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		wait = time.Duration(s * float64(time.Second))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = time.Until(at)
	}
	if h.Get("X-Should-Retry") == "false" || wait > patience {
		return -1
	}
	return max(wait, 100*time.Millisecond)
}

// unpack returns what a body in gzip holds, as far as it can be read; nil for any other body.
func unpack(body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(z, maxBody)) // a body that was cut is judged as far as it goes
	return plain
}

// isLate reports whether the server took too long.
func (a *answer) isLate() bool {
	return errors.Is(a.Err, client.ErrTimeout) || errors.Is(a.Err, client.ErrSilent)
}

// isEndless reports whether conform had to end the answer.
func (a *answer) isEndless() bool { return a.isLate() || errors.Is(a.Err, client.ErrTooLong) }
