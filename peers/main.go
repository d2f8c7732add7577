// Command peers runs the recorder beside other recorders, each in a process of
// its own, against one upstream, in turns within one run, and prints tables of
// what each costs. It is a module of its own, so that users of the main module do not
// download the peers.
//
// With -tables agents it runs the agent beside other agents instead, on one scripted
// conversation that the simulator holds with each of them.
//
// The upstream, the clients and the subject share the machine: read the ratios.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are the flags of a run.
type options struct {
	recorder string
	rkat     string
	tools    string
	only     string
	rounds   int
	tables   string
	serve    string
	upstream string
	data     string
}

func run(ctx context.Context, args []string) error {
	var o options
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	set.StringVar(&o.recorder, "recorder", "", "the recorder's `binary`")
	set.StringVar(&o.rkat, "rkat", "", "the agent's `binary`, for -tables agents")
	set.StringVar(&o.tools, "tools", "",
		"the `folder` with the node_modules of the peers from npm; without it they are left out")
	set.StringVar(&o.only, "only", "", "comma-separated `names` of the subjects to run")
	set.StringVar(&o.tables, "tables", "streams,short,long,replay", "comma-separated tables to make; or agents, alone")
	set.IntVar(&o.rounds, "rounds", 3, "how often each figure is taken; the median is shown")
	set.StringVar(&o.serve, "serve", "", "internal: be this subject")
	set.StringVar(&o.upstream, "upstream", "", "internal: with -serve")
	set.StringVar(&o.data, "data", "", "internal: with -serve")
	if err := set.Parse(args); err != nil {
		return err
	}
	if o.serve != "" {
		return serve(ctx, o)
	}
	if o.tables == "agents" {
		return runAgents(ctx, o)
	}
	if o.recorder == "" {
		return errors.New("-recorder: missing; name the binary (make bench-peers does)")
	}
	work, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := o.resolve(); err != nil {
		return err
	}
	return bench(ctx, o, work)
}

// resolve makes the paths independent of the working folder.
func (o *options) resolve() (err error) {
	for _, path := range []*string{&o.recorder, &o.rkat, &o.tools} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	}
	return nil
}

// runAgents makes the tables of agents.
func runAgents(ctx context.Context, o options) error {
	if alone, err := offline(); err != nil || !alone {
		return err
	}
	work, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := o.resolve(); err != nil {
		return err
	}
	return agentsTables(ctx, o, work)
}

// bench makes the tables asked for.
func bench(ctx context.Context, o options, work string) error {
	up := startUpstream()
	defer up.close()
	recorders := chosen(o, recorders(o, up, work))
	for table := range strings.SplitSeq(o.tables, ",") {
		var err error
		switch table {
		case "streams":
			err = streamsTable(ctx, o, recorders)
		case "short":
			err = shortTable(ctx, o, recorders)
		case "long":
			err = longTable(ctx, o, recorders)
		case "replay":
			err = replayTable(ctx, o, work)
		default:
			err = fmt.Errorf("-tables %s: unknown; use streams, short, long, replay", table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func chosen(o options, all []subject) (some []subject) {
	for _, s := range all {
		if o.only == "" || strings.Contains(","+o.only+",", ","+s.name+",") {
			some = append(some, s)
		}
	}
	return some
}
