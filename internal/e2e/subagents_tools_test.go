package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestOperationToolsFitEveryProvider holds the tools for operations against what the
// providers refuse.
func TestOperationToolsFitEveryProvider(t *testing.T) {
	var list []json.RawMessage
	for _, o := range ops.Tools(ops.ToolOptions{}) {
		line, err := o.Def.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, line)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	result, err := lint.Tools(data)
	if err != nil || len(result.Findings) > 0 || len(list) != 8 {
		t.Errorf("%d tools: %v, %+v", len(list), err, result.Findings)
	}
}

// runTree runs a plan with sub-agents over the strict simulator, in a new folder, and
// returns the sessions by label, the root as "".
func runTree(t *testing.T, plan string, change func(*meerkat.AgentBuilder, string)) map[string]session.Session {
	t.Helper()
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "tree",
		Level: rule.Strict}))}
	dir, runs := t.TempDir(), 0
	b := builderOver(dir, "claude-opus-4-5", strict, &runs).WithSubAgents(meerkat.SubAgents{})
	if change != nil {
		change(b, dir)
	}
	r, err := build(t, b).Run(t.Context(), plan)
	if err != nil || len(strict.refused) > 0 {
		t.Fatalf("%v; refused %v", err, strict.refused)
	}
	all := map[string]session.Session{}
	store := jsonl.New(dir, nil)
	infos, err := store.List(t.Context(), session.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		s, err := store.Load(t.Context(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		label := ""
		if s.Parent != nil {
			label = s.Parent.Label
		}
		all[label] = s
	}
	if all[""].ID != r.SessionID {
		t.Fatalf("the root is %s, want %s", all[""].ID, r.SessionID)
	}
	return all
}

// results are what tools answered in a session, in order.
func results(s session.Session) (all []string) {
	for i := range s.Messages {
		for _, r := range s.Messages[i].Results {
			all = append(all, r.Content)
		}
	}
	return all
}

// TestToolAccess: a sub-agent is refused the tools that it may not call, and so is what
// it starts; the tools that it is shown stay the same.
func TestToolAccess(t *testing.T) {
	plan := `spawn_agent {"name":"denied","tools_denied":["echo"],"prompt":"echo {\"text\":\"x\"}\nspawn_agent {\"name\":\"below\",\"prompt\":\"echo {\\\"text\\\":\\\"y\\\"}\"}\nthen await_ops {}"}
spawn_agent {"name":"childless","may_spawn":false,"prompt":"spawn_agent {\"prompt\":\"hi\"}"}
then await_ops {}`
	all := runTree(t, plan, nil)
	for _, name := range []string{"denied", "below"} {
		if got := results(all[name]); len(got) == 0 || !strings.Contains(got[0], "may not call the tool echo") {
			t.Errorf("%s: %q", name, got)
		}
		if len(all[name].Prefix.Tools) != len(all[""].Prefix.Tools) {
			t.Errorf("%s is shown other tools", name)
		}
	}
	if got := results(all["childless"]); len(got) == 0 || !strings.Contains(got[0], "cannot start sub-agents") {
		t.Errorf("childless: %q", got)
	}
}

// TestBadSpawns: what cannot be started is refused at once, and the model reads what it
// should have written.
func TestBadSpawns(t *testing.T) {
	plan := `spawn_agent {"prompt":"hi","tools_allowed":["ecko"]}
spawn_agent {"prompt":"hi","model":"claude-opus-4-55"}
spawn_agent {"prompt":"hi","depends_on":["nobody"]}
spawn_agent {"name":"one","prompt":"echo {\"text\":\"x\"}"}
spawn_agent {"prompt":"hi","depends_on":["onne"]}
spawn_agent {"name":"one","prompt":"again"}
steer {"id":"two","message":"hurry"}
fetch_result {"artifact_id":"nothing"}
then await_ops {}`
	got := results(runTree(t, plan, nil)[""])
	for i, want := range []string{"did you mean echo?", "claude-opus-4-5", "has started none", `"status":"running"`,
		"did you mean one?", "choose another", "not known to this agent", "keeps no artifacts"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("answer %d: %s; want %s", i, got[i], want)
		}
	}
}

// TestLargeResults: a large result is kept as an artifact, which the model reads in
// parts.
func TestLargeResults(t *testing.T) {
	store := artifact.NewMemory(artifact.Options{})
	long := tool.Tool{Def: transcript.ToolDef{Name: "unused", Description: "Does nothing."},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) { return transcript.ToolResult{}, nil }}
	text := strings.Repeat("heron ", 4000)
	plan := fmt.Sprintf(`spawn_agent {"name":"long","prompt":"op_status {}\nthen say %s"}
then await_ops {}`, strings.TrimSpace(text))
	all := runTree(t, plan, func(b *meerkat.AgentBuilder, _ string) {
		b.WithTool(long).WithSubAgents(meerkat.SubAgents{Artifacts: store})
	})
	root := all[""]
	end := root.Operations()[0].End
	if end == nil || end.Artifact == "" || end.Size != len(strings.TrimSpace(text)) {
		t.Fatalf("%+v", end)
	}
	data, _, err := store.Get(t.Context(), root.ID, artifact.ID(end.Artifact))
	if err != nil || string(data) != strings.TrimSpace(text) {
		t.Errorf("%v; %d bytes are kept", err, len(data))
	}
	if awaited := results(root)[1]; !strings.Contains(awaited, end.Artifact) || len(awaited) > 2000 {
		t.Errorf("await_ops answered %d bytes: %.300s", len(awaited), awaited)
	}
}
