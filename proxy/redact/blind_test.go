package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	_ "github.com/meerkat-go/conformance/wires/all"
)

var update = flag.Bool("update", false, "write testdata/blind/figures.txt again")

// blindRow is an exchange of the blind set; testdata/blind/README.md describes the fields.
type blindRow struct {
	ID, Group, Why  string
	Method, URL     string
	RequestHeaders  map[string]string `json:"request_headers"`
	RequestBody     string            `json:"request_body"`
	ResponseStatus  int               `json:"response_status"`
	ResponseHeaders map[string]string `json:"response_headers"`
	ResponseBody    string            `json:"response_body"`
	Secret          string
	SecretForms     []string `json:"secret_forms"`
	Split           bool
	Keep            []string
}

// What becomes of a row.
const (
	removed = "removed by redaction"
	refused = "refused by the gate"
	missed  = "missed"
	same    = "unchanged"
	changed = "changed"
	damaged = "neighbours changed" // the secret is gone, and a text of the row that must survive with it
)

// TestBlindSet records each exchange of the blind set as a recorder does and compares what became of the secrets with
// the recorded figures. A rule that finds more, or that changes fewer innocent exchanges, shows as a difference, too:
// write the figures again with -update and look at them.
func TestBlindSet(t *testing.T) {
	const figures = "testdata/blind/figures.txt"
	counts, notes := map[string]map[string]int{}, ""
	for _, row := range readBlindRows(t) {
		outcome, detail := row.record(t)
		if counts[row.Group] == nil {
			counts[row.Group] = map[string]int{}
		}
		counts[row.Group][outcome]++
		if outcome != removed && outcome != same {
			notes += fmt.Sprintf("%-13s %-20s %s%s\n", row.ID, outcome, row.Why, detail)
		}
	}
	got := ""
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		for _, outcome := range slices.Sorted(maps.Keys(counts[group])) {
			got += fmt.Sprintf("%-9s %-21s %3d\n", group, outcome, counts[group][outcome])
		}
	}
	got += "\n" + notes
	if *update {
		if err := os.WriteFile(figures, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other figures than recorded (-want +got):\n%s", diff)
	}
}

func readBlindRows(t *testing.T) (rows []blindRow) {
	t.Helper()
	text, err := os.ReadFile("testdata/blind/rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row blindRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// record redacts the exchange and asks the gate, with a recorder's memory that is empty.
func (row blindRow) record(t *testing.T) (outcome, detail string) {
	t.Helper()
	in := row.exchange()
	guard := gate.New()
	out := guard.Watch(redact.New([]byte("key of the blind set"))).Interaction(in)
	checked := guard.Check(out)
	for _, bodies := range [][2][]byte{{in.Request.Body, out.Request.Body}, {in.Response.Body, out.Response.Body}} {
		if json.Valid(bodies[0]) && !json.Valid(bodies[1]) {
			t.Errorf("%s: a body is no JSON any more", row.ID)
		}
	}
	text := textOf(out)
	var hit *gate.Hit
	switch isHit := errors.As(checked, &hit); {
	case row.Group == "innocent" && isHit:
		return refused, ": " + hit.What
	case row.Group == "innocent" && text != textOf(in):
		return changed, ""
	case row.Group == "innocent":
		return same, ""
	case !isHit && !row.survivesIn(text):
		for _, keep := range row.Keep {
			if !strings.Contains(text, keep) {
				return damaged, ": " + keep
			}
		}
		return removed, ""
	case isHit:
		return refused, ""
	}
	return missed, ""
}

func (row blindRow) exchange() (in cassette.Interaction) {
	in.Request = cassette.Request{Method: row.Method, URL: row.URL, Header: headerOf(row.RequestHeaders),
		Body: []byte(row.RequestBody)}
	in.Response = cassette.Response{Status: row.ResponseStatus, Header: headerOf(row.ResponseHeaders),
		Body: []byte(row.ResponseBody)}
	return in
}

func headerOf(fields map[string]string) http.Header {
	h := http.Header{}
	for name, value := range fields {
		h.Add(name, value)
	}
	return h
}

// textOf is all of an exchange in one text.
func textOf(in cassette.Interaction) string {
	out := in.Request.URL + "\n"
	for _, h := range []http.Header{in.Request.Header, in.Response.Header} {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			out += name + ": " + strings.Join(h[name], "\n") + "\n"
		}
	}
	return out + string(in.Request.Body) + "\n" + string(in.Response.Body)
}

// survivesIn reports whether the secret is still in a text. The pieces of one that was streamed may stand there, but not
// one after the other.
func (row blindRow) survivesIn(text string) bool {
	if row.Split {
		at := 0
		for _, piece := range row.SecretForms {
			n := strings.Index(text[at:], piece)
			if n < 0 {
				return false
			}
			at += n + len(piece)
		}
		return true
	}
	return slices.ContainsFunc(append(row.SecretForms, row.Secret),
		func(form string) bool { return strings.Contains(text, form) })
}
