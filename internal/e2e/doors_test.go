package e2e_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	doorsDir = flag.String("doors", "",
		"folder with npm/, python/ and programs/, as make doors and make release write it")
	releaseDir = flag.String("doors.release", "", "dist/ of goreleaser, as make release writes it")
)

// door is a folder of somebody who has no Go: nothing of ours but what they installed, no Go in PATH.
type door struct {
	*testing.T
	dir string
	env []string
}

func newDoor(t *testing.T) *door {
	t.Helper()
	if *doorsDir == "" {
		t.Skip("make doors builds what this test installs, and runs it")
	}
	d := &door{t, t.TempDir(), nil}
	holds := func(folder, program string) bool {
		_, err := os.Stat(filepath.Join(folder, program))
		return err == nil
	}
	var path []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if !holds(folder, "go") && !holds(folder, "conform") {
			path = append(path, folder)
		}
	}
	d.env = []string{"HOME=" + d.dir, "TMPDIR=" + t.TempDir(), "PATH=" + strings.Join(path, ":"), "NO_COLOR=1",
		"npm_config_offline=true", "npm_config_update_notifier=false"}
	return d
}

// needs skips the test where a program is not installed; .ci/run has all of them.
func (d *door) needs(programs ...string) {
	d.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("MEERKAT_DOORS") == "all" {
			d.Fatalf("%s is not installed, and MEERKAT_DOORS=all", program)
		}
		d.Skipf("%s is not installed", program)
	}
}

// run runs a command line of a shell with more variables and returns its output and exit code.
func (d *door) run(command string, env ...string) (string, int) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = d.dir, slices.Concat(d.env, env)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		d.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (d *door) mustRun(command string, env ...string) string {
	d.Helper()
	out, code := d.run(command, env...)
	if code != 0 {
		d.Fatalf("$ %s\nexit %d\n%s", command, code, out)
	}
	return out
}

// says holds that a command ends with an exit code and says something, in one line of its own.
func (d *door) says(code int, sentence, command string, env ...string) {
	d.Helper()
	if out, got := d.run(command, env...); got != code || !strings.Contains(out, sentence) {
		d.Errorf("$ %s\nexit %d, want %d and %q:\n%s", command, got, code, sentence, out)
	}
}

// copyExamples copies files of docs/examples into the folder.
func (d *door) copyExamples(names ...string) {
	d.Helper()
	for _, name := range names {
		from := filepath.Join("../../docs/examples", name)
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			if err := os.CopyFS(d.dir, os.DirFS(from)); err != nil {
				d.Fatal(err)
			}
			continue
		}
		data, err := os.ReadFile(from)
		if err != nil {
			d.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.dir, filepath.Base(name)), data, 0o600); err != nil {
			d.Fatal(err)
		}
	}
}

// leavesNothing holds that no temporary file is left.
func (d *door) leavesNothing() {
	d.Helper()
	d.says(0, "", `ls -A "$TMPDIR" | grep -v -e '^node-compile-cache$' -e '^pytest-of-' | (! grep .)`)
	d.says(0, "", `test -z "$(find cassettes -name '*.tmp' -o -name '*.partial')"`)
}

// start starts a program that prints recorder.ready.v1, and returns the variables for its clients.
func (d *door) start(program string, args ...string) map[string]string {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), program, args...)
	cmd.Env = append(slices.Clone(d.env), "RECORDER_CREDENTIAL=0123456789abcdef")
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	var ready struct{ Variables map[string]string }
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		d.Fatal(err)
	}
	return ready.Variables
}

// startSimulator starts a provider for recordings and returns the setting that leads to it.
func (d *door) startSimulator() string {
	d.Helper()
	return "RECORDER_UPSTREAM=anthropic=" +
		d.start(d.program("recorder"), "simulate", "-q", "--json", "--stop-on-eof")["ANTHROPIC_BASE_URL"]
}

// program returns the path of a program that was built for this machine.
func (d *door) program(name string) string {
	return filepath.Join(*doorsDir, "programs", runtime.GOOS+"_"+runtime.GOARCH, name)
}

// installNPM installs the packages from their tarballs, without scripts and without a network.
func (d *door) installNPM() {
	d.Helper()
	d.needs("node", "npm")
	d.mustRun("npm install --ignore-scripts --no-audit --no-fund --silent " + *doorsDir + "/npm/*.tgz")
	d.copyExamples("javascript", "my-agent.mjs", "my-agent-fixed.mjs")
}

// installWheel installs the wheel into a venv that sees Debian's pytest.
func (d *door) installWheel() {
	d.Helper()
	d.needs("python3", "pytest-3")
	d.mustRun("/usr/bin/python3 -m venv --system-site-packages venv && venv/bin/pip install -q --no-index " +
		*doorsDir + "/python/*.whl")
	for i, kv := range d.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			d.env[i] = "PATH=" + filepath.Join(d.dir, "venv/bin") + ":" + path
		}
	}
	d.copyExamples("python", "my-agent.mjs", "my-agent-fixed.mjs")
}

// reachVerdicts holds that one command leads to a red verdict on an agent with a bug, and to a
// green one on its twin, and logs how long that takes.
func (d *door) reachVerdicts(conform string) {
	d.Helper()
	for agent, want := range map[string]int{"my-agent": 1, "my-agent-fixed": 0} {
		began := time.Now()
		out, code := d.run(conform + " run -q --filter 'parallel-calls || thinking-tool-loop' -- node " + agent +
			".mjs {prompt}")
		d.Logf("%s %s: exit %d after %v", conform, agent, code, time.Since(began).Round(10*time.Millisecond))
		if code != want || want == 1 && !strings.Contains(out, "SIG-005/fields") {
			d.Errorf("%s: exit %d, want %d\n%s", agent, code, want, out)
		}
	}
}

func TestDoorsArchive(t *testing.T) {
	d := newDoor(t)
	d.needs("node")
	d.copyExamples("my-agent.mjs", "my-agent-fixed.mjs")
	d.reachVerdicts(d.program("conform"))
}

func TestDoorsNPM(t *testing.T) {
	d := newDoor(t)
	d.installNPM()
	d.reachVerdicts("npx conform")
	d.runGuide("../../docs/guides/javascript.md")

	upstream := d.startSimulator()
	test := "node --test --test-reporter=tap loop.test.mjs"
	record := []string{upstream, "ANTHROPIC_API_KEY=made-up", "RECORD_MODE=all"}
	cassette := filepath.Join(d.dir, "cassettes/loop/calls-a-tool.yaml")
	before, err := os.ReadFile(cassette)
	if err != nil {
		t.Fatal(err)
	}
	// A proxy that is set already is not used, and several workers may record one cassette.
	d.mustRun(test+" & first=$!; "+test+" && wait $first",
		append(record, "HTTP_PROXY=http://127.0.0.1:9", "ALL_PROXY=http://127.0.0.1:9")...)
	if after, err := os.ReadFile(cassette); err != nil || string(after) == string(before) {
		t.Errorf("the cassette was not recorded again: %v", err)
	}
	d.says(0, "ok 1", test, "CI=1")
	// A test that fails by itself keeps no recording, and is told only its own error.
	failing := `import { test } from "@meerkat-go/conform/node-test"; import { loop } from "./loop.mjs";
test("own", async () => { await loop("x"); throw new Error("by itself"); }); test("nothing", () => {});`
	d.write("own.test.mjs", failing)
	d.says(1, "error: 'by itself'",
		"node --test --test-reporter=tap own.test.mjs; code=$?; test ! -e cassettes/own && exit $code", record...)
	d.says(1, "nothing.yaml: nothing was sent; a client must use",
		"node --test --test-reporter=tap own.test.mjs", record...)
	d.says(1, "own.yaml: does not exist, and nothing is recorded in CI; run the test with RECORD_MODE=once and a key",
		"node --test own.test.mjs", "CI=1")
	d.says(1, "RECORD_MODE=sometimes: unknown; use none, once, new_episodes, all",
		"node --test loop.test.mjs", "RECORD_MODE=sometimes")
	d.testVitest()
	d.leavesNothing()
	d.parentDies()

	// Nothing is written into the package, so a folder that is read-only will do.
	d.says(0, "ok 1", "cd node_modules && chmod -R a-w @meerkat-go && find @meerkat-go > before && (cd .. && "+test+
		") && find @meerkat-go | diff before - && chmod -R u+w @meerkat-go", "CI=1")
	platform := filepath.Base(firstMatch(t, d.dir, "node_modules/@meerkat-go/conform-*"))
	d.says(4, "@meerkat-go/"+platform+": is version 9.9.9, but @meerkat-go/conform is ",
		"npm pkg --prefix node_modules/@meerkat-go/"+platform+" set version=9.9.9 && npx conform version")
	d.says(4, "@meerkat-go/"+platform+": is not installed; install @meerkat-go/conform again, without --omit=optional",
		"rm -r node_modules/@meerkat-go/"+platform+" && npx conform version")
	d.write("sunos.mjs",
		`import { findBinary } from "./node_modules/@meerkat-go/conform/lib/binary.js"; findBinary("conform", "sunos-x64");`)
	d.says(1, "has no binary for sunos-x64; build conform with Go and set MEERKAT_BIN_DIR", "node sunos.mjs")
	d.says(0, "conform ", "npx conform version", "MEERKAT_BIN_DIR="+filepath.Dir(d.program("conform")))
}

// parentDies holds that no proxy outlives the process that opened a session.
func (d *door) parentDies() {
	d.Helper()
	d.write("hang.mjs",
		`import { simulate } from "@meerkat-go/conform"; console.log(new URL((await simulate()).url).host); setInterval(() => {}, 1000);`)
	cmd := exec.CommandContext(d.Context(), "node", "hang.mjs")
	cmd.Dir, cmd.Env = d.dir, d.env
	stdout, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		d.Fatal(err)
	}
	var address string
	if _, err := fmt.Fscanln(stdout, &address); err != nil {
		d.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := (&net.Dialer{}).DialContext(d.Context(), "tcp", address)
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			d.Fatalf("%s still answers", address)
		}
	}
}

// testVitest runs tests of Vitest, which make doors installs; it is put beside our package.
func (d *door) testVitest() {
	d.Helper()
	modules, _ := filepath.Abs("../../.tmp/vitest/node_modules")
	if _, err := os.Stat(filepath.Join(modules, "vitest")); err != nil {
		if os.Getenv("MEERKAT_DOORS") == "all" {
			d.Fatal("Vitest is not installed, and MEERKAT_DOORS=all")
		}
		d.Log("npm is not reachable; Vitest is not installed and not tested")
		return
	}
	d.mustRun("ln -s " + modules +
		"/vitest node_modules/vitest; mkdir -p node_modules/.bin; ln -s ../vitest/vitest.mjs node_modules/.bin/vitest")
	test := "npx vitest run loop.spec"
	d.says(0, "1 passed", test, "CI=1")
	d.says(1, "SIG-005/fields: thinking block without a signature", test, "CI=1", "FORGET_SIGNATURES=1")
	d.says(0, "1 passed", test, d.startSimulator(), "ANTHROPIC_API_KEY=made-up", "RECORD_MODE=all")
	d.write("own.spec.mjs", `import { test } from "@meerkat-go/conform/vitest"; import { loop } from "./loop.mjs";
test("own", async ({ simulator }) => { await loop("x"); throw new Error("by itself"); });`)
	d.says(1, "Error: by itself", "npx vitest run own.spec")
}

func TestDoorsPython(t *testing.T) {
	d := newDoor(t)
	d.installWheel()
	if _, err := exec.LookPath("node"); err == nil {
		d.reachVerdicts("conform")
	}
	d.runGuide("../../docs/guides/python.md")

	pytest := "python -m pytest -q -p no:cacheprovider "
	record := []string{d.startSimulator(), "ANTHROPIC_API_KEY=made-up", "HTTP_PROXY=http://127.0.0.1:9",
		"ALL_PROXY=http://127.0.0.1:9"}
	d.write("test_many.py", `import pytest
from loop import loop

@pytest.mark.parametrize("number", range(6))
@pytest.mark.conform(cassette="cassettes/shared.yaml")
def test_shared(cassette, number):
    loop('Call echo with "heron".')
`)
	d.says(0, "6 passed", pytest+"-n 3 --record-mode=all test_many.py", record...)
	d.says(0, "6 passed", pytest+"-n 3 test_many.py", "CI=1")
	d.write("test_own.py", `from loop import loop

def test_own(cassette):
    loop("x")
    assert False, "by itself"

def test_nothing(cassette):
    pass
`)
	d.says(1, "AssertionError: by itself",
		pytest+"test_own.py; code=$?; test ! -e cassettes/test_own && exit $code", record...)
	d.says(1, "test_nothing.yaml: nothing was sent; a client must use", pytest+"test_own.py", record...)
	d.says(1,
		"test_own.yaml: does not exist, and --record-mode=none records nothing; run the test with --record-mode=once",
		pytest+"test_own.py", "CI=1")
	d.says(4, "invalid choice: 'sometimes' (choose from 'none', 'once', 'new_episodes', 'all', 'rewrite')",
		pytest+"--record-mode=sometimes test_own.py")
	d.says(0, "1 passed", pytest+"--record-mode=new_episodes test_loop.py", record...)
	d.leavesNothing()
	installed := "venv/lib/python3*/site-packages/meerkat_conform"
	d.says(0, "1 passed", "chmod -R a-w "+installed+" && "+pytest+"test_loop.py && chmod -R u+w "+installed, "CI=1",
		"PYTHONDONTWRITEBYTECODE=1")
	d.says(1, "conform: is missing; install the wheel of meerkat-conform for this platform, or build conform with Go",
		"rm -r "+installed+"/bin && conform version")
	d.says(0, "conform ", "conform version", "MEERKAT_BIN_DIR="+filepath.Dir(d.program("conform")))
}

// runGuide runs the console blocks of a guide in the folder.
func (d *door) runGuide(document string) {
	d.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		d.Fatal(err)
	}
	commands := consoleCommands(string(text))
	if len(commands) < 3 {
		d.Fatalf("%s: %d commands; the test would prove little", document, len(commands))
	}
	for _, c := range commands {
		if out, _ := d.run(c.command); !matchesShown(c.output, printedLines(out)) {
			d.Errorf("$ %s\n%s shows:\n%s\n\nit printed:\n%s", c.command, document, strings.Join(c.output, "\n"), out)
		}
	}
}

func (d *door) write(name, content string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
		d.Fatal(err)
	}
}

func firstMatch(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: nothing matches in %s: %v", pattern, dir, err)
	}
	return found[0]
}

// TestRelease unpacks what make release built, runs it, and holds that its files belong together.
func TestRelease(t *testing.T) {
	if *releaseDir == "" {
		t.Skip("make release builds what this test unpacks, and runs it")
	}
	dir := t.TempDir()
	archive := firstMatch(t, *releaseDir, "conformance_*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	unpack(t, archive, dir)
	for _, program := range []string{"conform", "recorder", "rkat"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, program), "version", "--json").Output()
		var build struct{ Program, Version, Commit, Date, Platform string }
		if err := errors.Join(err, json.Unmarshal(out, &build)); err != nil {
			t.Fatal(err)
		}
		if build.Program != program || !strings.HasPrefix(build.Version, "v0.") || len(build.Commit) != 40 ||
			build.Date == "" || build.Platform != runtime.GOOS+"/"+runtime.GOARCH {
			t.Errorf("%+v", build)
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "man/conform-run.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(*releaseDir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	summed := 0
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(*releaseDir, name))
		if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: another sum, or %v", name, err)
		}
		summed++
		t.Logf("%s: %.1f MB", name, float64(len(data))/1e6)
	}
	for _, pattern := range []string{"*.tar.gz", "*.deb", "*.rpm", "*.cdx.json", "homebrew/Casks/*.rb",
		"scoop/*.json"} {
		if (pattern == "scoop/*.json" || strings.HasPrefix(pattern, "homebrew")) && summed < 10 {
			continue // a build for one machine has no archive for theirs
		}
		firstMatch(t, *releaseDir, pattern)
	}
}

// unpack unpacks an archive into dir.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for content := tar.NewReader(plain); ; {
		h, err := content.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		data, err := io.ReadAll(content)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, data, fs.FileMode(h.Mode)&0o755)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDoorsGitLab installs as the GitLab template does, with our tarballs in the place of the registry.
func TestDoorsGitLab(t *testing.T) {
	d := newDoor(t)
	d.needs("node", "npm")
	var template struct {
		Base struct {
			Before []string `yaml:"before_script"`
		} `yaml:".conform"`
	}
	readTemplate(t, "../../ci/gitlab/conform.gitlab-ci.yml", &template)
	before := strings.Join(template.Base.Before, "\n")
	install := strings.Replace(before, "@meerkat-go/conform@0.1", *doorsDir+"/npm/*.tgz", 1)
	if install == before {
		t.Fatalf("the template does not install our package:\n%s", before)
	}
	d.says(0, "catalogue  ", "set -e\n"+install+"\nPATH=$PWD/global/bin:$PATH conform version",
		"npm_config_prefix="+filepath.Join(d.dir, "global"))
}

// TestDoorsCompose runs the commands of the Compose example: a client of a session reaches the
// simulator through the recorder, which keeps what it says.
func TestDoorsCompose(t *testing.T) {
	d := newDoor(t)
	d.needs("curl")
	var compose struct {
		Services map[string]struct{ Command string }
	}
	readTemplate(t, "../../docs/examples/team.compose.yaml", &compose)
	freePort := func() string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return strings.TrimPrefix(l.Addr().String(), "127.0.0.1:")
	}
	here := strings.NewReplacer("/work/cassettes", d.dir+"/cassettes", ":8790", ":"+freePort(), ":8791", ":"+freePort())
	d.mustRun("mkdir cassettes")
	var proxy map[string]string
	for _, service := range []string{"simulator", "recorder"} {
		args := strings.Fields(here.Replace(compose.Services[service].Command))
		proxy = d.start(d.program(args[0]), append(args[1:], "--json", "--stop-on-eof")...)
	}
	base := strings.Replace(proxy["ANTHROPIC_BASE_URL"], "/~-:", "/~alice:", 1)
	request, err := filepath.Abs("../../docs/examples/anthropic-request.json")
	if err != nil {
		t.Fatal(err)
	}
	d.says(0, `"stop_reason"`, "curl -s "+base+
		"/v1/messages -H 'x-api-key: made-up' -H 'anthropic-version: 2023-06-01' "+
		"-H 'content-type: application/json' -d @"+request)
	d.says(0, "POST",
		`for try in $(seq 100); do test -e cassettes/alice.yaml.partial && break; done; grep POST cassettes/alice.yaml.partial`)
}
