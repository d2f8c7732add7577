// Package lint checks the templates that engines read, with the engines' own types. It
// is a module of its own, so that nothing of theirs is linked into ours.
package lint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// TestKubernetesJobs holds that each document of each template is a Job without a field
// that Kubernetes does not know, and that parts and their count agree.
func TestKubernetesJobs(t *testing.T) {
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no templates", err)
	}
	for _, file := range files {
		for _, job := range readJobs(t, file) {
			checkJob(t, file, job)
		}
	}
}

func readJobs(t *testing.T, file string) (jobs []batchv1.Job) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer func() { _ = documents.Close() }()
	for {
		document := make([]byte, len(data))
		n, err := documents.Read(document)
		if errors.Is(err, io.EOF) {
			return jobs
		}
		if err != nil {
			t.Fatal(err)
		}
		var job batchv1.Job
		if err := strict.UnmarshalStrict(document[:n], &job); err != nil {
			t.Fatalf("%s: document %d: %v", file, len(jobs), err)
		}
		jobs = append(jobs, job)
	}
}

func checkJob(t *testing.T, file string, job batchv1.Job) {
	t.Helper()
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Name == "" {
		t.Errorf("%s: %s %s %q", file, job.APIVersion, job.Kind, job.Name)
	}
	mode := job.Spec.CompletionMode
	if mode == nil || *mode != batchv1.IndexedCompletion {
		return
	}
	for _, env := range job.Spec.Template.Spec.Containers[0].Env {
		if env.Name == "PARTS" && (job.Spec.Completions == nil ||
			env.Value != strconv.Itoa(int(*job.Spec.Completions))) {
			t.Errorf("%s: %s: %s parts, %v completions", file, job.Name, env.Value, job.Spec.Completions)
		}
	}
}
