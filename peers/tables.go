package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// row prints one line of a Markdown table.
func row(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }

func head(title string, cells ...string) {
	fmt.Printf("\n### %s\n\n", title)
	row(cells...)
	fmt.Println("|" + strings.Repeat("---|", len(cells)))
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// taken are the figures of one subject, by column, one for each round.
type taken struct {
	figures map[string][]float64
	trouble string
}

// inTurns measures every subject once a round, so that the machine's moods fall
// on all of them.
func inTurns(ctx context.Context, rounds int, subjects []subject,
	measure func(*running, *taken)) (map[string]*taken, error) {
	all := map[string]*taken{}
	for round := range rounds {
		for _, s := range subjects {
			t := all[s.name]
			if t == nil {
				t = &taken{figures: map[string][]float64{}}
				all[s.name] = t
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			progress("round %d: %s", round+1, s.name)
			r, err := s.start(ctx)
			if err != nil {
				t.trouble = err.Error()
				progress("  %v", err)
				continue
			}
			measure(r, t)
			r.stop()
		}
	}
	return all, nil
}

func (t *taken) add(column string, value float64) {
	t.figures[column] = append(t.figures[column], value)
}

// addCPU adds the processor time of a request in microseconds, where the system tells.
func (t *taken) addCPU(column string, used time.Duration, requests float64) {
	if used > 0 {
		t.add(column, float64(used.Microseconds())/requests)
	}
}

// show is a column's median, or a dash.
func (t *taken) show(format, column string) string {
	if len(t.figures[column]) == 0 {
		return "–"
	}
	return fmt.Sprintf(format, median(t.figures[column]))
}

// ratio is a column's median over that of another subject, or a dash.
func (t *taken) ratio(to *taken, column string) string {
	if to == nil || len(t.figures[column]) == 0 || len(to.figures[column]) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", median(t.figures[column])/median(to.figures[column]))
}

var atOnce = []int{1, 32, 300}

// streamsTable: 40 events in a second, so the first byte is due at once and the
// whole takes one second. Each number of streams runs twice: on new connections,
// of which the time to the end is shown, and on those again, for all else.
func streamsTable(ctx context.Context, o options, subjects []subject) error {
	all, err := inTurns(ctx, o.rounds, subjects, func(r *running, t *taken) {
		r.streams(ctx, 2, 2, time.Millisecond) // connections, certificates, compilers
		for _, at := range atOnce {
			limited, cancel := context.WithTimeout(ctx, 90*time.Second)
			r.client.CloseIdleConnections()
			t.add(fmt.Sprint("cold-", at), r.streams(limited, at, 40, 25*time.Millisecond).wall)
			h := r.streams(limited, at, 40, 25*time.Millisecond)
			cancel()
			if h.failed > 0 {
				t.trouble = fmt.Sprintf("%d of %d streams failed: %v", h.failed, at, h.cause)
				progress("  %s", t.trouble)
				continue
			}
			t.add(fmt.Sprint("first50-", at), quantile(h.first, 0.5))
			t.add(fmt.Sprint("first99-", at), quantile(h.first, 0.99))
			t.add(fmt.Sprint("delay50-", at), quantile(h.delays, 0.5))
			t.add(fmt.Sprint("delay99-", at), quantile(h.delays, 0.99))
			t.add(fmt.Sprint("wall-", at), h.wall)
		}
	})
	if err != nil {
		return err
	}
	head("One-second streams of 40 events while recording", "", "streams", "first byte p50 / p99, ms",
		"delay of an event p50 / p99, µs", "added to direct p50, µs", "all ended after, s", "× direct",
		"on new connections, s", "× direct")
	for _, s := range subjects {
		t, direct := all[s.name], all[subjects[0].name]
		for _, at := range atOnce {
			delay, wall, cold := fmt.Sprint("delay50-", at), fmt.Sprint("wall-", at), fmt.Sprint("cold-", at)
			added := "–"
			if len(t.figures[delay]) > 0 && len(direct.figures[delay]) > 0 {
				added = fmt.Sprintf("%.0f", median(t.figures[delay])-median(direct.figures[delay]))
			}
			row(s.name, fmt.Sprint(at),
				t.show("%.1f", fmt.Sprint("first50-", at))+" / "+t.show("%.1f", fmt.Sprint("first99-", at)),
				t.show("%.0f", delay)+" / "+t.show("%.0f", fmt.Sprint("delay99-", at)), added,
				t.show("%.2f", wall), t.ratio(direct, wall), t.show("%.2f", cold), t.ratio(direct, cold))
		}
	}
	notes(subjects, all)
	return nil
}

// notes says below a table what its names mean and what went wrong.
func notes(subjects []subject, all map[string]*taken) {
	fmt.Println()
	for _, s := range subjects {
		line := s.name + ": " + s.note
		if t := all[s.name]; t != nil && t.trouble != "" {
			line += " (" + t.trouble + ")"
		}
		fmt.Println("- " + line)
	}
}

// shortTable: requests that are answered before they are read, 4 KB each way.
func shortTable(ctx context.Context, o options, subjects []subject) error {
	clients := []int{1, 32, 256}
	all, err := inTurns(ctx, o.rounds, subjects, func(r *running, t *taken) {
		_, _, _, _ = r.rate(ctx, 2, 300*time.Millisecond, 0, short) // connections, certificates, compilers
		for _, at := range clients {
			used, began := r.cpu(), time.Now()
			perSecond, _, failed, cause := r.rate(ctx, at, 2*time.Second, 0, short)
			t.add(fmt.Sprint("rate-", at), perSecond)
			t.addCPU(fmt.Sprint("cpu-", at), r.cpu()-used, perSecond*time.Since(began).Seconds())
			t.add("failed", float64(failed))
			if failed > 0 {
				t.trouble = fmt.Sprintf("%d requests failed with %d clients, for example: %v", failed, at, cause)
			}
		}
	})
	if err != nil {
		return err
	}
	head("Short replies while recording", "", "1 client, req/s", "32", "256", "× goproxy at 32", "× goproxy-write",
		"CPU of it at 32, µs a request", "× goproxy", "failed in a round")
	for _, s := range subjects {
		t := all[s.name]
		row(s.name, t.show("%.0f", "rate-1"), t.show("%.0f", "rate-32"), t.show("%.0f", "rate-256"),
			t.ratio(all["goproxy"], "rate-32"), t.ratio(all["goproxy-write"], "rate-32"),
			t.show("%.0f", "cpu-32"), t.ratio(all["goproxy"], "cpu-32"), t.show("%.0f", "failed"))
	}
	notes(subjects, all)
	return nil
}

const longSize = 64 << 20

// longTable: one stream of 64 MiB, and the most memory the process held.
func longTable(ctx context.Context, o options, subjects []subject) error {
	all, err := inTurns(ctx, o.rounds, subjects, func(r *running, t *taken) {
		r.streams(ctx, 1, 2, time.Millisecond)
		t.add("before", r.peakMiB())
		limited, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		speed, err := r.megabytes(limited, longSize)
		if err != nil {
			t.trouble = err.Error()
			return
		}
		t.add("speed", speed)
		t.add("peak", r.peakMiB())
	})
	if err != nil {
		return err
	}
	head("One stream of 64 MiB while recording", "", "MB/s", "× goproxy", "peak memory at its end, MiB",
		"above its start")
	for _, s := range subjects {
		t := all[s.name]
		grown := "–"
		if len(t.figures["peak"]) > 0 {
			grown = fmt.Sprintf("%.0f", median(t.figures["peak"])-median(t.figures["before"]))
		}
		row(s.name, t.show("%.0f", "speed"), t.ratio(all["goproxy"], "speed"), t.show("%.0f", "peak"), grown)
	}
	notes(subjects, all)
	return nil
}
