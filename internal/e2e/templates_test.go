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
	dir, bin string
}

func newStrangerRepository(t *testing.T) strangerRepository {
	t.Helper()
	if testing.Short() {
		t.Skip("builds two programs")
	}
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	r := strangerRepository{t, t.TempDir(), t.TempDir()}
	r.run("", nil, "git", "init", "-q", ".")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", r.bin, "../../cmd/conform", "../../cmd/rkat")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// strangersAgent is the command line of an agent without a profile.
const strangersAgent = "rkat run {prompt} --model claude-opus-4-5 --conform-tools"

// run runs a program in the repository and returns its output and exit code.
func (r strangerRepository) run(stdin string, env []string, name string, args ...string) (string, int) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), name, args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append([]string{"PATH=" + r.bin + ":" + os.Getenv("PATH"), "HOME=" + r.dir}, env...)
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
		"AGENT=" + strangersAgent, "ARGS=--provider=anthropic\n--filter=thinking-tool-loop || parallel-calls\n", "REQUIRE=ORD-001",
		"CONFORM_BINARY=" + filepath.Join(r.bin, "conform"), "REPORTS=reports", "GITHUB_STEP_SUMMARY=" + summary,
	}
	if out, code := r.run("", env, script); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	r.exists("reports/conform.json", "reports/conform.xml", "reports/conform.html", "summary.md")
	// Without a binary it builds one from its own sources, and leaves nothing in the repository.
	env[3] = "RUNNER_TEMP=" + t.TempDir()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		path, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(path)))
	}
	if out, code := r.run("", env, script); code != 0 || !strings.Contains(out, "PASS") {
		t.Errorf("without a binary: exit %d\n%s", code, out)
	}
	if status, _ := r.run("", nil, "git", "status", "--porcelain"); strings.Contains(status, "conform\n") {
		t.Errorf("the repository holds\n%s", status)
	}
	env[2] = "REQUIRE=RES-001" // no case of these shows a resume
	if out, code := r.run("", env, script); code != 1 || !strings.Contains(out, "::error") {
		t.Errorf("exit %d\n%s", code, out)
	}
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
		env := []string{"AGENT=" + strangersAgent, "CI_PIPELINE_ID=7", "CI_NODE_INDEX=" + part, "CI_NODE_TOTAL=2", "CONFORM_PROVIDER=anthropic", "CONFORM_FILTER=anthropic && (thinking-tool-loop || parallel-calls || failing-tool)"}
		if out, code := r.run(judge, env, "bash", "-e"); code != 0 {
			t.Fatalf("part %s: exit %d\n%s", part, code, out)
		}
	}
	r.exists("reports/part-1.json", "reports/part-2.xml")
	if out, code := r.run(strings.Join(template.Verdict.Script, "\n"), nil, "bash", "-e"); code != 0 || !strings.Contains(out, "PASS") {
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
		env := []string{"AGENT=" + strangersAgent, "PARTS=2", "SEED=7", "JOB_COMPLETION_INDEX=" + index, "CONFORM_PROVIDER=anthropic", "CONFORM_FILTER=anthropic && (thinking-tool-loop || parallel-calls || failing-tool)"}
		if out, code := r.run(r.jobScript(documents[0]), env, "sh"); code != 0 {
			t.Fatalf("index %s: exit %d\n%s", index, code, out)
		}
	}
	if out, code := r.run(r.jobScript(documents[1]), []string{"PARTS=2"}, "sh"); code != 0 || !strings.Contains(out, "PASS") {
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
