package datafile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// upper is a text that takes any scalar.
type upper string

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

type base struct {
	Name string `yaml:"name" data:"required,is=short"`
}

type entry struct {
	base    `yaml:",inline"`
	ID      string             `yaml:"id"`
	Level   string             `yaml:"level" data:"one=low high"`
	Levels  []string           `yaml:"levels" data:"one=low high,unique,single"`
	None    []string           `yaml:"none" data:"empty"`
	Count   int                `yaml:"count" data:"min=1"`
	Prices  map[string]float64 `yaml:"prices" data:"keys=short,min=0"`
	Free    any                `yaml:"free"`
	Loud    upper              `yaml:"loud"`
	Wait    time.Duration      `yaml:"wait"`
	Sub     *entry             `yaml:"sub"`
	Prompt  string             `yaml:"prompt" data:"choice,or=resume,filled"`
	Compact bool               `yaml:"compact" data:"choice"`
	Way     string             `yaml:"-" data:"chosen"`
	Kept    string             // not read
}

var options = Options{MaxBytes: 200, Rules: map[string]Rule{"short": OneOf("a", "b")}}

const good = `- {id: x, name: a, prompt: p, levels: [low, high], count: 2, prices: {b: 1.5}, free: {k: [1]}, loud: 4.5}
- {name: b, compact: true, levels: low, none: [], wait: 90s, sub: {name: a, resume: r}}
`

func TestRead(t *testing.T) {
	var got []entry
	f := Read("x.yaml", []byte(good), &got, options)
	want := []entry{
		{base: base{"a"}, ID: "x", Prompt: "p", Way: "prompt", Levels: []string{"low", "high"}, Count: 2,
			Prices: map[string]float64{"b": 1.5}, Free: map[string]any{"k": []any{1}}, Loud: "4.5"},
		{base: base{"b"}, Compact: true, Way: "compact", Levels: []string{"low"}, None: []string{},
			Wait: 90 * time.Second, Sub: &entry{base: base{"a"}, Prompt: "r", Way: "resume"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); f.Err() != nil || diff != "" {
		t.Error(f.Err(), diff)
	}
	if f.Line("[1].sub") != 2 || f.Line("x.none") != 0 {
		t.Error(f.Line("[1].sub"), f.Line("x.none"))
	}
	f.Add("[1].sub.none[3]", "is wrong")
	f.AddUnless(false, "x.count", "is %d", 2)
	f.AddUnless(true, "x.count", "is right")
	if got, want := f.Err().Error(), "x.yaml:1:59: x.count: is 2\nx.yaml:2:67: [1].sub.none[3]: is wrong"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFaults: each mistake is named with its place, and a file may have several.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "x.yaml:1: is empty; it must be a list with at least one entry",
		"a: b":                     "x.yaml:1:1: is a mapping; it must be a list",
		"[]":                       "x.yaml:1:1: is an empty list; it must be a list",
		"- 1":                      "x.yaml:1:3: [0]: is a number; it must be a mapping with the keys compact, count, ",
		"[":                        "x.yaml:1: not YAML: did not find expected node content",
		"\n- *x":                   "x.yaml:2: not YAML: unknown anchor 'x' referenced",
		good + "---\na":            "x.yaml: more than one YAML document",
		strings.Repeat("#", 201):   "x.yaml: has 201 bytes, at most 200 are read",
		"- {prompt: p}":            `x.yaml:1:3: key "[0].name" is missing`,
		"- {name: c, prompt: p}":   `x.yaml:1:10: [0].name: "c" is not known; use a, b; did you mean a?`,
		"- {name: a}":              "x.yaml:1:3: [0]: needs exactly one of the keys prompt, resume, compact",
		"- {prompt: p, resume: p}": "x.yaml:1:3: [0]: needs exactly one of",
		"- {id: i, prompt: ' '}":   "x.yaml:1:19: i.prompt: is blank",
		"- {promt: p}":             `x.yaml:1:4: key "[0].promt" is not known; did you mean prompt?`,
		"- {name: a, name: b}":     `x.yaml:1:13: key "[0].name" stands twice; it stands in line 1 already`,
		"- {name: 1}":              "x.yaml:1:10: [0].name: is a number; it must be a text, so put it in quotes",
		"- {name: }":               "[0].name: is empty; it must be a text",
		"- {level: hgih}":          `[0].level: "hgih" is not known; use low, high; did you mean high?`,
		"- {levels: [low, mid]}":   `x.yaml:1:18: [0].levels[1]: "mid" is not known`,
		"- {levels: [low, low]}":   `[0].levels[1]: "low" stands twice`,
		"- {levels: }":             "[0].levels[0]: is empty; it must be a text",
		"- {count: 0}":             "[0].count: 0 is not a number from 1",
		"- {count: 1.5}":           "[0].count: is a number; it must be a whole number",
		"- {prices: {a: .inf}}":    "[0].prices.a: .inf is not a number from 0",
		"- {prices: {c: 1}}":       `x.yaml:1:13: [0].prices.c: "c" is not known`,
		"- {wait: soon}":           `[0].wait: "soon" is not a duration such as 90s or 5m`,
		"- {compact: yes}":         "[0].compact: is a text; it must be true or false",
		"- {free: {a: 1, a: 2}}":   `already defined at line 1`,
		"- {free: &x 1, level: *x}": "x.yaml:1:10: [0].free: anchors and aliases are not allowed; write the value out\n" +
			`x.yaml:1:23: [0].level: anchors and aliases are not allowed`,
		"- {<<: {name: a}}": "x.yaml:1:4: a merge key is a key",
	} {
		var got []entry
		err := Read("x.yaml", []byte(text), &got, options).Err()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q\n got %v\nwant %s", text, err, want)
		}
	}
}

// FuzzRead holds that any bytes are read or refused with the name of the file.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("- {free: &x [*x], <<: 1, ? {a: b} : c}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []entry
		if file := Read("x.yaml", data, &got, options); file.OK() != (file.Err() == nil) ||
			file.OK() && len(got) == 0 || !file.OK() && !strings.HasPrefix(file.Err().Error(), "x.yaml:") {
			t.Errorf("%+v, %v", got, file.Err())
		}
	})
}
