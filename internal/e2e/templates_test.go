package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// strangerRepository is a repository that holds nothing of ours: the agent and conform
// are programs in a folder of PATH.
type strangerRepository struct {
	*testing.T
	dir string
}

func newStrangerRepository(t *testing.T) strangerRepository {
	t.Helper()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	r := strangerRepository{t, t.TempDir()}
	r.run("", nil, "git", "init", "-q", ".")
	return r
}

// strangersAgent is the command line of an agent without a profile.
const strangersAgent = "rkat run {prompt} --model claude-opus-4-5 --conform-tools"

// run runs a program in the repository and returns its output and exit code.
func (r strangerRepository) run(stdin string, env []string, name string, args ...string) (string, int) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), name, args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code says it
	return out.String(), cmd.ProcessState.ExitCode()
}

func (r strangerRepository) exists(names ...string) {
	r.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Size() == 0 {
			r.Errorf("%s is missing or empty: %v", name, err)
		}
	}
}

// TestActionJudges holds that what the composite action runs judges an agent in a
// repository that holds nothing of ours, and keeps the reports.
func TestActionJudges(t *testing.T) {
	r := newStrangerRepository(t)
	script, err := filepath.Abs("../../ci/conform-action/judge")
	if err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(r.dir, "summary.md")
	env := []string{
		"AGENT=" + strangersAgent, "ARGS=--provider=anthropic\n--filter=thinking-tool-loop || parallel-calls\n",
		"REQUIRE=ORD-001",
		"REPORTS=reports", "GITHUB_STEP_SUMMARY=" + summary,
	}
	if out, code := r.run("", env, script); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	r.exists("reports/conform.json", "reports/conform.xml", "reports/conform.html", "summary.md")
	env[2] = "REQUIRE=RES-001" // no case of these shows a resume
	if out, code := r.run("", env, script); code != 1 || !strings.Contains(out, "::error") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestActionInstalls holds that the action takes a released archive only with its checksum, and
// leaves nothing where there is none.
func TestActionInstalls(t *testing.T) {
	r := newStrangerRepository(t)
	for _, program := range []string{"curl", "tar", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	script, err := filepath.Abs("../../ci/conform-action/install")
	if err != nil {
		t.Fatal(err)
	}
	const archive = "conformance_0.1.0_darwin_arm64.tar.gz"
	r.run("", nil, "sh", "-c",
		"mkdir v0.1.0 temp && printf '#!/bin/sh\necho released\n' > conform && chmod +x conform && tar -czf v0.1.0/"+
			archive+" conform && cd v0.1.0 && sha256sum * > SHA256SUMS")
	env := []string{"RUNNER_OS=macOS", "RUNNER_ARCH=ARM64", "RUNNER_TEMP=" + filepath.Join(r.dir, "temp"),
		"CONFORM_RELEASES=file://" + r.dir, "VERSION=v0.1.0"}
	folder, code := r.run("", env, script)
	if out, _ := r.run("", nil, filepath.Join(strings.TrimSpace(folder), "conform")); code != 0 || out != "released\n" {
		t.Errorf("exit %d, %q\n%s", code, out, folder)
	}
	r.run("", nil, "sh", "-c", "rm -r temp/*")
	conform, err := exec.LookPath("conform")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		setting, sentence string
		code              int
	}{
		{"VERSION=", "is no version, so conform is built", 3}, // the folder of this checkout is no tag
		{"VERSION=v9.9.9", "conform-action: v9.9.9 has no SHA256SUMS, so conform is built", 3},
		{"RUNNER_ARCH=X64", "conform-action: v0.1.0 has no conformance_0.1.0_darwin_amd64.tar.gz, so conform is built",
			3},
		{"BINARY=none", "conform-action: none: not a program", 2},
		{"BINARY=" + conform, filepath.Dir(conform), 0},
	} {
		if out, code := r.run("", append(env, c.setting), script); code != c.code ||
			!strings.Contains(out, c.sentence) {
			t.Errorf("%s: exit %d\n%s", c.setting, code, out)
		}
	}
	r.run("", nil, "sh", "-c", "echo more >> v0.1.0/"+archive)
	if out, code := r.run("", env, script); code != 2 ||
		!strings.Contains(out, archive+": its checksum is not that of SHA256SUMS; nothing is run") {
		t.Errorf("a changed archive: exit %d\n%s", code, out)
	}
	if left, _ := r.run("", nil, "ls", "temp"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestActionParts holds that the parts of the workflow are merged into one summary.
func TestActionParts(t *testing.T) {
	r := newStrangerRepository(t)
	script, err := filepath.Abs("../../ci/conform-action/judge")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs struct {
			Merge struct {
				Steps []struct{ Run string }
			}
		}
	}
	readTemplate(t, "../../ci/workflows/conform.yml", &workflow)
	for _, part := range []string{"1", "2"} {
		env := []string{"AGENT=" + strangersAgent,
			"ARGS=--provider=anthropic\n--seed=7\n--filter=thinking-tool-loop || parallel-calls || failing-tool",
			"SHARD=" + part + "/2", "REPORTS=parts/conform-" + part}
		if out, code := r.run("", env, script); code != 0 {
			t.Fatalf("part %s: exit %d\n%s", part, code, out)
		}
	}
	merge := workflow.Jobs.Merge.Steps
	out, code := r.run(merge[len(merge)-1].Run, []string{"GITHUB_STEP_SUMMARY=" + filepath.Join(r.dir, "summary.md")},
		"bash", "-e")
	if code != 0 || !strings.Contains(out, "PASS") {
		t.Errorf("exit %d\n%s", code, out)
	}
	r.exists("summary.md")
}

// TestGitLabScripts runs the scripts of the GitLab template as its runner does.
func TestGitLabScripts(t *testing.T) {
	r := newStrangerRepository(t)
	var template struct {
		Judge   struct{ Script []string } `yaml:"conform"`
		Verdict struct{ Script []string } `yaml:"conform-verdict"`
	}
	readTemplate(t, "../../ci/gitlab/conform.gitlab-ci.yml", &template)
	judge := "mkdir -p reports\n" + strings.Join(template.Judge.Script, "\n")
	for _, part := range []string{"1", "2"} {
		env := []string{"AGENT=" + strangersAgent, "CI_PIPELINE_ID=7", "CI_NODE_INDEX=" + part, "CI_NODE_TOTAL=2",
			"CONFORM_PROVIDER=anthropic",
			"CONFORM_FILTER=anthropic && (thinking-tool-loop || parallel-calls || failing-tool)"}
		if out, code := r.run(judge, env, "bash", "-e"); code != 0 {
			t.Fatalf("part %s: exit %d\n%s", part, code, out)
		}
	}
	r.exists("reports/part-1.json", "reports/part-2.xml")
	if out, code := r.run(strings.Join(template.Verdict.Script, "\n"), nil, "bash", "-e"); code != 0 ||
		!strings.Contains(out, "PASS") {
		t.Errorf("exit %d\n%s", code, out)
	}
	r.exists("reports/conform.md")
}

// TestKubernetesScripts runs the scripts of the Job template, with the folder of the
// repository in the place of the volume.
func TestKubernetesScripts(t *testing.T) {
	r := newStrangerRepository(t)
	data, err := os.ReadFile("../../ci/kubernetes/conform-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "\n---\n")
	for _, index := range []string{"0", "1"} {
		env := []string{"AGENT=" + strangersAgent, "PARTS=2", "SEED=7", "JOB_COMPLETION_INDEX=" + index,
			"CONFORM_PROVIDER=anthropic",
			"CONFORM_FILTER=anthropic && (thinking-tool-loop || parallel-calls || failing-tool)"}
		if out, code := r.run(r.jobScript(documents[0]), env, "sh"); code != 0 {
			t.Fatalf("index %s: exit %d\n%s", index, code, out)
		}
	}
	if out, code := r.run(r.jobScript(documents[1]), []string{"PARTS=2"}, "sh"); code != 0 ||
		!strings.Contains(out, "PASS") {
		t.Errorf("exit %d\n%s", code, out)
	}
	r.exists("verdict.json")
}

// jobScript is the script of a Job's container.
func (r strangerRepository) jobScript(document string) string {
	r.Helper()
	var job struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(document), &job); err != nil {
		r.Fatal(err)
	}
	return strings.ReplaceAll(job.Spec.Template.Spec.Containers[0].Args[0], "/reports/", "")
}

func readTemplate(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
