package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// UnsupportedModel says why a model is not allowed. It is returned before any
// network traffic.
type UnsupportedModel struct {
	Model  string
	Reason string
	// Known lists allowed names, the nearest first.
	Known []string
}

// Error names the model, the reason and the nearest allowed names. Letters that only
// look like those of a model's name are shown by their codes.
func (e *UnsupportedModel) Error() string {
	advice := "allowed are for example "
	if len(e.Known) == 1 {
		advice = "write "
	}
	return fmt.Sprintf("model %+q is not supported: %s; %s%s", e.Model, e.Reason, advice, strings.Join(e.Known, ", "))
}

// Lookup returns the entry of an allowed model, or *UnsupportedModel. Names are exact:
// another spelling of an allowed name is refused, and the error has the right one.
func Lookup(model string) (Entry, error) {
	e, reason := lookupExact(model)
	if reason == "" {
		return e, nil
	}
	refused := &UnsupportedModel{Model: model, Reason: reason}
	if meant := correctSpelling(model); meant != "" {
		refused.Known = []string{meant}
		if !isPlatformName(model) {
			refused.Reason = "names are exact"
		}
		return Entry{}, refused
	}
	if known := catalogue().knownSnapshots(withoutDate(model)); len(known) > 0 {
		refused.Known = known
		return Entry{}, refused
	}
	refused.Known = catalogue().nearestNames(withoutDate(model))
	return Entry{}, refused
}

// lookupExact returns the entry of a model, or the reason why it is not allowed.
func lookupExact(model string) (Entry, string) {
	base := withoutDate(model)
	t := catalogue()
	date := strings.TrimPrefix(strings.TrimPrefix(model, base), "-")
	if i := slices.IndexFunc(t.Models, func(e Entry) bool { return e.Name == base }); i >= 0 {
		if e := t.Models[i]; date == "" || slices.Contains(e.Snapshots, date) {
			return e.forModel(model, base), ""
		}
		return Entry{}, fmt.Sprintf("the catalogue has no snapshot of %s of %s", base, date)
	}
	if reason := t.rejectionReason(base); reason != "" {
		return Entry{}, reason
	}
	n := parseName(base)
	if e, ok := t.nearestLower(n); ok && n.String() == base {
		if date != "" {
			return Entry{}, fmt.Sprintf("the catalogue has no snapshot of %s of %s", base, date)
		}
		if !t.followsKnown(n) {
			return Entry{}, fmt.Sprintf("%s %s is far above every version that is known", n.line, n.version)
		}
		e = e.forModel(model, base)
		e.Inferred = true
		return e, ""
	}
	return Entry{}, t.unsupportedReason(base)
}

// Unlisted is Lookup for callers who were told to take any model of a known
// provider. The entry of a model that is not allowed has Unlisted set and
// careful guesses for flags; a name of no known provider is *UnsupportedModel.
func Unlisted(model string) (Entry, error) {
	e, err := Lookup(model)
	if err == nil {
		return e, nil
	}
	base := withoutDate(model)
	best := -1
	table := catalogue().Unlisted
	for i := range table {
		if strings.HasPrefix(base, table[i].Name) && (best < 0 || len(table[i].Name) > len(table[best].Name)) {
			best = i
		}
	}
	if best < 0 {
		return Entry{}, err
	}
	e = table[best].forModel(model, base)
	e.Unlisted = true
	return e, nil
}

// Default returns the model used when none is named: one that users know,
// allowed and without an announced end. An unknown provider has none.
func Default(provider string) (Entry, bool) {
	e, err := Lookup(ProviderNamed(provider).DefaultModel)
	return e, err == nil
}

// Models returns every entry in the order of the data file.
func Models() []Entry { return slices.Clone(catalogue().Models) }

func (e Entry) forModel(model, base string) Entry {
	e.Model, e.Base = model, base
	return e
}

func (t *table) rejectionReason(base string) string {
	for _, r := range t.Rejected {
		if r.matchesName(base) {
			return r.Reason
		}
	}
	return ""
}

// nearestLower returns the entry with the highest version that is not above n in n's
// own line and variant.
func (t *table) nearestLower(n parsedName) (Entry, bool) {
	best, found := Entry{}, false
	minimum, ok := t.Minimum[n.line]
	if !ok || !n.versioned || n.version.isBelow(minimum) {
		return best, false
	}
	var top version
	for _, e := range t.Models {
		m := parseName(e.Name)
		if m.line != n.line || m.variant != n.variant || n.version.isBelow(m.version) || found &&
			m.version.isBelow(top) {
			continue
		}
		best, top, found = e, m.version, true
	}
	return best, found
}

// mostAhead is how many minor versions, or the first of them in the next major one, a
// name may be ahead of the catalogue; one further ahead is a slip of the pen: 5.20, 45.
const mostAhead = 5

// followsKnown reports whether n is at most a few versions above one of its line.
func (t *table) followsKnown(n parsedName) bool {
	return slices.ContainsFunc(t.Models, func(e Entry) bool {
		m := parseName(e.Name)
		known := m.version
		if n.version.major == known.major+1 {
			known.minor = 0
		} else if n.version.major != known.major {
			return false
		}
		return m.line == n.line && n.version.minor <= known.minor+mostAhead
	})
}

// knownSnapshots returns the names of the model called base, without and with the dates
// that are known; nothing if base is not allowed either.
func (t *table) knownSnapshots(base string) (names []string) {
	if _, reason := lookupExact(base); reason != "" {
		return nil
	}
	names = []string{base}
	for _, e := range t.Models {
		if e.Name == base {
			for _, date := range e.Snapshots {
				names = append(names, base+"-"+date)
			}
		}
	}
	return names
}

// unsupportedReason says why a name that no rejection covers is not allowed.
func (t *table) unsupportedReason(base string) string {
	n := parseName(base)
	minimum, ok := t.Minimum[n.line]
	switch {
	case base == "":
		return "no model is named"
	case isPlatformName(base):
		return "it is written as a platform names it; use the provider's own name"
	case strings.HasPrefix(n.line, "claude") && n.versioned && n.version.major < 4:
		return fmt.Sprintf("Claude %s has no interleaved thinking", n.version)
	case !ok:
		return fmt.Sprintf("%q is not a model line of Anthropic, OpenAI or Gemini that is supported", n.line)
	case !n.versioned:
		return "its name has no version"
	case n.version.isBelow(minimum):
		return fmt.Sprintf("%s %s is below the minimum %s", n.line, n.version, minimum)
	default:
		return fmt.Sprintf("the catalogue has no %s %s variant %q", n.line, n.version, n.variant)
	}
}

// nearestNames returns the three allowed names closest to base, of base's own
// provider when that is known.
func (t *table) nearestNames(base string) []string {
	provider := ProviderOf(strings.TrimPrefix(base, "models/"))
	base = base[:min(len(base), 100)]
	var names []string
	for _, e := range t.Models {
		if (provider == "" || e.Provider == provider) && e.Retires == "" {
			names = append(names, e.Name)
		}
	}
	return spelling.Rank(base, names)[:3]
}
