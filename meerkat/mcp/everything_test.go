package mcp_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// everything names the folder into which `make mcp` installs
// @modelcontextprotocol/server-everything, a server that nobody here wrote.
const everything = "MEERKAT_MCP_EVERYTHING"

// script returns the server's program, or skips the test.
func script(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(everything)
	if dir == "" {
		t.Skipf("%s is not set; `make mcp` installs the server from npm and sets it", everything)
	}
	path := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("npm could not install the server: %v", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("no node: %v", err)
	}
	return path
}

func withPath() mcp.Options {
	o := quick
	o.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SECRET=canary"}
	return o
}

func TestEverythingOverStdio(t *testing.T) {
	s := mcp.Server{
		Name: "ev", Command: "node", Args: []string{script(t), "stdio"}, Env: map[string]string{"GIVEN": "yes"},
	}
	r := open(t, withPath(), s)
	useEverything(t, r)
	env := call(r, "ev__get-env", `{}`)
	wantText(t, env, false, `"GIVEN": "yes"`)
	if strings.Contains(env.Content, "canary") {
		t.Error("the server sees what it was not given:", env.Content)
	}
}

func TestEverythingOverHTTP(t *testing.T) {
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "node", script(t), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := fmt.Sprint("127.0.0.1:", port)
	until(t, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	useEverything(t, open(t, withPath(), mcp.Server{Name: "ev", URL: "http://" + address + "/mcp"}))
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// useEverything holds the server to what its own documentation promises.
func useEverything(t *testing.T, r *mcp.Router) {
	t.Helper()
	if len(r.Defs()) < 10 || !strings.Contains(r.Servers()[0].Instructions, "Everything Server") {
		t.Fatalf("%v %+v", names(r.Defs()), r.Servers())
	}
	t.Logf("%+v tools: %s; left out: %v", len(r.Defs()), strings.Join(names(r.Defs()), " "), r.Problems())
	wantText(t, call(r, "ev__echo", `{"message":"hé"}`), false, "Echo: hé")
	wantText(t, call(r, "ev__echo", `{"massage":"hé"}`), true, "not executed", "message is required")
	wantText(t, call(r, "ev__get-sum", `{"a":2,"b":40}`), false, "42")
	wantText(t, call(r, "ev__get-structured-content", `{"location":"Chicago"}`), false, `"temperature":`, `"humidity":`)
	wantText(
		t, call(r, "ev__get-resource-reference", `{}`), false,
		"[resource demo://resource/dynamic/text/1]\nResource 1:",
	)
	wantText(t, call(r, "ev__get-resource-links", `{"count":2}`), false, "[resource demo://resource/dynamic/")
	image := call(r, "ev__get-tiny-image", `{}`)
	wantText(t, image, false, "image")
	if len(image.Parts) != 1 || image.Parts[0].MediaType != "image/png" || len(image.Parts[0].Data) < 100 {
		t.Errorf("%+v", image.Parts)
	}
	if !r.Traits("ev__echo").ReadOnly || r.Traits("ev__toggle-simulated-logging").ReadOnly {
		t.Error("the hints are not the server's")
	}
	watchProgress(t, r)
}

// watchProgress sees a long call from its first step to its early end.
func watchProgress(t *testing.T, r *mcp.Router) {
	t.Helper()
	long := transcript.ToolCall{
		ID: "id", Name: "ev__trigger-long-running-operation", Args: []byte(`{"duration":60,"steps":600}`),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var seen tool.Progress
	got := tool.DispatchAll(ctx, r, []transcript.ToolCall{long}, 0,
		tool.Observer{Progress: func(_ transcript.ToolCall, p tool.Progress) {
			if seen = p; p.Done >= 2 {
				cancel()
			}
		}})
	if got[0].Content != tool.Interrupted("id").Content || seen.Total != 600 {
		t.Errorf("%+v after %+v", got[0], seen)
	}
	wantText(t, call(r, "ev__echo", `{"message":"still here"}`), false, "still here")
}
