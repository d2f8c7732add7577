package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// JournalSchema is the name of the format of a journal: a line of JSON for the run, one
// for each case as it ended, and one for the end. A run that is killed leaves a
// journal whose last line may be cut.
const JournalSchema = "conform.journal.v1"

// Journal is a run as far as it got. It is plain data.
type Journal struct {
	Header  JournalHeader
	Entries []JournalEntry
	// End is nil where the run was ended by force.
	End *JournalEnd
	// Whole is how many bytes of the file hold whole lines.
	Whole int64

	planned map[string]bool
}

// JournalHeader says which run a journal belongs to.
type JournalHeader struct {
	Journal string    `json:"journal"`
	Tool    Tool      `json:"tool"`
	Subject Subject   `json:"subject"`
	Set     Set       `json:"set"`
	Policy  Policy    `json:"policy"`
	Source  []string  `json:"source"`
	Ingress []string  `json:"ingress"`
	Seed    string    `json:"seed,omitempty"`
	Filter  string    `json:"filter,omitempty"`
	Shard   *Shard    `json:"shard,omitempty"`
	Repeat  int       `json:"repeat,omitempty"`
	Started time.Time `json:"started"`
	// Plan are the cases of the run, and Expected the requirements that it must show.
	Plan     []CaseSummary `json:"plan"`
	Expected []string      `json:"expected,omitempty"`
}

// JournalEntry is one case that ended.
type JournalEntry struct {
	Case    CaseSummary `json:"case"`
	Results []Result    `json:"results"`
	// Calls is nil where none was meant to be made.
	Calls *Calls `json:"calls,omitempty"`
	Hosts []Host `json:"hosts,omitempty"`
}

// JournalEnd is the last line.
type JournalEnd struct {
	DurationMS int64      `json:"duration_ms"`
	Isolation  *Isolation `json:"isolation,omitempty"`
	Guard      string     `json:"guard,omitempty"`
	Live       *Live      `json:"live,omitempty"`
}

// endLine distinguishes the last line from an entry.
type endLine struct {
	End *JournalEnd `json:"end"`
}

// Line is the form of the header in a journal, with its newline.
func (h JournalHeader) Line() ([]byte, error) { return journalLine(h) }

// Line is the form of an entry in a journal, with its newline.
func (e JournalEntry) Line() ([]byte, error) { return journalLine(e) }

// Line is the form of the end in a journal, with its newline.
func (e JournalEnd) Line() ([]byte, error) { return journalLine(endLine{&e}) }

func journalLine(v any) ([]byte, error) {
	line, err := marshalPlain(v)
	return append(line, '\n'), err
}

// IsJournal reports whether data begins as a journal does.
func IsJournal(data []byte) bool { return bytes.HasPrefix(data, []byte(JournalBegin)) }

// JournalBegin is how a journal begins, of whatever kind.
const JournalBegin = `{"journal":`

// ParseJournal reads a journal. A last line without a newline is one that a kill cut
// off, and is left out; any other line that cannot be read is an error, which begins
// with name and the line's number.
func ParseJournal(name string, data []byte) (*Journal, error) {
	j := &Journal{}
	err := readLines(name, bytes.NewReader(data), &j.Whole, func(number int, line []byte) error {
		return j.addLine(number, bytes.TrimSuffix(line, []byte("\n")))
	})
	if err == nil && j.Whole == 0 {
		err = fmt.Errorf("%s: holds no whole line of a journal", name)
	}
	return j, err
}

// readLines gives each whole line of a journal to add, with its newline, and counts their bytes in
// whole. An error begins with name and the line's number.
func readLines(name string, r io.Reader, whole *int64, add func(number int, line []byte) error) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(number, line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		*whole += int64(len(line))
	}
}

var errNotJournal = errors.New("is not a line of a journal of this version; " + JournalSchema + " is read")

func (j *Journal) addLine(number int, line []byte) error {
	if number == 1 {
		if err := decodeStrictly(line, &j.Header); err != nil || j.Header.Journal != JournalSchema {
			return errNotJournal
		}
		j.planned = map[string]bool{}
		for _, c := range j.Header.Plan {
			j.planned[c.Name] = true
		}
		return nil
	}
	if j.End != nil {
		return errors.New("follows the end of the run; the file was changed")
	}
	if bytes.HasPrefix(line, []byte(`{"end":`)) {
		var last endLine
		if err := decodeStrictly(line, &last); err != nil || last.End == nil {
			return errNotJournal
		}
		j.End = last.End
		return nil
	}
	var e JournalEntry
	if err := decodeStrictly(line, &e); err != nil || e.Case.Name == "" {
		return errNotJournal
	}
	if !j.planned[e.Case.Name] {
		return fmt.Errorf("case %s is not in the plan of the run", e.Case.Name)
	}
	j.Entries = append(j.Entries, e)
	return nil
}

func decodeStrictly(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errNotJournal
	}
	return nil
}

// Differs says in what another run differs from that of the journal, "" when an
// interrupted run can go on with it. The time of the start may differ, and the policy,
// which only judges.
func (h JournalHeader) Differs(other JournalHeader) string {
	return differingMember(h.comparedMembers(), other.comparedMembers())
}

func (h JournalHeader) comparedMembers() []comparedMember {
	return []comparedMember{
		{"version of conform", h.Tool.Version},
		{"subject", h.Subject.String()},
		{"set", h.Set.Name + " " + h.Set.Digest},
		{"source", strings.Join(h.Source, ",")},
		{"ingress", strings.Join(h.Ingress, ",")},
		{"seed", h.Seed},
		{"filter", h.Filter},
		{"shard", shardName(h.Shard)},
		{"number of runs of a case", fmt.Sprint(max(h.Repeat, 1))},
		{"list of cases", planNames(h.Plan)},
	}
}

// comparedMember is something that two runs have to have in common.
type comparedMember struct{ name, value string }

// differingMember says in which of the same members two runs differ, "" if in none.
func differingMember(first, second []comparedMember) string {
	for i, m := range first {
		switch other := second[i].value; {
		case m.value == other:
		case len(m.value)+len(other) > maxQuoted:
			return "another " + m.name
		default:
			return fmt.Sprintf("another %s: %q and %q", m.name, m.value, other)
		}
	}
	return ""
}

const maxQuoted = 200

func shardName(s *Shard) string {
	if s == nil {
		return ""
	}
	return s.String()
}

func planNames(plan []CaseSummary) string {
	var b strings.Builder
	for _, c := range plan {
		fmt.Fprintf(&b, "%s\n", c.Name)
	}
	return b.String()
}

// String names the agent and its version.
func (s Subject) String() string { return strings.TrimSpace(s.Name + " " + s.Version) }

// Counts says how often each case has ended.
func (j *Journal) Counts() map[string]int {
	counts := map[string]int{}
	for _, e := range j.Entries {
		counts[e.Case.Name]++
	}
	return counts
}

// Run makes the report of the run. A run that did not get to its end is interrupted;
// the cases that are missing then say so.
func (j *Journal) Run(baseline []Excuse) *Run {
	r := j.Header.newRun(baseline)
	r.Interrupted = true
	if end := j.End; end != nil {
		r.DurationMS, r.Isolation, r.Guard, r.Live, r.Interrupted = end.DurationMS, end.Isolation, end.Guard,
			end.Live, false
	}
	var results []Result
	for _, e := range j.Entries {
		results = append(results, e.Results...)
		r.Hosts = AddHosts(r.Hosts, e.Hosts...)
		r.Calls = addCalls(r.Calls, e.Calls)
	}
	r.Cases = j.plannedCases()
	return NewRun(r, FoldRepeats(results))
}

// plannedCases are those of the plan with what became of them.
func (j *Journal) plannedCases() []CaseSummary {
	ended := map[string]CaseSummary{}
	for _, e := range j.Entries {
		c := e.Case
		if before, again := ended[c.Name]; again {
			c.DurationMS += before.DurationMS
			c.Deviations = slices.Compact(append(slices.Clone(before.Deviations), c.Deviations...))
			c.Effects = slices.Compact(append(slices.Clone(before.Effects), c.Effects...))
		}
		ended[c.Name] = c
	}
	cases := slices.Clone(j.Header.Plan)
	for i := range cases {
		if c, ok := ended[cases[i].Name]; ok {
			cases[i] = c
		} else if cases[i].Reason == "" {
			cases[i].Reason = neverRun
		}
	}
	return cases
}

// neverRun is the reason of a case that an ended run left out.
const neverRun = "the run ended before this case"

func addCalls(a, b *Calls) *Calls {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := a.Add(*b)
	return &sum
}

// AddHosts adds up attempts by host.
func AddHosts(known []Host, more ...Host) []Host {
	sum := slices.Clone(known)
	for _, h := range more {
		i := slices.IndexFunc(sum, func(k Host) bool { return k.Name == h.Name })
		if i < 0 {
			sum = append(sum, h)
			continue
		}
		sum[i].Attempts += h.Attempts
	}
	return sum
}

// WriteJournal writes a run in the form of a journal. The calls of all cases stand in
// the first entry.
func (r *Run) WriteJournal(w io.Writer) error {
	h := r.journalHeader()
	h.Expected = r.synthesizedIDs()
	lines := []interface{ Line() ([]byte, error) }{h}
	byCase := map[string][]Result{}
	for _, res := range r.caseResults() {
		byCase[res.Case] = append(byCase[res.Case], res)
	}
	calls, hosts := r.Calls, r.Hosts
	for _, c := range r.Cases {
		if c.Reason != "" {
			continue
		}
		e := JournalEntry{Case: c, Results: byCase[c.Name], Calls: calls, Hosts: hosts}
		if e.Results == nil {
			e.Results = []Result{}
		}
		calls, hosts = nil, nil
		lines = append(lines, e)
	}
	if !r.Interrupted {
		lines = append(lines, JournalEnd{DurationMS: r.DurationMS, Isolation: r.Isolation, Guard: r.Guard,
			Live: r.Live})
	}
	for _, l := range lines {
		line, err := l.Line()
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
