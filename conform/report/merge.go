package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

// Part is a report with the name of its file.
type Part struct {
	Name string
	*Run
}

// MergeShards puts the shards of one run together. The result is what the run would
// have been in one piece, except for times. The error says which file does not fit.
func MergeShards(parts []Part) (*Run, error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return a.Shard.Index - b.Shard.Index })
	first := parts[0]
	for _, p := range parts {
		if err := first.checkShard(p); err != nil {
			return nil, err
		}
	}
	if err := checkComplete(parts); err != nil {
		return nil, err
	}
	h := first.journalHeader()
	h.Shard, h.Expected = nil, nil
	merged := h.newRun(nil)
	for _, used := range first.Baseline {
		merged.Baseline = append(merged.Baseline, UsedExcuse{Excuse: used.Excuse})
	}
	var results []Result
	ended := first.Started
	for _, p := range parts {
		results = append(results, p.caseResults()...)
		merged.Expected = append(merged.Expected, p.Expected...)
		merged.Cases = append(merged.Cases, p.Cases...)
		merged.Calls = addCalls(merged.Calls, p.Calls)
		merged.Hosts = AddHosts(merged.Hosts, p.Hosts...)
		merged.Isolation = mergeIsolation(merged.Isolation, p.Isolation)
		merged.Guard = joinDistinct(merged.Guard, p.Guard)
		merged.Live = merged.Live.addLive(p.Live)
		if p.Started.Before(merged.Started) {
			merged.Started = p.Started
		}
		if end := p.Started.Add(time.Duration(p.DurationMS) * time.Millisecond); end.After(ended) {
			ended = end
		}
	}
	merged.DurationMS = ended.Sub(merged.Started).Milliseconds()
	slices.Sort(merged.Expected)
	merged.Expected = slices.Compact(merged.Expected)
	return NewRun(merged, results), nil
}

// comparedMembers are what all shards of a run have in common.
func (p Part) comparedMembers() []comparedMember {
	return []comparedMember{
		{"number of shards", fmt.Sprint(p.Shard.Of)},
		{"version of conform", p.Tool.Version},
		{"subject", p.Subject.String()},
		{"kind of subject", p.Subject.Kind},
		{"set", p.Set.Name},
		{"set digest", p.Set.Digest},
		{"source", strings.Join(p.Source, ",")},
		{"ingress", strings.Join(p.Ingress, ",")},
		{"seed", p.Seed},
		{"filter", p.Filter},
		{"policy", p.Policy.String()},
		{"number of runs of a case", fmt.Sprint(p.Repeat)},
		{"baseline", excusesText(p.Run)},
	}
}

// checkShard says why q is not a shard of the same run as p.
func (p Part) checkShard(q Part) error {
	why := differingMember(p.comparedMembers(), q.comparedMembers())
	if why != "" {
		return fmt.Errorf("%s and %s: are not shards of one run: %s; run all shards with the same program and flags",
			p.Name, q.Name, why)
	}
	if q.Interrupted {
		return fmt.Errorf("%s: shard %s was ended before its last case; run it again, or go on with its --journal",
			q.Name, q.Shard)
	}
	return nil
}

// String names what the policy adds.
func (p Policy) String() string {
	return fmt.Sprintf("strict %t, fail on %s, require %s", p.Strict, p.FailOn, strings.Join(p.Require, ","))
}

func excusesText(r *Run) string {
	var b strings.Builder
	for _, used := range r.Baseline {
		fmt.Fprintf(&b, "%+v\n", used.Excuse)
	}
	return b.String()
}

// repeatedResult finds a result of a check and case that has an earlier one. It would be
// counted twice.
func repeatedResult(results []Result) (Result, bool) {
	type key struct{ check, name string }
	seen := map[key]bool{}
	for _, r := range results {
		k := key{r.Check, r.Case}
		if r.Case != "" && seen[k] {
			return r, true
		}
		seen[k] = true
	}
	return Result{}, false
}

// checkComplete says which shards are missing or stand there twice, and which case is in
// two of them. The parts are in order of their shards.
func checkComplete(parts []Part) error {
	var names []string
	var shards []Shard
	for _, p := range parts {
		names, shards = append(names, p.Name), append(shards, *p.Shard)
	}
	if err := checkShards(names, shards, parts[0].Subject.String()); err != nil {
		return err
	}
	owner := map[string]string{}
	for _, p := range parts {
		for _, c := range p.Cases {
			if other, twice := owner[c.Name]; twice {
				return fmt.Errorf("%s and %s: both hold the case %s; they are not shards of one run", other,
					p.Name, c.Name)
			}
			owner[c.Name] = p.Name
		}
		if r, twice := repeatedResult(p.Results); twice {
			return fmt.Errorf("%s: holds the result of %s for %q twice; it was changed, run the shard again", p.Name,
				r.Check, r.Case)
		}
	}
	return nil
}

// maxMissing is how many missing shards an error names.
const maxMissing = 10

// checkShards says which shards of a whole are missing or stand there twice. They are in order.
func checkShards(names []string, shards []Shard, whole string) error {
	byIndex := map[int]string{}
	for i, s := range shards {
		if other, twice := byIndex[s.Index]; twice {
			return fmt.Errorf("%s and %s: are both shard %s; name each shard once", other, names[i], s)
		}
		byIndex[s.Index] = names[i]
	}
	var missing []string
	for i := 1; i <= shards[0].Of; i++ {
		if byIndex[i] == "" {
			missing = append(missing, Shard{i, shards[0].Of}.String())
		}
	}
	if n := len(missing); n > 0 {
		list := strings.Join(missing[:min(n, maxMissing)], ", ")
		if n > maxMissing {
			list += fmt.Sprintf(" and %d more", n-maxMissing)
		}
		return fmt.Errorf("%s: %s of %s missing: %s; name the reports of all shards", names[0], countOf(n, "shard"),
			whole, list)
	}
	return nil
}

// mergeIsolation is enforced where both are.
func mergeIsolation(a, b *Isolation) *Isolation {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Isolation{Enforced: a.Enforced && b.Enforced, Reason: joinDistinct(a.Reason, b.Reason)}
}

// joinDistinct joins two texts that may be empty or the same.
func joinDistinct(a, b string) string {
	switch {
	case a == "":
		return b
	case strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}

// MatrixSchema is the name of the format of a [Matrix].
const MatrixSchema = "conform.matrix.v1"

// Matrix shows several runs side by side. It is plain data.
type Matrix struct {
	Schema string `json:"schema"`
	// Exit is the worst exit code of all runs.
	Exit    int            `json:"exit"`
	Columns []MatrixColumn `json:"columns"`
	// Areas and Requirements have a cell for each column.
	Areas        []MatrixRow `json:"areas"`
	Requirements []MatrixRow `json:"requirements"`
}

// MatrixColumn is one run.
type MatrixColumn struct {
	// Name is the shortest that distinguishes the run.
	Name     string    `json:"name"`
	Subject  Subject   `json:"subject"`
	Source   []string  `json:"source"`
	Ingress  []string  `json:"ingress"`
	Started  time.Time `json:"started"`
	Verdict  Verdict   `json:"verdict"`
	Exit     int       `json:"exit"`
	Coverage Coverage  `json:"coverage"`
}

// MatrixRow is an area or a requirement.
type MatrixRow struct {
	Name  string       `json:"name"`
	Title string       `json:"title,omitempty"`
	Cells []MatrixCell `json:"cells"`
}

// MatrixCell is what one run says of an area or a requirement.
type MatrixCell struct {
	// Verdict is "" where the run shows nothing of it.
	Verdict Verdict `json:"verdict,omitempty"`
	// Counts are of requirements.
	Counts Counts `json:"counts,omitempty"`
}

// GroupRuns puts the shards among parts together, and returns whole runs in order of
// their names. The error says which file does not fit.
func GroupRuns(parts []Part) ([]Part, error) {
	shards := map[shardGroup][]Part{}
	var order []shardGroup
	var whole []Part
	for _, p := range parts {
		if p.Shard == nil {
			if p.Interrupted {
				return nil,
					fmt.Errorf("%s: the run was ended before its last case; run it again, or go on with its --journal",
						p.Name)
			}
			whole = append(whole, p)
			continue
		}
		key := shardGroup{p.Subject.Name, strings.Join(p.Source, ","), strings.Join(p.Ingress, ","), p.Shard.Of}
		if shards[key] == nil {
			order = append(order, key)
		}
		shards[key] = append(shards[key], p)
	}
	if err := checkGroups(order, shards); err != nil {
		return nil, err
	}
	for _, key := range order {
		merged, err := MergeShards(shards[key])
		if err != nil {
			return nil, err
		}
		whole = append(whole, Part{shards[key][0].Name, merged})
	}
	slices.SortStableFunc(whole, func(a, b Part) int { return cmp.Compare(columnName(a.Run), columnName(b.Run)) })
	return whole, nil
}

// shardGroup is what tells the shards of several runs apart.
type shardGroup struct {
	subject, source, ingress string
	of                       int
}

// checkGroups says in what shards of one subject differ that fall into several groups
// of which none is complete: they are shards of one run that was started wrongly.
func checkGroups(groups []shardGroup, shards map[shardGroup][]Part) error {
	for i, a := range groups {
		for _, b := range groups[i+1:] {
			first, second := shards[a], shards[b]
			if a.subject == b.subject && checkComplete(first) != nil && checkComplete(second) != nil {
				return first[0].checkShard(second[0])
			}
		}
	}
	return nil
}

// NewMatrix puts whole runs side by side. All have to be judged by the same set of the
// same program, and no run may stand there twice.
func NewMatrix(runs []Part) (*Matrix, error) {
	if len(runs) == 0 {
		return nil, errors.New("no report named")
	}
	m := &Matrix{Schema: MatrixSchema}
	names := map[string]string{}
	first := runs[0]
	of := func(p Part) []comparedMember {
		return []comparedMember{{"set", p.Set.Name}, {"version of conform", p.Tool.Version}, {"filter", p.Filter}}
	}
	for _, p := range runs {
		if why := differingMember(of(first), of(p)); why != "" {
			return nil,
				fmt.Errorf("%s and %s: cannot stand side by side: %s; run all subjects with the same program and flags",
					first.Name, p.Name, why)
		}
		name := columnName(p.Run)
		if other, twice := names[name]; twice {
			return nil,
				fmt.Errorf("%s and %s: are both whole runs of %s; name one of them, or run it with --repeat to find flakes", other, p.Name, name)
		}
		names[name] = p.Name
		m.Columns = append(m.Columns, MatrixColumn{name, p.Subject, p.Source, p.Ingress, p.Started, p.Summary.Verdict,
			p.Summary.Exit, p.Summary.Coverage})
		m.Exit = worstExit(m.Exit, p.Summary.Exit)
	}
	m.addRows(runs)
	return m, nil
}

// columnName tells runs apart: the subject, its version and wires, what answered, the ways in.
func columnName(r *Run) string {
	name := strings.TrimSpace(r.Subject.String() + " " + r.Subject.Route())
	return fmt.Sprintf("%s %s %s", name, strings.Join(r.Source, "+"), strings.Join(r.Ingress, "+"))
}

// worstExit is the code of which a gate should hear first.
func worstExit(a, b int) int {
	order := []int{ExitOK, ExitIncomplete, ExitFailure, ExitUsage, ExitInterrupted, ExitGuard, ExitHarness}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

func (m *Matrix) addRows(runs []Part) {
	areas, requirements := map[string][]MatrixCell{}, map[string][]MatrixCell{}
	cellOf := func(rows map[string][]MatrixCell, name string, column int) *MatrixCell {
		if rows[name] == nil {
			rows[name] = make([]MatrixCell, len(runs))
		}
		return &rows[name][column]
	}
	for i, p := range runs {
		for _, id := range p.Set.Requirements {
			cellOf(requirements, id, i)
			cellOf(areas, Result{Requirement: id}.Area(), i)
		}
		for _, a := range p.Summary.Areas {
			*cellOf(areas, a.Area, i) = MatrixCell{a.Verdict, a.Counts}
		}
		for _, res := range p.Results {
			cell := cellOf(requirements, res.Requirement, i)
			if cell.Verdict == "" {
				cell.Verdict = res.Verdict
			}
			cell.Verdict = Worst(cell.Verdict, res.Verdict)
		}
	}
	for name, cells := range areas {
		m.Areas = append(m.Areas, MatrixRow{Name: name, Cells: cells})
	}
	for name, cells := range requirements {
		row := MatrixRow{Name: name, Cells: cells}
		if r, err := specs.FindRequirement(name); err == nil {
			row.Title = r.Title
		}
		m.Requirements = append(m.Requirements, row)
	}
	slices.SortFunc(m.Areas, func(a, b MatrixRow) int {
		return cmp.Or(slices.Index(specs.Areas, a.Name)-slices.Index(specs.Areas, b.Name), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.Requirements, func(a, b MatrixRow) int { return cmp.Compare(a.Name, b.Name) })
}

// String is the text of a cell: the verdict, and of an area how many requirements have
// it.
func (c MatrixCell) String() string {
	switch {
	case c.Verdict == "":
		return "·"
	case c.Counts == nil || c.Counts.Total() == c.Counts[c.Verdict]:
		return columnHeading(c.Verdict)
	}
	return fmt.Sprintf("%s %d of %d", columnHeading(c.Verdict), c.Counts[c.Verdict], c.Counts.Total())
}

// WriteText writes the matrix for a terminal, with a row for each area or, with
// byRequirement, for each requirement.
func (m *Matrix) WriteText(w io.Writer, byRequirement bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, c := range m.Columns {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", i+1, terminal.Line(c.Name), strings.ToUpper(string(c.Verdict)), c.Coverage)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	name, rows := m.rowsBy(byRequirement)
	fmt.Fprintf(t, "\n%s", name)
	for i := range m.Columns {
		fmt.Fprintf(t, "\t%d", i+1)
	}
	for _, row := range rows {
		fmt.Fprintf(t, "\n%s", terminal.Line(row.Name))
		for _, cell := range row.Cells {
			fmt.Fprintf(t, "\t%s", cell)
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}

func (m *Matrix) rowsBy(byRequirement bool) (name string, rows []MatrixRow) {
	if byRequirement {
		return "requirement", m.Requirements
	}
	return "area", m.Areas
}

// WriteMarkdown writes the matrix as a table of Markdown.
func (m *Matrix) WriteMarkdown(w io.Writer, byRequirement bool) error {
	var b strings.Builder
	name, rows := m.rowsBy(byRequirement)
	fmt.Fprintf(&b, "| %s |", name)
	for _, c := range m.Columns {
		fmt.Fprintf(&b, " %s |", MarkdownCode(cutText(c.Name, 200)))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.Columns)) + "\n| **verdict** |")
	for _, c := range m.Columns {
		fmt.Fprintf(&b, " **%s** |", strings.ToUpper(string(c.Verdict)))
	}
	for _, row := range rows {
		fmt.Fprintf(&b, "\n| %s |", row.Name)
		for _, cell := range row.Cells {
			fmt.Fprintf(&b, " %s |", cell)
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
