package record_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

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

// Replies are redacted on a thread of lower priority than those of the clients.
func TestSavingGivesWay(t *testing.T) {
	before, _ := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	redactor := &niceRedactor{}
	answer := roundTripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", Header: http.Header{}, Body: http.NoBody}, nil
	})
	rec, err := record.New(record.Config{Transport: answer, Redactor: redactor, Observe: func(cassette.Interaction) {}})
	check(t, err)
	rec.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "https://api.anthropic.com/v1/messages", strings.NewReader("{}")))
	rec.Close()
	if want := min(20-before+5, 19); len(redactor.nice) != 1 || redactor.nice[0] != want {
		t.Errorf("nice %v, want %d", redactor.nice, want)
	}
}
