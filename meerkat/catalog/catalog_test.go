package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// allowed lists every name of reference §6 that an agent may use, and some
// that follow by rule; the value is the entry that answers.
var allowed = map[string]string{
	"claude-sonnet-4-5": "claude-sonnet-4-5", "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
	"claude-opus-4-5": "claude-opus-4-5", "claude-opus-4-5-20251101": "claude-opus-4-5",
	"claude-opus-4-6": "claude-opus-4-6", "claude-sonnet-4-6": "claude-sonnet-4-6",
	"claude-opus-4-7": "claude-opus-4-7", "claude-opus-4-8": "claude-opus-4-8",
	"claude-sonnet-5": "claude-sonnet-5", "claude-opus-5": "claude-opus-5",
	"claude-fable-5": "claude-fable-5", "claude-mythos-5": "claude-mythos-5",
	"claude-fable-5-1": "claude-fable-5-1", "claude-mythos-5-1": "claude-mythos-5-1",
	"claude-opus-5-5": "claude-opus-5-5", "claude-sonnet-5-5": "claude-sonnet-5-5",

	"gpt-5.2": "gpt-5.2", "gpt-5.2-2025-12-11": "gpt-5.2", "gpt-5.2-codex": "gpt-5.2-codex",
	"gpt-5.3-codex": "gpt-5.3-codex", "gpt-5.2-pro": "gpt-5.2-pro", "gpt-5.2-pro-2025-12-11": "gpt-5.2-pro",
	"gpt-5.4": "gpt-5.4", "gpt-5.4-2026-03-05": "gpt-5.4", "gpt-5.4-mini": "gpt-5.4-mini",
	"gpt-5.4-mini-2026-03-17": "gpt-5.4-mini", "gpt-5.4-nano-2026-03-17": "gpt-5.4-nano",
	"gpt-5.4-nano": "gpt-5.4-nano", "gpt-5.4-pro": "gpt-5.4-pro",
	"gpt-5.5": "gpt-5.5", "gpt-5.5-2026-04-23": "gpt-5.5", "gpt-5.5-pro": "gpt-5.5-pro",
	"gpt-5.5-pro-2026-04-23": "gpt-5.5-pro", "gpt-5.6": "gpt-5.6", "gpt-5.6-sol": "gpt-5.6-sol",
	"gpt-5.6-terra": "gpt-5.6-terra", "gpt-5.6-luna": "gpt-5.6-luna", "gpt-5.6-cyber": "gpt-5.6-cyber",
	"gpt-6-astra": "gpt-6-astra", "gpt-6-sol": "gpt-6-sol", "gpt-6-luna": "gpt-6-luna",
	"gpt-6-rosalind": "gpt-6-rosalind", "gpt-6.1-sol": "gpt-6.1-sol", "gpt-6.1-terra": "gpt-6.1-terra",

	"gemini-3-pro-preview": "gemini-3-pro-preview", "gemini-3-flash-preview": "gemini-3-flash-preview",
	"gemini-3.1-pro-preview": "gemini-3.1-pro-preview", "gemini-3.1-flash-lite": "gemini-3.1-flash-lite",
	"gemini-3.1-pro-preview-customtools": "gemini-3.1-pro-preview-customtools",
	"gemini-3.5-flash":                   "gemini-3.5-flash", "gemini-3.5-flash-lite": "gemini-3.5-flash-lite",
	"gemini-3.6-flash": "gemini-3.6-flash", "gemini-3.7-flash": "gemini-3.7-flash",
	"gemini-3.8-flash": "gemini-3.8-flash", "gemini-4-argon": "gemini-4-argon",

	// Later versions of a line have the flags of the nearest lower entry.
	"claude-opus-4-10": "claude-opus-4-8", "claude-opus-4-13": "claude-opus-4-8",
	"claude-opus-6": "claude-opus-5-5", "claude-sonnet-4-7": "claude-sonnet-4-6",
	"claude-fable-5-2": "claude-fable-5-1", "gpt-5.10": "gpt-5.6", "gpt-5.3": "gpt-5.2",
	"gemini-3.10-flash": "gemini-3.8-flash",
}

// rejected lists the seed's rejected models, every name reference §6 rejects,
// and the traps of parsing; the value is a piece of the reason.
var rejected = map[string]string{
	// Seed 000 §1.3.
	"claude-3-opus-20240229": "Claude 3", "claude-3-5-sonnet-20241022": "Claude 3.5",
	"claude-3-7-sonnet-latest": "alias", "claude-3-haiku-20240307": "Claude 3", "claude-2.1": "Claude 2.1",
	"claude-sonnet-4-20250514": "below the minimum 4.5", "claude-opus-4-20250514": "claude-opus 4 is below",
	"gpt-4o": "below the minimum", "gpt-4.1": "below the minimum", "gpt-5.1": "below the minimum",
	"o1": "o series", "o1-pro": "o series", "o3": "o series", "o3-mini": "o series", "o3-pro": "o series",
	"gemini-1.5-pro": "below the minimum", "gemini-2.5-flash": "below the minimum", "gemini-2.0-flash": "below",
	// Reference §6.1.
	"claude-haiku-4-5": "Haiku", "claude-haiku-4-5-20251001": "Haiku", "claude-haiku-5-5": "Haiku",
	"claude-mythos-preview": "retired", "claude-sonnet-4": "below", "claude-sonnet-4-0": "below",
	"claude-opus-4": "below", "claude-opus-4-0": "below", "claude-opus-4-1": "below",
	"claude-opus-4-1-20250805": "below",
	// Reference §6.2.
	"gpt-5.2-chat-latest": "fixed", "gpt-5.3-chat-latest": "fixed", "gpt-3.5-turbo": "below", "gpt-4": "below",
	"gpt-4o-mini": "below", "gpt-4.1-nano": "below", "gpt-5": "below", "gpt-5-mini": "below", "gpt-5-codex": "below",
	"gpt-5.1-codex": "below", "o4-mini": "o series", "gpt-4o-audio-preview": "media", "gpt-realtime": "media",
	"gpt-4o-search-preview": "search", "o3-deep-research": "o series", "codex-mini-latest": "older",
	// Reference §6.3.
	"gemini-3-pro-image": "media", "gemini-3-pro-image-preview": "media", "gemini-2.5-flash-preview-tts": "media",
	"gemini-3-flash-live": "media", "nano-banana": "media", "gemini-robotics-er-1.5-preview": "not an agent",
	"gemini-embedding-001": "not an agent", "gemini-flash-latest": "alias", "gemini-flash-lite-latest": "alias",
	"gemini-pro-latest": "alias", "gemini-omni": "media",
	// Traps.
	"": "no model", "claude-sonet-4-5": "not a model line", "claude-opus-4-05": "below", "gpt-5.2-proo": "variant",
	"gpt-5.2-mini": "variant", "claude-opus-4-5-fast": "variant", "claude-sonnet-4-5-latest": "alias",
	"claude-opus-4-5-20259999": "variant", "gemini-3-pro": "variant", "gemini-3.6-flahs": "variant",
	"claude-sonnet-4-5@20250929": "platform", "models/gemini-3-flash-preview": "platform",
	"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "platform", "llama-3": "not a model line",
	"claude-opus-4-5-20990101": "no snapshot", "claude-opus-4-9-20260101": "no snapshot",
	"gpt-5.2-2099-12-11": "no snapshot", "gemini-3-flash-preview-09-2099": "no snapshot",
	"claude-opus-4-5-20991399": "variant", "claude-opus-4-14": "far above", "claude-opus-7": "far above",
	"gpt-5.12": "far above", "gpt-99": "far above", "gemini-5.6-flash": "far above",
	"CLAUDE-OPUS-4-5": "exact", "claude-fable": "no version", "claude-fable-4": "below", "gpt-99999": "no version",
}

func TestLookupAllows(t *testing.T) {
	for model, entry := range allowed {
		e, err := Lookup(model)
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		if e.Name != entry || e.Model != model || e.Provider != ProviderOf(model) || e.Unlisted {
			t.Errorf("%s: got entry %s, model %s, provider %s", model, e.Name, e.Model, e.Provider)
		}
		if want := e.Base != entry; e.Inferred != want {
			t.Errorf("%s: inferred %v, want %v", model, e.Inferred, want)
		}
	}
}

func TestLookupRejects(t *testing.T) {
	for model, reason := range rejected {
		e, err := Lookup(model)
		var u *UnsupportedModel
		if !errors.As(err, &u) {
			t.Errorf("%q: got %v, %v; want UnsupportedModel", model, e.Name, err)
			continue
		}
		if u.Model != model || !strings.Contains(u.Reason, reason) {
			t.Errorf("%q: reason %q does not say %q", model, u.Reason, reason)
		}
		for _, known := range u.Known {
			if _, err := Lookup(known); err != nil {
				t.Errorf("%q: suggests %s: %v", model, known, err)
			}
		}
	}
}

// misspelt has other spellings of allowed names and the right ones.
var misspelt = map[string]string{
	"claude-opus-4.5": "claude-opus-4-5", "claude-opus-4.10": "claude-opus-4-10",
	"claude-sonnet-4.5-20250929": "claude-sonnet-4-5-20250929",
	"gemini-3.0-flash-preview":   "gemini-3-flash-preview", "gemini-3-1-pro-preview": "gemini-3.1-pro-preview",
	"gpt-5.20": "gpt-5.2", "gpt-5.20-codex": "gpt-5.2-codex", "gpt-52": "gpt-5.2", "claude-opus-45": "claude-opus-4-5",
	"claude-opus-4-50": "claude-opus-4-5", "gemini-31-pro-preview": "gemini-3.1-pro-preview",
	"gemini-3.00-flash-preview": "", "gpt-5.2.0": "", "claude-opus-04-5": "", "claude-opus-4-5-20250230": "",
	"gpt-5-2": "gpt-5.2", "gpt-5-2-codex": "gpt-5.2-codex", "gpt-5.20.1": "", "gpt-6.0-sol": "gpt-6-sol",
	"Claude-Opus-4-5": "claude-opus-4-5", "GPT-5.2": "gpt-5.2", "Gemini-3-Flash-Preview": "gemini-3-flash-preview",
	" claude-opus-4-5": "claude-opus-4-5", "claude-opus-4-5\n": "claude-opus-4-5", "claude-opus 4-5": "claude-opus-4-5",
	"claude_opus_4_5": "claude-opus-4-5", "claude--opus-4-5": "claude-opus-4-5", "claude-opus-4-5-": "claude-opus-4-5",
	"claude\u2010opus\u20134-5": "claude-opus-4-5", "cl\u0430ude-opus-4-5": "claude-opus-4-5",
	"gpt-\uff15.2":          "gpt-5.2",
	"claude-opus-4-5\u200b": "claude-opus-4-5", "\ufeffgpt-5.2": "gpt-5.2",
	"claude-4-5-opus": "claude-opus-4-5", "claude-4.5-opus": "claude-opus-4-5", "claude-opus-5-0": "claude-opus-5",
	"claude-opus-4-5-2025-11-01": "", "gpt-5.2-20251211": "", "gemini-3-flash-preview-2025-12-11": "",
	"claude-opus-4-5-19991231":      "",
	"models/gemini-3-flash-preview": "gemini-3-flash-preview", "anthropic/claude-opus-4.5": "claude-opus-4-5",
	"us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5-20251101",
	"claude-sonnet-4-5@20250929":                 "claude-sonnet-4-5",
}

func TestOtherSpellings(t *testing.T) {
	for model, meant := range misspelt {
		_, err := Lookup(model)
		var u *UnsupportedModel
		switch {
		case !errors.As(err, &u):
			t.Errorf("%q is allowed (%v)", model, err)
		case meant != "" && (len(u.Known) != 1 || u.Known[0] != meant):
			t.Errorf("%q: %v, want %s alone", model, err, meant)
		case meant == "" && len(u.Known) == 0:
			t.Errorf("%q: %v names no model", model, err)
		}
		if strings.ContainsAny(err.Error(), "\n\u0430\u200b\ufeff") {
			t.Errorf("%q: the error does not show which letters it has: %s", model, err)
		}
	}
}

func TestUnsupportedModelText(t *testing.T) {
	_, err := Lookup("gpt-5.2-proo")
	want := `model "gpt-5.2-proo" is not supported: the catalogue has no gpt 5.2 variant "proo"; ` +
		`allowed are for example gpt-5.2-pro, gpt-5.4-pro, gpt-5.5-pro`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// The default must be usable for as long as anything is: named, allowed,
// without an announced end.
func TestDefault(t *testing.T) {
	for _, provider := range []string{Anthropic, OpenAI, Gemini} {
		e, ok := Default(provider)
		if !ok || !e.Named || e.Retires != "" || e.Provider != provider || e.Inferred {
			t.Errorf("%s: default %+v", provider, e)
		}
	}
	if e, ok := Default("cohere"); ok {
		t.Errorf("unknown provider has default %s", e.Name)
	}
}

// The named entries are exactly those that the specification names.
func TestNamed(t *testing.T) {
	want := []string{
		"claude-sonnet-4-5", "claude-opus-4-5", "claude-opus-4-6", "gpt-5.2", "gpt-5.2-pro", "gpt-5.2-codex",
		"gemini-3-pro-preview", "gemini-3-flash-preview",
	}
	var got []string
	for _, e := range Models() {
		if e.Named {
			got = append(got, e.Name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Each entry must be complete and consistent: a gap here is a 400 later.
func TestEntriesAreSound(t *testing.T) {
	names := map[string]bool{}
	for _, e := range append(Models(), catalogue().Unlisted...) {
		if e.Provider == "" || e.Thinking == "" {
			t.Errorf("%s: no provider or thinking form", e.Name)
		}
		if e.DefaultEffort != "" && !slices.Contains(e.Efforts, e.DefaultEffort) {
			t.Errorf("%s: default effort %s is not among %v", e.Name, e.DefaultEffort, e.Efforts)
		}
		if e.Thinking == ThinkingBudget {
			for _, effort := range e.Efforts {
				if b := e.Budgets[effort]; effort != "none" && (b < 1024 || b >= e.DefaultOutput) {
					t.Errorf("%s: budget %d for %s against %d tokens (A-7, A-25)", e.Name, b, effort, e.DefaultOutput)
				}
			}
		}
		if e.Thinking == ThinkingAlwaysOn && slices.Contains(e.Efforts, "none") {
			t.Errorf("%s: always on, yet none is an effort (A-30)", e.Name)
		}
		if e.Provider == Anthropic && (e.DefaultOutput == 0 || e.MaxOutput != 0 && e.DefaultOutput > e.MaxOutput) {
			t.Errorf("%s: default output %d, max %d (A-6, A-7)", e.Name, e.DefaultOutput, e.MaxOutput)
		}
	}
	for _, e := range Models() {
		if names[e.Name] {
			t.Errorf("%s: listed twice", e.Name)
		}
		names[e.Name] = true
	}
}

func TestFlags(t *testing.T) {
	get := func(model string) Entry {
		e, err := Lookup(model)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for model, form := range map[string]Thinking{
		"claude-sonnet-4-5-20250929": ThinkingBudget, "claude-opus-4-6": ThinkingAdaptive,
		"claude-opus-4-8": ThinkingAdaptive, "claude-fable-5": ThinkingAlwaysOn, "claude-opus-5-5": ThinkingAlwaysOn,
		"gpt-5.2": ThinkingEffort, "gemini-3-flash-preview": ThinkingLevel,
	} {
		if got := get(model).Thinking; got != form {
			t.Errorf("%s: thinking %s, want %s", model, got, form)
		}
	}
	for model, want := range map[string][]string{
		"claude-opus-4-6":        {"none", "low", "medium", "high", "max"},
		"claude-opus-4-7":        {"none", "low", "medium", "high", "xhigh", "max"}, // reference §6.1
		"gpt-5.2":                {"none", "low", "medium", "high", "xhigh"},        // O-23
		"gpt-5.2-pro":            {"medium", "high", "xhigh"},
		"gpt-5.6":                {"none", "low", "medium", "high", "xhigh", "max"},
		"gemini-3-pro-preview":   {"low", "high"}, // G-24
		"gemini-3.1-pro-preview": {"low", "medium", "high"},
	} {
		if d := cmp.Diff(want, get(model).Efforts); d != "" {
			t.Errorf("%s: %s", model, d)
		}
	}
	for model, want := range map[string]int{
		"claude-opus-4-5": 0, "claude-opus-4-6": 50_000, "claude-sonnet-5": 50_000, "claude-fable-5": 50_000,
		"gpt-5.2": 1000, "gpt-5.2-pro": 1000, "gpt-5.6": 1000, "gpt-6-sol": 1000, "gemini-3-flash-preview": 0,
	} {
		if got := get(model).CompactFrom; got != want {
			t.Errorf("%s compacts from %d, want %d", model, got, want)
		}
	}
	if e := get("claude-fable-5-1"); !e.PrefixBinding || e.ForcedToolChoice || e.Prefill || e.Sampling {
		t.Errorf("claude-fable-5-1: %+v", e)
	}
	if e := get("claude-opus-4-5"); !e.Prefill || !e.Sampling || e.PrefixBinding || !e.InterleavedHeader {
		t.Errorf("claude-opus-4-5: %+v", e)
	}
	if get("gpt-5.2").Phase || !get("gpt-5.3-codex").Phase {
		t.Error("phase starts with gpt-5.3-codex (D-17)")
	}
}

func TestReads(t *testing.T) {
	for _, c := range []struct {
		model, origin string
		want          bool
	}{
		{"claude-opus-4-5", "claude-opus-4-5-20251101", true},
		{"claude-opus-4-5-20251101", "claude-opus-4-5", true},
		{"claude-opus-4-6", "claude-opus-4-5", false}, // R3: signatures are model-scoped
		{"claude-fable-5-1", "claude-opus-5", true},   // regressions §3.1
		{"claude-opus-5", "claude-fable-5-1", false},  // and not the other way
		{"claude-fable-5-2", "claude-fable-5-1", false},
		{"gpt-5.2", "gpt-5.2-pro", false},
		{"gpt-5.2", "", true},
	} {
		e, err := Lookup(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Reads(c.origin); got != c.want {
			t.Errorf("%s reads %s: %v, want %v", c.model, c.origin, got, c.want)
		}
	}
}

func TestThinks(t *testing.T) {
	for _, c := range []struct {
		model, effort string
		want          bool
	}{
		{"claude-opus-4-5", "", true}, {"claude-opus-4-5", "none", false},
		{"claude-fable-5", "none", true}, {"gpt-5.2", "", true}, {"gpt-5.2", "none", false},
		{"gemini-3-flash-preview", "", true},
	} {
		if e, _ := Lookup(c.model); e.Thinks(c.effort) != c.want {
			t.Errorf("%s at %q thinks: %v", c.model, c.effort, !c.want)
		}
	}
	if (Entry{}).Thinks("high") {
		t.Error("an empty entry thinks")
	}
}

func TestUnlisted(t *testing.T) {
	for model, want := range map[string]Thinking{
		"claude-3-5-haiku-latest": ThinkingNone, "claude-sonnet-4-20250514": ThinkingBudget,
		"claude-3-7-sonnet-20250219": ThinkingBudget, "claude-haiku-4-5": ThinkingBudget,
		"gpt-4.1-nano": ThinkingNone, "gpt-5-nano": ThinkingEffort, "o3-mini": ThinkingEffort,
		"gemini-2.5-flash": ThinkingNone, "gemini-3-pro-image": ThinkingLevel,
	} {
		e, err := Unlisted(model)
		if err != nil || !e.Unlisted || e.Thinking != want || e.Model != model {
			t.Errorf("%s: %+v, %v", model, e, err)
		}
	}
	if e, err := Unlisted("gpt-5.2"); err != nil || e.Unlisted {
		t.Errorf("an allowed model became unlisted: %+v, %v", e, err)
	}
	if e, _ := Unlisted("gpt-4.1"); e.Include {
		t.Error("gpt-4.1 refuses include (O-21)")
	}
	if _, err := Unlisted("llama-3"); err == nil {
		t.Error("a model of no known provider was let through")
	}
}

// Versions compare as numbers, whatever their size.
func TestVersionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := version{rapid.IntRange(0, 999).Draw(t, "major"), rapid.IntRange(0, 999).Draw(t, "minor")}
		w := version{v.major, v.minor + 1}
		if !v.isBelow(w) || w.isBelow(v) || !w.isBelow(version{v.major + 1, 0}) {
			t.Fatalf("%v and %v are in the wrong order", v, w)
		}
		got, rest, ok := cutVersion(v.String() + "-x")
		if !ok || got != v || rest != "-x" {
			t.Fatalf("%v read back as %v, %q", v, got, rest)
		}
	})
}

func FuzzLookup(f *testing.F) {
	for model := range allowed {
		f.Add(model)
	}
	for model := range rejected {
		f.Add(model)
	}
	f.Fuzz(func(t *testing.T, model string) {
		e, err := Lookup(model)
		if err == nil && (e.Provider == "" || e.Model != model || !strings.HasPrefix(model, e.Base)) {
			t.Errorf("%q: %+v", model, e)
		}
		var u *UnsupportedModel
		if err != nil && (!errors.As(err, &u) || len(u.Known) == 0 || u.Reason == "") {
			t.Errorf("%q: %v", model, err)
		}
	})
}
