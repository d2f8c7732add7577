package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/conform"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// served makes this program serve a simulator instead of tests, so that what
// agents cost is not mixed with what their provider costs; or be a server of tools in a
// scene. The programs that users have are in PATH: each is this program
// under another name, so that no test links one.
const served = "MEERKAT_E2E_SERVE"

func TestMain(m *testing.M) {
	switch what := os.Getenv(served); what {
	case "":
		testscript.Main(withDatabase{m}, map[string]func(){
			"conform": func() { cli.Main(conform.Run) }, "recorder": func() { cli.Main(recorder.Run) },
			"rkat": commandLine,
		})
	case "tools":
		toolServer()
	case "canned":
		os.Exit(sendCanned())
	default:
		serve(what)
	}
}

// serve runs until its stdin ends. "stall" leaves every reply open after its
// first words.
func serve(what string) {
	var c simulator.Config
	if what == "stall" {
		c.Scenario = &specs.Scenario{
			Name:    "stall",
			Targets: []specs.Target{{Provider: catalog.Anthropic, Model: "claude-opus-4-6"}},
			Turns: []specs.Turn{{Stall: &specs.After{catalog.Anthropic: 4},
				Emit: []specs.Block{{Kind: specs.KindText, Text: "Some words."}}}},
		}
	}
	server, err := simulator.Open(simulator.ListenConfig{Plain: true}, simulator.New(c))
	if err != nil {
		panic(err)
	}
	fmt.Println(server.URL)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	server.Close()
}

// provider starts another process that serves and returns its address.
func startProvider(b *testing.B, what string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), served+"="+what)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// crowd returns an agent that all share, as one process would.
func crowd(b *testing.B, url string, onEvent func(agent.Event)) *meerkat.Agent {
	b.Helper()
	echo := tool.Tool{
		Def: transcript.ToolDef{Name: "echo",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{Content: string(args)}, nil
		},
	}
	a, err := meerkat.NewAgent().WithAnthropic("test-key").WithModel("claude-opus-4-6").WithBaseURL(url).WithTool(echo).
		WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}).
		WithStore(jsonl.New(b.TempDir(), nil)).WithEvents(onEvent).Build()
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkAgents is what a run costs with so many agents at once in one
// process: two streamed turns with a thought, a tool and its result, all of it
// on disk.
func BenchmarkAgents(b *testing.B) {
	url := startProvider(b, "talk")
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := crowd(b, url, nil)
			began, runs := cpu(), 0
			for b.Loop() {
				allAtOnce(b, n, func() error {
					_, err := a.Run(b.Context(), "Echo the word heron.")
					return err
				})
				runs += n
			}
			b.ReportMetric(float64((cpu()-began).Microseconds())/float64(runs), "cpu-µs/run")
			b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// allAtOnce runs n at once.
func allAtOnce(b *testing.B, n int, run func() error) {
	b.Helper()
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for range n {
		wg.Go(func() {
			if err := run(); err != nil {
				failed.Store(&err)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
}

// cpu is what this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStreamingAgents is the memory of an agent that is in the middle of a
// streamed reply, connection and session file included.
func BenchmarkStreamingAgents(b *testing.B) {
	url := startProvider(b, "stall")
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(held(b, url, n)/1024, "KB/agent")
			}
		})
	}
}

// held is the memory of each of n agents while they wait, in bytes.
func held(b *testing.B, url string, n int) float64 {
	b.Helper()
	speaking := make(chan struct{}, n)
	a := crowd(b, url, func(e agent.Event) {
		if e.Type == agent.TextDelta {
			speaking <- struct{}{}
		}
	})
	before := memory()
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { _, _ = a.Run(ctx, "Say some words.") })
	}
	for range n {
		<-speaking
	}
	after := memory()
	cancel()
	wg.Wait()
	return float64(after-before) / float64(n)
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
