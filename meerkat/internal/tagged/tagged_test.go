package tagged_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/internal/tagged"
)

func TestEncode(t *testing.T) {
	for want, c := range map[string]struct {
		kind  string
		value any
	}{
		`{"type":"equal"}`:             {"equal", nil},
		`{"type":"list","value":[]}`:   {"list", []string{}},
		`{"type":"fixed","value":500}`: {"fixed", 500},
	} {
		if got, err := tagged.Encode(c.kind, c.value); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"equal"}`:                       "equal",
		`{"type":"equal","value":null}`:          "equal",
		`{"type":"list","value":["a"]}`:          "list",
		`{"type":"lits","value":["a"]}`:          `type "lits" is not known; did you mean list?`,
		`{}`:                                     `type "" is not known; there are equal, list`,
		`{"type":"equal","value":1}`:             "equal takes no value",
		`{"type":"list"}`:                        "list needs a value",
		`{"type":"list","value":null}`:           "list needs a value",
		`{"type":"list","value":"a"}`:            "list: json: cannot unmarshal",
		`{"type":"list","value":["a"],"deny":1}`: `unknown field "deny"`,
		`[]`:                                     "cannot unmarshal array",
	} {
		var list []string
		kind, err := tagged.Decode([]byte(in), map[string]any{"equal": nil, "list": &list})
		if err == nil && kind != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", in, kind, err, want)
		}
		if kind == "list" && (len(list) != 1 || list[0] != "a") {
			t.Errorf("%s: the value is %v", in, list)
		}
	}
}
