package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// benchClients is how many clients ask at once, each for one run after the other.
const benchClients = 16

// BenchmarkReplicas measures runs of new sessions, from the request to the answer: one
// process on SQLite, and one to three on PostgreSQL, which does not sync its files. The
// scripted provider answers each run in its replica.
func BenchmarkReplicas(b *testing.B) {
	b.Run("sqlite/1", func(b *testing.B) { benchReplicas(b, 1, "RKAT_DATABASE_URL=") })
	for n := 1; n <= 3; n++ {
		b.Run(fmt.Sprintf("postgres/%d", n),
			func(b *testing.B) { benchReplicas(b, n, "RKAT_DATABASE_URL="+replicaDatabase.Database(b)) })
	}
}

func benchReplicas(b *testing.B, n int, where string) {
	b.Helper()
	var addresses []string
	for range n {
		addresses = append(addresses, startBenchReplica(b, where))
	}
	var mu sync.Mutex
	var took []time.Duration
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range benchClients {
		wg.Go(func() {
			for i := range jobs {
				begun := time.Now()
				if err := postRun(b.Context(), addresses[i%n]); err != nil {
					b.Error(err)
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
}

// startBenchReplica starts rkat serve with the scripted provider and returns its address.
func startBenchReplica(b *testing.B, where string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "rkat", "serve", "--demo", "--listen", "127.0.0.1:0", "--max-runs", "64",
		"--store", "sqlite")
	cmd.Env = []string{"HOME=" + b.TempDir(), "RKAT_SERVER_TOKEN=" + replicaToken, where}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// postRun starts a session and waits for its answer.
func postRun(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/sessions",
		bytes.NewReader([]byte(`{"prompt":"Hello."}`)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+replicaToken)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "wait=60")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"status":"completed"`))) {
		err = fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	return err
}
