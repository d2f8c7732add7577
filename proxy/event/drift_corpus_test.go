package event

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy/cassette"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// recorded reads the corpus's replies by operation and source, in a fixed order.
func recorded(t *testing.T) map[string][]Reply {
	t.Helper()
	groups := map[string][]Reply{}
	for _, path := range corpus.Files(t, "*/*/*.request.json") {
		base := strings.TrimSuffix(path, ".request.json")
		source, _, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "__")
		if r := ReplyOf(read(base)); r.isSuccess() {
			groups[r.Group+", "+source] = append(groups[r.Group+", "+source], r)
		}
	}
	return groups
}

func read(base string) (in cassette.Interaction) {
	var request struct {
		Method, URL string
		Body        *string
	}
	var response struct {
		Status  int
		Headers map[string]any
	}
	for name, v := range map[string]any{".request.json": &request, ".response.json": &response} {
		if text, err := os.ReadFile(base + name); err == nil {
			_ = json.Unmarshal(text, v) // what is absent stays empty
		}
	}
	in.Request = cassette.Request{Method: request.Method, URL: request.URL}
	if request.Body != nil {
		in.Request.Body = []byte(*request.Body)
	}
	in.Response = cassette.Response{Status: response.Status, Header: http.Header{}}
	in.Response.Body, _ = os.ReadFile(base + ".response.body")
	for name, v := range response.Headers {
		in.Response.Header.Set(name, fmt.Sprint(v))
	}
	return in
}

// Replies of many models, years and askers rarely look broken to one another:
// what was learned from half of a source's replies is held against each of the
// other half. What is left are mostly fields that came with a newer API.
func TestFalseAlarmsOnRecordedTraffic(t *testing.T) {
	judged, alarms, order := 0, 0, 0
	for group, replies := range recorded(t) {
		if len(replies) < 8 {
			continue
		}
		was := newGrammar()
		for i := 0; i < len(replies); i += 2 {
			was.learnEvents(replies[i].Events)
		}
		for i := 1; i < len(replies); i += 2 {
			is := newGrammar()
			is.learnEvents(replies[i].Events)
			var found findings
			found.compareGrammars(group, was, is)
			judged++
			broken := func(f Finding) bool { return f.Severity == Breaking }
			if n := slices.IndexFunc(found, broken); n >= 0 {
				alarms++
				t.Logf("%s: %s %s %s", group, found[n].Rule, found[n].Event, found[n].Path)
			}
			if slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == "order" }) {
				order++
			}
		}
	}
	t.Logf("%d replies, %d with a breaking finding, %d of them by order", judged, alarms, order)
	if alarms*20 > judged || order > 0 {
		t.Errorf("%d of %d replies look broken, %d by order; want 5%% at most, and none by order", alarms,
			judged, order)
	}
}
