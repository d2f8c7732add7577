package rkat

import (
	"bufio"
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/standin"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/mcp"
)

const suiteToken = "0123456789abcdef0123456789abcdef"

// TestMCPConformance runs the conformance suite of the MCP project, whose program
// MEERKAT_MCP_CONFORMANCE names, against rkat as a server and as a client. It needs
// Node 22 in PATH. `make mcp` installs both.
func TestMCPConformance(t *testing.T) {
	program := suiteProgram(t)
	rkat := filepath.Join(t.TempDir(), "rkat")
	if out, err := exec.Command("go", "build", "-o", rkat, "../../../cmd/rkat").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := startForSuite(t, rkat)
	for scenario, checks := range map[string]string{
		"server-initialize": "1/1", "ping": "1/1", "logging-set-level": "1/1", "tools-list": "1/1",
		"server-sse-multiple-streams": "2/2", "dns-rebinding-protection": "2/2",
	} {
		runSuite(t, scenario, checks, program, "server", "--url", address, "--scenario", scenario)
	}
	for scenario, c := range map[string]struct{ tool, checks string }{
		"initialize": {"add_numbers", "1/1"}, "tools_call": {"add_numbers", "1/1"},
		"sse-retry": {"test_reconnection", "3/3"},
	} {
		runSuite(
			t, scenario, c.checks, program, "client", "--scenario", scenario, "--command",
			clientForSuite(t, rkat, c.tool),
		)
	}
}

// TestMCPConformanceFixtures runs the scenarios that need tools, resources and prompts of
// the suite's own names. The same handler and guard serve them as serve rkat's tools.
func TestMCPConformanceFixtures(t *testing.T) {
	program := suiteProgram(t)
	guarded := httptest.NewServer(server.Guard(
		server.GuardOptions{Token: suiteToken}, mcp.NewHandler(newFixtureServer()),
	))
	t.Cleanup(guarded.Close)
	address := proxyForSuite(t, guarded.URL, "")
	for scenario, checks := range map[string]string{
		"tools-call-simple-text": "1/1", "tools-call-image": "1/1", "tools-call-audio": "1/1",
		"tools-call-embedded-resource": "1/1", "tools-call-mixed-content": "1/1", "tools-call-with-logging": "1/1",
		"tools-call-error": "1/1", "tools-call-with-progress": "1/1", "tools-call-sampling": "1/1",
		"tools-call-elicitation": "1/1", "json-schema-2020-12": "4/4", "elicitation-sep1034-defaults": "5/5",
		"elicitation-sep1330-enums": "5/5", "completion-complete": "1/1",
		"resources-list": "1/1", "resources-read-text": "1/1", "resources-read-binary": "1/1",
		"resources-templates-read": "1/1", "resources-subscribe": "1/1", "resources-unsubscribe": "1/1",
		"prompts-list": "1/1", "prompts-get-simple": "1/1", "prompts-get-with-args": "1/1",
		"prompts-get-embedded-resource": "1/1", "prompts-get-with-image": "1/1",
	} {
		runSuite(t, scenario, checks, program, "server", "--url", address, "--scenario", scenario)
	}
	// This scenario says version 2025-03-26 and looks for what 2025-11-25 brought.
	newer := proxyForSuite(t, guarded.URL, "2025-11-25")
	runSuite(t, "server-sse-polling", "3/3", program, "server", "--url", newer, "--scenario", "server-sse-polling")
}

func suiteProgram(t *testing.T) string {
	t.Helper()
	program := os.Getenv("MEERKAT_MCP_CONFORMANCE")
	if program == "" {
		t.Skip("MEERKAT_MCP_CONFORMANCE does not name the program of @modelcontextprotocol/conformance")
	}
	return program
}

// startForSuite starts the server and returns the address of a proxy before it.
func startForSuite(t *testing.T, rkat string) string {
	t.Helper()
	server := exec.CommandContext(t.Context(), rkat, "mcp-server", "--demo", "-q", "--listen", "127.0.0.1:0")
	server.Env = []string{"HOME=" + t.TempDir(), "RKAT_SERVER_TOKEN=" + suiteToken}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return proxyForSuite(t, strings.TrimSpace(line), "")
}

// proxyForSuite returns the address of a proxy of address that adds the token, which the
// suite cannot send. Requests that name a version of the protocol name version, unless it is "".
func proxyForSuite(t *testing.T, address, version string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(standin.ReadFirst(&httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+suiteToken)
			if version != "" && r.Out.Header.Get("Mcp-Protocol-Version") != "" {
				r.Out.Header.Set("Mcp-Protocol-Version", version)
			}
		}}))
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

// clientForSuite writes a program that calls a tool of the server that its argument names.
func clientForSuite(t *testing.T, rkat, tool string) string {
	t.Helper()
	dir := t.TempDir()
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"t": map[string]string{"url": "URL"}}})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "client")
	text := "#!/bin/sh\necho '" + string(servers) + "' | sed \"s#URL#$1#\" > " + dir + "/mcp.json\n" +
		"HOME=" + dir + " exec " + rkat + " run --demo -q --mcp " + dir + "/mcp.json --tools-allow 't__*' 'Call t__" +
		tool + ".'\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// runSuite runs one scenario and holds how many of its checks pass.
func runSuite(t *testing.T, scenario, checks, program string, args ...string) {
	t.Helper()
	// the checks say more than the exit code
	out, _ := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	passed := regexp.MustCompile(`Passed: (\d+/\d+), 0 failed, 0 warnings`).FindSubmatch(out)
	if passed == nil || string(passed[1]) != checks {
		t.Errorf("%s: want %s checks to pass:\n%s", scenario, checks, out)
	}
}
