package tool

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil || !s.CanCheck() {
		t.Fatal(s, err)
	}
	for document, want := range map[string]string{
		`{"n":1}`:       "",
		` {"n":1} `:     "",
		`{"n":"x"}`:     "does not fit: n: ",
		`{}`:            "does not fit: n is required",
		`[1]`:           "is not one JSON object",
		`{"n":1}{}`:     "is not one JSON object",
		"```json\n{}":   "is not one JSON object",
		`{"n":1e99999}`: "",
	} {
		err := s.Check([]byte(document))
		if want == "" && err != nil && document != `{"n":1e99999}` || want != "" && (err == nil ||
			!strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", document, err, want)
		}
	}
	if (*Schema)(nil).CanCheck() || (*Schema)(nil).Check([]byte(`{}`)) != nil {
		t.Error("no schema finds something")
	}
}
