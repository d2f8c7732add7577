package record_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// niceRedactor notes the nice value of the thread that it runs on.
type niceRedactor struct{ nice []int }

func (r *niceRedactor) Interaction(in cassette.Interaction) cassette.Interaction {
	kernel, _ := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid())
	r.nice = append(r.nice, 20-kernel) // the system call returns it so
	return in
}

var noContent = roundTripFunc(func(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", Header: http.Header{}, Body: http.NoBody}, nil
})

func askOnce(rec *record.Recorder) {
	rec.ServeHTTP(httptest.NewRecorder(),
		httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader("{}")))
}

// heldRedactor redacts nothing until it is released.
type heldRedactor struct {
	niceRedactor
	released chan struct{}
}

func (r *heldRedactor) Interaction(in cassette.Interaction) cassette.Interaction {
	<-r.released
	return r.niceRedactor.Interaction(in)
}

// A reply is saved at once at the usual priority. What waits for that is saved at a lower one, so
// that the bytes of other clients go first.
func TestSavingGivesWay(t *testing.T) {
	before, _ := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	redactor := &heldRedactor{}
	synctest.Test(t, func(t *testing.T) {
		redactor.released = make(chan struct{})
		rec, err := record.New(record.Config{Transport: noContent, Redactor: redactor,
			Observe: func(cassette.Interaction) {}})
		check(t, err)
		for range 2 { // the first alone is a batch
			go askOnce(rec)
			synctest.Wait()
		}
		close(redactor.released)
		rec.Close()
	})
	if len(redactor.nice) != 2 || redactor.nice[0] != 20-before || redactor.nice[1] != min(20-before+5, 19) {
		t.Errorf("nice %v beside %d", redactor.nice, 20-before)
	}
}
