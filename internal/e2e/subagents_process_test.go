package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestProcessKilledWithSubAgents kills rkat with SIGKILL while one of three sub-agents
// waits for the model, and resumes it: the sub-agent goes on in its own session, and
// the answer has the results of all three. No tool runs for a second time.
func TestProcessKilledWithSubAgents(t *testing.T) {
	strict := simulator.New(simulator.Config{Seed: "killed", Level: rule.Strict})
	blocked, hang := make(chan struct{}), true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if hang && bytes.Contains(body, []byte(`then say crane done`)) &&
			!bytes.Contains(body, []byte("spawn_agent {")) && bytes.Contains(body, []byte("tool_result")) {
			close(blocked)
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		strict.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	sessions := filepath.Join(dir, "sessions")
	command := func(args ...string) *exec.Cmd {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, "rkat", append(args, "--session-dir", sessions, "--base-url", server.URL,
			"--model", "claude-opus-4-5", "--conform-tools")...)
		cmd.Env = []string{"HOME=" + dir, "ANTHROPIC_API_KEY=made-up"}
		return cmd
	}
	prompt := strings.NewReplacer(`,"depends_on":["a","b"]`, "", `{"ids":["a","b"]}`, "{}").Replace(threeAgents)
	first := command("run", "--sub-agents", prompt)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-blocked
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	hang = false
	root := rootSession(t, sessions)
	out, err := command("resume", "--last", "--json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var result struct {
		SessionID session.ID `json:"session_id"`
	}
	if err := json.Unmarshal(out, &result); err != nil || result.SessionID != root {
		t.Fatalf("%v: resumed %s, want %s", err, result.SessionID, root)
	}
	checkResumedTree(t, sessions, root)
}

// rootSession returns the session that no other has started.
func rootSession(t *testing.T, dir string) session.ID {
	t.Helper()
	infos, err := jsonl.New(dir, nil).List(t.Context(), session.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Parent == nil {
			return info.ID
		}
	}
	t.Fatal("no session without a parent")
	return ""
}

func checkResumedTree(t *testing.T, dir string, root session.ID) {
	t.Helper()
	store := jsonl.New(dir, nil)
	s, err := store.Load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Operations()); n != 3 {
		t.Fatalf("%d operations", n)
	}
	for _, o := range s.Operations() {
		child, err := store.Load(t.Context(), o.ID)
		if err != nil || !o.Delivered || o.End.Status != "completed" {
			t.Errorf("%s: %v, %+v", o.Label, err, o.End)
			continue
		}
		if o.Label == "b" && o.End.Attempt != 2 {
			t.Errorf("the killed sub-agent ended in run %d, want 2", o.End.Attempt)
		}
		ran := 0
		for _, e := range child.Ledger.Entries() {
			if e.Status == "running" {
				ran++
			}
		}
		if ran > 1 { // none when the kill came between the reply and its tool
			t.Errorf("%s: its tool was started %d times", o.Label, ran)
		}
	}
}
