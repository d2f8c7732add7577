package ops

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/session"
)

var update = flag.Bool("update", false, "write the outputs of the transcripts anew")

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestTranscripts drives the step function through the files in testdata/steps.
// testdata/steps/README.md explains how to read them.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/steps/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := runTranscript(t, string(old))
			if *update {
				if err := os.WriteFile(file, []byte(played), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(old), "\n"), strings.Split(played, "\n")); diff != "" {
				t.Errorf("%s: the steps differ from the file; -update writes it anew:\n%s", file, diff)
			}
		})
	}
}

// runTranscript returns a transcript with the outputs that its inputs have now.
func runTranscript(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	m := &machine{t: t}
	inOutput := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case inOutput:
			inOutput = line != ""
			if inOutput {
				continue
			}
		case line == "----":
			inOutput = true
			line += "\n" + m.takeOutput()
		case line == "":
			m.output = nil // the lines before it only prepare
		case line[0] != '#':
			m.performLine(line)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

type machine struct {
	t      *testing.T
	state  state
	clock  int
	output []string
}

func (m *machine) takeOutput() string {
	for _, o := range m.state.operations {
		line := fmt.Sprintf("%s: %s", o.spec.ID, o.status)
		if o.held {
			line += ", held"
		}
		if o.cancelling && !o.status.IsFinal() {
			line += ", cancelling"
		}
		if o.result.Error != "" {
			line += ", " + o.result.Error
		}
		if o.delivered {
			line += ", delivered"
		}
		m.output = append(m.output, line)
	}
	lines := m.output
	m.output = nil
	return strings.Join(lines, "\n")
}

func (m *machine) currentTime() time.Time { return epoch.Add(time.Duration(m.clock) * time.Second) }

// apply performs one input line, or shows something.
func (m *machine) performLine(line string) {
	m.t.Helper()
	m.clock++
	words := strings.Fields(line)
	args := map[string]string{}
	var names []string
	for _, w := range words[1:] {
		if key, value, found := strings.Cut(w, "="); found {
			args[key] = value
		} else {
			names = append(names, w)
		}
	}
	switch words[0] {
	case "new":
		m.state = m.newState(args)
	case "join":
		m.takeStep(joinInput{session.ID(names[0]), readNumber(args["depth"]), args["spawn"] == "no"})
	case "leave":
		m.takeStep(leaveInput{session.ID(names[0]), args["completed"] == "yes"})
	case "submit", "restore":
		m.takeStep(submitInput{m.currentTime(), session.ID(names[0]), specsOf(names[1:], args), words[0] == "restore"})
	case "recorded":
		var specs []OperationSpec
		for _, id := range names {
			specs = append(specs, m.state.findOperation(session.ID(id)).spec)
		}
		m.takeStep(recordedInput{m.currentTime(), specs})
	case "withdraw":
		m.takeStep(withdrawInput{idsOf(names)})
	case "restored":
		m.takeStep(restoreInput{session.ID(names[0]), OperationSpec{ID: session.ID(names[1]), Kind: SubAgent},
			m.currentTime(),
			OpResult{OpCausality: OpCausality{Status: OpStatus(names[2])}}, args["delivered"] == "yes"})
	case "started":
		m.takeStep(startedInput{m.currentTime(), session.ID(names[0])})
	case "progress":
		m.takeStep(progressInput{session.ID(names[0]), strings.Join(names[1:], " "), nil})
	case "ended":
		m.takeStep(endedInput{
			m.currentTime(), session.ID(names[0]),
			outcome{
				status: OpStatus(names[1]), result: OpResult{Text: strings.Join(names[2:], " "), Error: args["error"]},
			},
		})
	case "cancel":
		m.takeStep(cancelInput{m.currentTime(), idsOf(names)})
	case "steer":
		m.takeStep(steerInput{session.ID(names[0]), names[1], strings.Join(names[2:], " ")})
	case "applied":
		m.takeStep(appliedInput{session.ID(names[0]), names[1:]})
	case "delivered":
		m.takeStep(deliveredInput{idsOf(names)})
	default:
		m.showState(words[0], names, args)
	}
}

// showState prints what the state says without changing it.
func (m *machine) showState(what string, names []string, args map[string]string) {
	switch what {
	case "injectable":
		var ids []string
		for _, o := range m.state.injectableOperations(session.ID(names[0])) {
			ids = append(ids, string(o.spec.ID))
		}
		m.output = append(m.output, "injectable: "+strings.Join(ids, " "))
	case "awaited":
		m.output = append(m.output, fmt.Sprintf(
			"awaited: %t", m.state.isAwaited(idsOf(names), AwaitMode(args["mode"])),
		))
	case "directives":
		for _, d := range m.state.findAgent(session.ID(names[0])).directives {
			m.output = append(m.output, fmt.Sprintf("directive %d %s: %s, %s", d.Seq, d.ID, d.Text, d.Status))
		}
	case "resolve":
		o, err := m.state.resolveName(session.ID(names[0]), names[1])
		if err != nil {
			m.output = append(m.output, "error: "+err.Error())
			return
		}
		m.output = append(m.output, "resolved: "+string(o.spec.ID))
	default:
		m.t.Fatalf("unknown line %q", what)
	}
}

func (m *machine) takeStep(in input) {
	var effects []effect
	m.state, effects = step(m.state, in)
	for _, e := range effects {
		m.output = append(m.output, describeEffect(e))
	}
}

func describeEffect(e effect) string {
	switch e := e.(type) {
	case startEffect:
		return "start " + string(e.id)
	case stopEffect:
		return "stop " + string(e.id)
	case eventEffect:
		return strings.TrimSpace(fmt.Sprintf(
			"event to %s: %s %s %s", e.to, e.event.ID, e.event.Type,
			e.event.Message+e.event.Result+e.event.Error+e.event.SteeringID,
		))
	case refuseEffect:
		return "refuse: " + e.err.Error()
	}
	return "?"
}

func (m *machine) newState(args map[string]string) state {
	return state{
		limits: ConcurrencyLimits{
			readNumber(args["depth"]), readNumber(args["ops"]), readNumber(args["agents"]),
			readNumber(args["children"]),
		}.withDefaults(),
		injection:     InjectionPolicy(firstOf(args["injection"], string(CompletionOrder))),
		steeringDepth: readNumber(firstOf(args["queue"], "2")),
		overflow:      SteeringOverflow(args["overflow"]),
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func readNumber(s string) int { n, _ := strconv.Atoi(s); return n }

func idsOf(names []string) (ids []OperationID) {
	for _, n := range names {
		ids = append(ids, OperationID(n))
	}
	return ids
}

// specsOf reads names such as a, a<b,c (depends on b and c).
func specsOf(names []string, args map[string]string) (specs []OperationSpec) {
	for _, n := range names {
		id, on, depends := strings.Cut(n, "<")
		spec := OperationSpec{ID: OperationID(id), Kind: WorkKind(firstOf(args["kind"], string(SubAgent))),
			Label: args["label"], NoSpawn: args["spawn"] == "no",
			Policy: OperationPolicy{OnDependencyFailure: DependencyFailurePolicy(args["policy"])}}
		if depends {
			spec.DependsOn = idsOf(strings.Split(on, ","))
		}
		specs = append(specs, spec)
	}
	return specs
}
