package recorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
)

// eventRow is one event as inspect -i --json prints it.
type eventRow struct {
	Index  int     `json:"index"`
	Micros int64   `json:"at_us"` // since the response header, when the event was whole
	Byte   int     `json:"byte"`
	Size   int     `json:"size"`
	Name   string  `json:"name"`
	Cut    bool    `json:"cut,omitempty"`
	Last   bool    `json:"terminal,omitempty"`
	Stall  float64 `json:"stall_seconds,omitempty"` // how long nothing came before it
	Data   any     `json:"data"`                    // JSON, or a string of what is none
}

func (a *app) inspectOne(t *selection, x inspection) error {
	in := t.List[0]
	events := event.Of(in)
	stalls := stallsOf(events)
	if x.json {
		return a.WriteJSON(map[string]any{"schema": "recorder.interaction.v1", "path": t.file,
			"interaction": rowOf(t.first, in),
			"asks":        event.Summarise(in.Request), "request_headers": in.Request.Header,
			"response_headers": in.Response.Header,
			"trailers":         in.Response.Trailer, "events": eventRows(events, stalls)})
	}
	w := a.Stdout
	printExchange(w, t, in, events)
	if x.unfold {
		return printEvents(w, events, stalls)
	}
	return printFolded(w, events, stalls)
}

func eventRows(events []event.Event, stalls map[int]time.Duration) []eventRow {
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = eventRow{e.Index, e.At.Microseconds(), e.Start, e.End - e.Start, e.Name, !e.Whole, e.Last,
			stalls[i].Seconds(), string(e.Data)}
		if json.Valid(e.Data) {
			rows[i].Data = json.RawMessage(e.Data)
		}
	}
	return rows
}

// A gap between two events is a stall when it is at least stallLeast, and at least stallTimes the
// median gap of the reply.
const (
	stallLeast = time.Second
	stallTimes = 5
)

// stallsOf maps the indexes of events to the stalls before them.
func stallsOf(events []event.Event) map[int]time.Duration {
	var gaps []time.Duration
	for i, e := range events {
		if i > 0 {
			gaps = append(gaps, e.At-events[i-1].At)
		}
	}
	stalls := map[int]time.Duration{}
	if len(gaps) == 0 {
		return stalls
	}
	median := slices.Sorted(slices.Values(gaps))[len(gaps)/2]
	for i, gap := range gaps {
		if gap >= stallLeast && gap >= stallTimes*median {
			stalls[i+1] = gap
		}
	}
	return stalls
}

// printExchange prints what was asked and what came back.
func printExchange(w io.Writer, t *selection, in cassette.Interaction, events []event.Event) {
	asks := event.Summarise(in.Request)
	said := []string{strings.TrimSpace(event.Provider(in.Request) + " " + string(event.Operation(in.Request)))}
	if asks.Model != "" {
		said = append(said, asks.Model)
	}
	said = append(said, cli.Count(asks.Messages, "message", "messages"))
	if len(asks.Tools) > 0 {
		said = append(said, cli.Count(len(asks.Tools), "tool", "tools")+" ("+strings.Join(asks.Tools, ", ")+")")
	}
	if asks.MaxTokens > 0 {
		said = append(said, fmt.Sprintf("at most %d tokens", asks.MaxTokens))
	}
	fmt.Fprintf(w, "%s#%d: %s\n", terminal.Line(t.file), t.first, terminal.Line(in.Request.Method+" "+in.Request.URL))
	fmt.Fprintf(w, "asked     %s, %d bytes, %s\n", terminal.Line(strings.Join(said, ", ")), len(in.Request.Body),
		terminal.Line(cmp.Or(in.Request.Proto, "protocol unknown")))
	printHeaders(w, in.Request.Header)
	fmt.Fprintf(w, "answered  %d, %s, %d bytes in %s, %s, %s; %s\n", in.Response.Status,
		terminal.Line(cmp.Or(in.Response.Proto, "protocol unknown")),
		len(in.Response.Body), cli.Count(len(in.Timeline), "chunk", "chunks"),
		cli.Count(len(events), "event", "events"),
		terminal.Line(cmp.Or(endingText(string(in.End), cmp.Or(in.Incomplete, cassette.Judge(in))), "end unknown")),
		replyPace(in, events)+nominalNote(t))
	printHeaders(w, in.Response.Header)
	printHeaders(w, in.Response.Trailer)
}

// replyPace says how fast a reply came.
func replyPace(in cassette.Interaction, events []event.Event) string {
	if len(in.Timeline) == 0 || len(events) == 0 {
		return fmt.Sprintf("%v in all", roundSeconds(in.Duration.Seconds()))
	}
	return fmt.Sprintf("first event %v after the header, last %v, %v in all", roundTime(events[0].At),
		roundTime(events[len(events)-1].At), roundSeconds(in.Duration.Seconds()))
}

// nominalNote marks times that are assigned and not measured.
func nominalNote(t *selection) string {
	if t.Meta().Nominal() {
		return " (nominal times)"
	}
	return ""
}

func printHeaders(w io.Writer, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fmt.Fprintf(w, "          %s: %s\n", Abbreviate(name), Abbreviate(value))
		}
	}
}

// printEvents prints a line for each event.
func printEvents(w io.Writer, events []event.Event, stalls map[int]time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tAT\tBYTE\tSIZE\tEVENT\tDATA")
	for i, e := range events {
		fmt.Fprintf(t, "%d\t%v\t%d\t%d\t%s%s\t%s\n", e.Index, roundTime(e.At), e.Start, e.End-e.Start,
			Abbreviate(e.Name), eventMarks(e, stalls[i]), Abbreviate(string(e.Data)))
	}
	return t.Flush()
}

// printFolded prints a line for each thing that was said.
func printFolded(w io.Writer, events []event.Event, stalls map[int]time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tAT\tBYTE\tSIZE\tEVENT\tSAYS")
	for _, item := range event.Fold(events, event.NewNames()) {
		number, stall := fmt.Sprint(item.First), time.Duration(0)
		for i := item.First; i <= item.Last; i++ {
			stall = max(stall, stalls[i])
		}
		if item.Last > item.First {
			number = fmt.Sprintf("%d–%d", item.First, item.Last)
		}
		fmt.Fprintf(t, "%s\t%v\t%d\t%d\t%s%s\t%s\n", number, roundTime(item.At), events[item.First].Start, item.Bytes,
			Abbreviate(strings.TrimSpace(item.Token()+" "+item.Place)), eventMarks(events[item.Last], stall),
			itemText(item))
	}
	return t.Flush()
}

// eventMarks says where an event came after a stall, is cut, or is the last.
func eventMarks(e event.Event, stall time.Duration) (text string) {
	if stall > 0 {
		text += fmt.Sprintf(" [stalled %v]", stall.Round(10*time.Millisecond))
	}
	if !e.Whole {
		text += " [cut]"
	}
	if e.Last {
		text += " [end]"
	}
	return text
}

// itemText returns what an item says in one line: its text and its values, except counts of tokens
// and empty values.
func itemText(item event.Item) string {
	var parts []string
	if item.Pieces {
		text := item.Text
		if item.Class != event.Opaque {
			text = `"` + Abbreviate(text) + `"`
		}
		parts = append(parts, text)
	}
	for _, f := range item.Fields {
		if f.Class == event.Usage || isEmptyValue(f.Value) || len(parts) > 12 {
			continue
		}
		parts = append(parts, Abbreviate(lastName(f.Path))+" "+Abbreviate(f.Value))
	}
	return strings.Join(parts, ", ")
}

// isEmptyValue reports whether a value says nothing.
func isEmptyValue(value string) bool {
	return slices.Contains([]string{"null", `""`, "[]", "{}", "false"}, value)
}

// lastName returns the last name of a path, with its index.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// maxShown is how many characters of a text a table shows; --json and --body show all.
const maxShown = 120

// Abbreviate returns the beginning of a text on one line, without control characters.
func Abbreviate(text string) string { return abbreviateTo(maxShown, text) }

func abbreviateTo(most int, text string) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return terminal.Line(text[:i]) + "…"
		}
	}
	return terminal.Line(text)
}

// roundTime rounds a time for output.
func roundTime(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
