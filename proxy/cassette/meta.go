package cassette

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// FormatVersion is the format that this build writes and the highest it reads.
const FormatVersion = 1

// Where the interactions of a cassette came from. A file that does not say is
// an import, never live.
const (
	ProvenanceLive      = "live"      // a provider's own API answered
	ProvenanceSimulator = "simulator" // our strict simulator answered
	ProvenanceSynthetic = "synthetic" // a scripted server answered
	ProvenanceImport    = "import"    // another tool wrote it
)

// Meta is what a cassette says about itself. It is written first, so it contains
// nothing that is known only at the end.
type Meta struct {
	// Version is the version of the format; 0 for an import. Create fills it in.
	Version int
	// Provenance is one of the Provenance constants.
	Provenance string
	// Tool is the program and version that wrote the file.
	Tool string
	// Created is the time of Create in RFC 3339, UTC; the caller's clock.
	Created string
	// Redaction names the rules applied before writing. No name contains a space.
	Redaction []string
	// Matching names the fields in which a request may differ from the recorded
	// one and still get its answer. nil, which is not written, means the reader's
	// defaults; empty means none. No name contains a space.
	Matching []string
	// Declared names properties of the recording that are intended and not
	// faults: the Declared constants. It is not written when empty.
	Declared []string
}

// DeclaredIncomplete says that the cassette contains incomplete responses on
// purpose: gates accept them.
const DeclaredIncomplete = "incomplete"

// DeclaredNominal says that the times of the cassette are assigned and not
// measured, so that recording it again gives the same file. They say nothing
// about speed.
const DeclaredNominal = "nominal-times"

// Nominal reports whether the cassette's times are assigned and not measured.
func (m Meta) Nominal() bool { return slices.Contains(m.Declared, DeclaredNominal) }

// Every file of ours starts with headStart and its head ends with headEnd.
const (
	headStart = "---\nmeta:\n"
	headEnd   = "\ninteractions:\n"
)

// encodeHead returns everything in a file before its interactions.
func encodeHead(m Meta) []byte {
	dst := []byte(headStart)
	for _, f := range [][2]string{
		{"format", strconv.Itoa(m.Version)},
		{"provenance", m.Provenance},
		{"tool", m.Tool},
		{"created", m.Created},
		{"redaction", strings.Join(m.Redaction, " ")},
		{"matching", strings.Join(m.Matching, " ")},
		{"declared", strings.Join(m.Declared, " ")},
	} {
		if f[0] == "matching" && m.Matching == nil || f[0] == "declared" && len(m.Declared) == 0 {
			continue
		}
		dst = append(append(append(dst, "    "...), f[0]...), ": "...)
		dst = append(appendQuoted(dst, f[1]), '\n')
	}
	// The version key is go-vcr's, not ours.
	return append(append(dst, "version: 1"...), headEnd...)
}

// isOurs reports whether data starts like a file of this package, or is so short
// that it may be the start of one.
func isOurs(data []byte) bool {
	n := min(len(data), len(headStart))
	return n > 0 && string(data[:n]) == headStart[:n]
}

// parseHead reads the head of a file of this package and returns its length.
func parseHead(name string, data []byte) (Meta, int, error) {
	n := bytes.Index(data, []byte(headEnd))
	if n < 0 {
		return Meta{}, 0, tornError(name)
	}
	n += len(headEnd)
	var head struct {
		Meta struct {
			Format, Provenance, Tool, Created, Redaction, Declared string
			Matching                                               *string
		}
	}
	if err := yaml.Unmarshal(data[:n], &head); err != nil {
		return Meta{}, 0, newError(name, ErrDamaged, "the head is damaged (%s); restore the file from a copy",
			ParseErrorText(err))
	}
	version, err := strconv.Atoi(head.Meta.Format)
	if err != nil || version < 1 {
		return Meta{}, 0, newError(name, ErrFormat, "names no format in its meta; restore the file from a copy")
	}
	if version > FormatVersion {
		return Meta{}, 0, newError(name, ErrVersion, "format %d: this build reads up to %d; use a newer build", version,
			FormatVersion)
	}
	return Meta{
		Version: version, Provenance: head.Meta.Provenance, Tool: head.Meta.Tool,
		Created: head.Meta.Created, Redaction: strings.Fields(head.Meta.Redaction),
		Declared: strings.Fields(head.Meta.Declared),
		Matching: optionalFields(head.Meta.Matching),
	}, n, nil
}

// optionalFields distinguishes an absent list from an empty one.
func optionalFields(list *string) []string {
	if list == nil {
		return nil
	}
	return append([]string{}, strings.Fields(*list)...)
}

// invalidReason returns why m cannot be written, or "".
func (m Meta) invalidReason() string {
	if m.Version != FormatVersion {
		return "format " + strconv.Itoa(m.Version) + ": this build writes " + strconv.Itoa(FormatVersion)
	}
	switch m.Provenance {
	case ProvenanceLive, ProvenanceSimulator, ProvenanceSynthetic, ProvenanceImport:
	default:
		return "provenance " + strconv.Quote(m.Provenance) + " is none of live, simulator, synthetic, import"
	}
	if rule, ok := notOneWord(m.Redaction); ok {
		return "redaction rule " + strconv.Quote(rule) + " is not one word"
	}
	if rule, ok := notOneWord(m.Declared); ok {
		return "declaration " + strconv.Quote(rule) + " is not one word"
	}
	if rule, ok := notOneWord(m.Matching); ok {
		return "matching rule " + strconv.Quote(rule) + " is not one word"
	}
	return ""
}

func notOneWord(names []string) (string, bool) {
	for _, name := range names {
		if len(strings.Fields(name)) != 1 || strings.TrimSpace(name) != name {
			return name, true
		}
	}
	return "", false
}
