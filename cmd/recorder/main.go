// Recorder records and replays what an agent and its provider say to each other.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// gcPercent lets the heap grow to five times what lives in it before it is
// collected: a proxy keeps little alive and makes much garbage, and the collector
// takes its time from the agent that is being recorded.
const gcPercent = 400

// memoryLimit is the memory from which that is too generous: while a huge body is
// saved, garbage is collected before more is taken from the system.
const memoryLimit = 192 << 20

// savers is how many more goroutines may run than there are processors. The one that saves
// replies counts as running while the system lets its thread wait for those of the clients.
const savers = 1

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + savers)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	cli.Main(recorder.Run)
}
