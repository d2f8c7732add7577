package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/specs"
)

// RuleName names a rule, and what a report says of it.
type RuleName struct {
	Requirement string            `json:"requirement"`
	Check       string            `json:"check"`
	Consequence specs.Consequence `json:"consequence"`
	OfSource    bool              `json:"of_source,omitempty"`
}

// RuleNames names rules in their order.
func RuleNames(rules []Rule) (names []RuleName) {
	for _, r := range rules {
		names = append(names, RuleName{r.Requirement.ID, r.Check.ID, r.Requirement.Consequence, r.Check.Source})
	}
	return names
}

// keptRecording is a recording in a journal or a shard, with the results of its rules.
type keptRecording struct {
	Recording
	Results []keptResult `json:"results,omitempty"`
}

// keptResult is a result without what its recording says already.
type keptResult struct {
	Rule     int     `json:"rule"` // of the names in the head
	Verdict  Verdict `json:"verdict"`
	Observed int     `json:"observed,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// keeper turns recordings into kept ones and back. A result that shows nothing is kept once.
type keeper struct {
	rules   []Rule
	ordinal map[string]int // of a rule, by the id of its check
	listed  map[keptResult]bool
}

func newKeeper(names []RuleName) *keeper {
	k := &keeper{ordinal: map[string]int{}, listed: map[keptResult]bool{}}
	for i, n := range names {
		k.ordinal[n.Check] = i
		k.rules = append(k.rules, Rule{specs.Requirement{ID: n.Requirement, Consequence: n.Consequence},
			check.Check{ID: n.Check, Source: n.OfSource}})
	}
	return k
}

func (k *keeper) keep(r *Recording) keptRecording {
	kept := keptRecording{Recording: *r}
	for i := range r.results {
		res := &r.results[i]
		result := keptResult{k.ordinal[res.Check], res.Verdict, res.Observed, res.Reason}
		if res.Reason == r.Reason {
			result.Reason = ""
		}
		kept.Results = append(kept.Results, result)
	}
	for _, v := range r.void {
		result := keptResult{k.ordinal[v.rule.Check.ID], v.verdict, 0, v.reason}
		if !k.listed[result] {
			k.listed[result] = true
			kept.Results = append(kept.Results, result)
		}
	}
	return kept
}

var errNotKept = errors.New("is damaged: it holds a result of no rule; make it again")

func (k *keeper) restore(kept *keptRecording) (*Recording, error) {
	r := &kept.Recording
	for _, kr := range kept.Results {
		if kr.Rule < 0 || kr.Rule >= len(k.rules) {
			return nil, errNotKept
		}
		rule := &k.rules[kr.Rule]
		if isVoid := kr.Verdict == NotTestable || kr.Verdict == NotApplicable; isVoid && kr.Observed == 0 {
			r.void = append(r.void, voidResult{rule, kr.Verdict, kr.Reason})
			continue
		}
		res := rule.NewResult(r.Path)
		res.Provider, res.Verdict, res.Observed, res.Reason = r.Provider, kr.Verdict, kr.Observed, kr.Reason
		if res.Reason == "" && res.Verdict == NotTestable {
			res.Reason = r.Reason
		}
		for _, f := range r.Findings {
			if f.Check == res.Check {
				res.Findings = append(res.Findings, f)
			}
		}
		res.setConsequence()
		r.results = append(r.results, res)
	}
	return r, nil
}

// CheckedWriter writes a report of recordings while they are judged, in the order of their paths.
type CheckedWriter interface {
	Add(r *Recording) error
	Finish(c *Checked) error
}

// lineWriter writes a recording as a line of JSON.
type lineWriter struct{ w io.Writer }

// NewLineWriter writes each recording as a line of JSON, as in the list of [Checked].
func NewLineWriter(w io.Writer) CheckedWriter { return lineWriter{w} }

func (l lineWriter) Add(r *Recording) error {
	line, err := marshalPlain(r)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	return err
}

func (lineWriter) Finish(*Checked) error { return nil }

// documentWriter writes the JSON of [Checked] piece by piece.
type documentWriter struct {
	w      io.Writer
	keeper *keeper // nil where results are left out
	text   bytes.Buffer
	count  int
}

// NewDocumentWriter writes what [WriteJSON] writes of a whole report. It keeps results where the
// head names rules. Nothing is written before the first recording, or the end.
func NewDocumentWriter(w io.Writer, head CheckedHead) (CheckedWriter, error) {
	d := &documentWriter{w: w}
	if head.Rules != nil {
		d.keeper = newKeeper(head.Rules)
	}
	if err := WriteJSON(&d.text, head); err != nil {
		return nil, err
	}
	d.text.Truncate(d.text.Len() - len("\n}\n"))
	d.text.WriteString(",\n  \"recordings\": [")
	return d, nil
}

// flush writes what was put together.
func (d *documentWriter) flush() error {
	_, err := d.w.Write(d.text.Bytes())
	d.text.Reset()
	return err
}

func (d *documentWriter) Add(r *Recording) error {
	if d.count++; d.count > 1 {
		d.text.WriteByte(',')
	}
	d.text.WriteString("\n    ")
	enc := json.NewEncoder(&d.text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("    ", "  ")
	var value any = r
	if d.keeper != nil {
		value = d.keeper.keep(r)
	}
	if err := enc.Encode(value); err != nil {
		return err
	}
	d.text.Truncate(d.text.Len() - 1)
	return d.flush()
}

func (d *documentWriter) Finish(c *Checked) error {
	if d.count > 0 {
		d.text.WriteString("\n  ")
	}
	d.text.WriteString("],\n")
	var tail bytes.Buffer
	err := WriteJSON(&tail, struct {
		PassedOver []string `json:"passed_over,omitempty"`
		Summary    Summary  `json:"summary"`
	}{c.PassedOver, c.Summary})
	d.text.WriteString(strings.TrimPrefix(tail.String(), "{\n"))
	return errors.Join(err, d.flush())
}

// CheckJournalSchema is the name of the format of a journal of conform check: a line of JSON for
// the head, one for each recording as it was judged, and one for the end.
const CheckJournalSchema = "conform.check-journal.v1"

// checkHeader is the first line of a journal.
type checkHeader struct {
	Journal string `json:"journal"`
	CheckedHead
}

// checkEntry is another line: one of its members is set.
type checkEntry struct {
	Recording  *keptRecording `json:"recording,omitempty"`
	PassedOver string         `json:"passed_over,omitempty"`
	End        bool           `json:"end,omitempty"`
}

// CheckedFile is a journal of conform check or the JSON report of a shard. It knows where each
// recording stands and keeps none.
type CheckedFile struct {
	Name string
	Head CheckedHead
	// Whole is how many bytes of a journal hold whole lines. Ended is set where the check got to
	// its end.
	Whole int64
	Ended bool

	file   io.ReaderAt
	keeper *keeper
	spans  map[string]span // by path; without a length for a file that was passed over
}

// span is a part of a file.
type span struct{ offset, length int64 }

// BeginCheckJournal makes a journal that holds nothing, and its first line.
func BeginCheckJournal(head CheckedHead) (*CheckedFile, []byte, error) {
	line, err := journalLine(checkHeader{CheckJournalSchema, head})
	return &CheckedFile{Head: head, keeper: newKeeper(head.Rules)}, line, err
}

// Line is the line of a recording in a journal, or of a file that is none. It may not be called
// concurrently.
func (f *CheckedFile) Line(path string, r *Recording) ([]byte, error) {
	if r == nil {
		return journalLine(checkEntry{PassedOver: path})
	}
	kept := f.keeper.keep(r)
	return journalLine(checkEntry{Recording: &kept})
}

// EndLine is the last line of a journal.
func (f *CheckedFile) EndLine() ([]byte, error) { return journalLine(checkEntry{End: true}) }

var (
	errNotCheckJournal = errors.New("is not a line of a journal of this version; " + CheckJournalSchema + " is read")
	errNotShard        = errors.New("is not of a shard; give what conform check --shard wrote")
)

// ReadCheckJournal finds the lines of a journal. A last line without a newline is one that a kill
// cut off, and is left out.
func ReadCheckJournal(name string, file io.ReaderAt, size int64) (*CheckedFile, error) {
	f := &CheckedFile{Name: name, file: file, spans: map[string]span{}}
	return f, readLines(name, io.NewSectionReader(file, 0, size), &f.Whole, f.addLine)
}

const recordingBegin = `{"recording":`

// addLine notes where the recording of a line stands.
func (f *CheckedFile) addLine(number int, line []byte) error {
	var header checkHeader
	var entry struct {
		Path       string `json:"path"`
		PassedOver string `json:"passed_over"`
		End        bool   `json:"end"`
	}
	recording, isRecording := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("}\n")), []byte(recordingBegin))
	switch {
	case number == 1:
		if err := decodeStrictly(line, &header); err != nil || header.Journal != CheckJournalSchema {
			return errNotCheckJournal
		}
		f.Head, f.keeper = header.CheckedHead, newKeeper(header.Rules)
	case f.Ended:
		return errors.New("follows the end of the check; the file was changed")
	case isRecording && json.Unmarshal(recording, &entry) == nil && entry.Path != "":
		f.spans[entry.Path] = span{f.Whole + int64(len(recordingBegin)), int64(len(recording))}
	case !isRecording && json.Unmarshal(line, &entry) == nil && (entry.End || entry.PassedOver != ""):
		if f.Ended = entry.End; !entry.End {
			f.spans[entry.PassedOver] = span{}
		}
	default:
		return errNotCheckJournal
	}
	return nil
}

// Len is the number of files that were judged or passed over.
func (f *CheckedFile) Len() int { return len(f.spans) }

// Recording returns what the file says of a path. It is nil for one that was passed over.
func (f *CheckedFile) Recording(path string) (r *Recording, isKnown bool, err error) {
	at, isKnown := f.spans[path]
	if at.length == 0 {
		return nil, isKnown, nil
	}
	text := make([]byte, at.length)
	var kept keptRecording
	if _, err = f.file.ReadAt(text, at.offset); err == nil {
		if err = decodeStrictly(bytes.TrimLeft(text, ", \n"), &kept); err == nil {
			r, err = f.keeper.restore(&kept)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: what it says of %s cannot be read: %w; delete it and check again", f.Name, path, err)
	}
	return r, true, err
}

// OpenChecked opens the JSON report of a shard of a check, or its journal. It returns nil for a
// file that is neither.
func OpenChecked(name string, file io.ReaderAt, size int64) (f *CheckedFile, err error) {
	begin := make([]byte, min(size, 256))
	if _, err := file.ReadAt(begin, 0); err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	switch {
	case bytes.HasPrefix(begin, []byte(`{"journal":"`+CheckJournalSchema+`"`)):
		f, err = ReadCheckJournal(name, file, size)
		if err == nil && !f.Ended {
			err = fmt.Errorf("%s: the check was ended before its last recording; go on with the journal", name)
		}
	case bytes.Contains(begin, []byte(`"schema": "`+CheckedSchema+`"`)):
		f = &CheckedFile{Name: name, file: file, spans: map[string]span{}}
		if err := f.readDocument(json.NewDecoder(io.NewSectionReader(file, 0, size))); err != nil {
			return nil, fmt.Errorf("%s: is not a whole report: %w; write it again", name, err)
		}
		f.keeper = newKeeper(f.Head.Rules)
	default:
		return nil, nil //nolint:nilnil // a file of another kind
	}
	if err == nil && f.Head.Shard == nil {
		err = fmt.Errorf("%s: %w", name, errNotShard)
	}
	return f, err
}

// readDocument notes where each recording of a report stands.
func (f *CheckedFile) readDocument(d *json.Decoder) error {
	var passedOver []string
	members := map[json.Token]any{
		"schema": &f.Head.Schema, "tool": &f.Head.Tool, "policy": &f.Head.Policy, "shard": &f.Head.Shard,
		"rules":     &f.Head.Rules,
		"arguments": &f.Head.Arguments, "passed_over": &passedOver, "summary": &Summary{},
	}
	_, err := d.Token()
	for err == nil && d.More() {
		var name json.Token
		switch name, err = d.Token(); {
		case err != nil:
		case name == "recordings":
			_, err = d.Token()
			for err == nil && d.More() {
				var recording struct{ Path string }
				begin := d.InputOffset()
				if err = d.Decode(&recording); err == nil {
					f.spans[recording.Path] = span{begin, d.InputOffset() - begin}
				}
			}
			if err == nil {
				_, err = d.Token()
			}
		case members[name] == nil:
			err = fmt.Errorf("the member %q is unknown", name)
		default:
			err = d.Decode(members[name])
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	for _, path := range passedOver {
		f.spans[path] = span{}
	}
	return err
}

// Differs says in what another check differs from that of the file, "" when both are one check.
func (h CheckedHead) Differs(other CheckedHead) string {
	return differingMember(h.comparedMembers(), other.comparedMembers())
}

func (h CheckedHead) comparedMembers() []comparedMember {
	return []comparedMember{
		{"version of conform", h.Tool.Version},
		{"shard", shardName(h.Shard)},
		{"arguments", strings.Join(h.Arguments, " ")},
		{"policy", h.Policy.String()},
		{"list of rules", fmt.Sprint(h.Rules)},
	}
}

// MergeChecked begins the report that the shards of one check come to, and a function that calls
// add with each recording in the order of their paths. The error says which file does not fit.
func MergeChecked(files []*CheckedFile) (c *Checked, each func(add func(*Recording)) error, err error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *CheckedFile) int { return a.Head.Shard.Index - b.Head.Shard.Index })
	first := files[0]
	var names, paths []string
	var shards []Shard
	owner := map[string]*CheckedFile{}
	for _, f := range files {
		head := f.Head
		head.Shard = &Shard{first.Head.Shard.Index, f.Head.Shard.Of}
		if why := first.Head.Differs(head); why != "" {
			return nil, nil,
				fmt.Errorf("%s and %s: are not shards of one check: %s; run all shards with the same program and arguments", first.Name, f.Name, why)
		}
		names, shards = append(names, f.Name), append(shards, *f.Head.Shard)
	}
	if err := checkShards(names, shards, "the check"); err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		for path := range f.spans {
			if other := owner[path]; other != nil {
				return nil, nil, fmt.Errorf("%s and %s: both hold %s; they are not shards of one check", other.Name,
					f.Name, path)
			}
			owner[path] = f
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	policy := first.Head.Policy
	for _, r := range first.Head.Rules {
		if specs.IsTeamRule(r.Requirement) {
			policy.MustSee = append(policy.MustSee, r.Requirement)
		}
	}
	c = BeginChecked(first.Head.Tool, policy)
	return c, func(add func(*Recording)) error {
		for _, path := range paths {
			r, _, err := owner[path].Recording(path)
			switch {
			case err != nil:
				return err
			case r == nil:
				c.PassOver(path)
			default:
				add(r)
			}
		}
		return nil
	}, nil
}
