package rkat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := cli.Group("sessions", "List, show, fork, export and delete sessions", "")
	cmd.Example = "  rkat sessions list\n  rkat sessions show 01a1feeb"
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.forkCommand(), a.exportCommand(), a.deleteCommand())
	return cmd
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	var f listFilter
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, last updated first",
		Example: "  rkat sessions list --updated-after 36h\n  rkat sessions list --json | jq -r '.sessions[].id'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.parseFilter(time.Now())
			if err != nil {
				return err
			}
			return a.withStore(cmd, func(ctx context.Context, store session.Store) error {
				return a.listSessions(ctx, store, filter, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	cli.AddJSONFlag(cmd, &asJSON)
	flags.IntVarP(&f.limit, "limit", "l", 0, "list the first `N` (default all)")
	flags.IntVar(&f.offset, "offset", 0, "leave out the first `N`")
	flags.StringVar(
		&f.created, "created-after", "", "a `time`: 2026-01-02, 2026-01-02T15:04:05Z, or 36h for that long ago",
	)
	flags.StringVar(&f.updated, "updated-after", "", "a `time`, as for --created-after")
	return cmd
}

// listFilter are the flags of sessions list.
type listFilter struct {
	limit, offset    int
	created, updated string
}

func (f *listFilter) parseFilter(now time.Time) (out session.Filter, err error) {
	if f.limit < 0 || f.offset < 0 {
		return out, cli.Usage("--limit, --offset: they cannot be negative")
	}
	out = session.Filter{Limit: f.limit, Offset: f.offset}
	if out.CreatedAfter, err = parseTime("--created-after", f.created, now); err != nil {
		return out, err
	}
	out.UpdatedAfter, err = parseTime("--updated-after", f.updated, now)
	return out, err
}

// parseTime reads a day, a time or how long ago it is.
func parseTime(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(s); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usage("%s %s: not a time; write 2026-01-02, 2026-01-02T15:04:05Z or 36h", flag, s)
}

// listed is a session in the JSON of sessions list.
type listed struct {
	session.Header
	Updated  time.Time         `json:"updated_at"`
	Messages int               `json:"message_count"`
	Calls    int               `json:"call_count"` // of the model
	Usage    transcript.Usage  `json:"usage"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Problem  string            `json:"problem,omitempty"`

	level int // how far it is indented below its parent
}

// placeUnderParents returns the sessions with those of sub-agents right behind the one
// that started them. One whose parent is not listed stays where it is.
func placeUnderParents(all []listed) []listed {
	children, byID := map[session.ID][]listed{}, map[session.ID]bool{}
	for _, s := range all {
		byID[s.ID] = true
	}
	hasParent := func(s listed) bool { return s.Parent != nil && byID[s.Parent.ID] }
	for _, s := range all {
		if hasParent(s) {
			children[s.Parent.ID] = append(children[s.Parent.ID], s)
		}
	}
	sorted, placed := make([]listed, 0, len(all)), map[session.ID]bool{}
	var place func(s listed, level int)
	place = func(s listed, level int) {
		if placed[s.ID] {
			return
		}
		s.level, placed[s.ID] = level, true
		sorted = append(sorted, s)
		for _, c := range children[s.ID] {
			place(c, level+1)
		}
	}
	for _, s := range all {
		if !hasParent(s) {
			place(s, 0)
		}
	}
	for _, s := range all { // damaged headers may name one another
		place(s, 0)
	}
	return sorted
}

// listSessions reads each session that it lists: counts and usage are sums over the
// records, and a damaged record is found nowhere else.
func (a *app) listSessions(ctx context.Context, store session.Store, filter session.Filter, asJSON bool) error {
	infos, err := store.List(ctx, filter)
	if err != nil {
		return err
	}
	all := make([]listed, len(infos))
	for i, info := range infos {
		if all[i] = readListed(ctx, store, info); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if asJSON {
		return a.writeLine(map[string]any{"sessions": all})
	}
	all = placeUnderParents(all)
	return printTable(a.Stdout, "ID\tUPDATED\tMESSAGES\tTOKENS\tMETADATA\tMODEL", all, func(s listed) []string {
		about := s.Model
		if s.Problem != "" {
			about = "unreadable: " + s.Problem
		}
		return []string{strings.Repeat("  ", s.level) + string(s.ID), s.Updated.Format(time.DateTime),
			strconv.Itoa(s.Messages), strconv.FormatUint(s.Usage.Total(), 10),
			strings.Join(metadataPairs(s.Metadata), ", "), about}
	})
}

func readListed(ctx context.Context, store session.Store, info session.Info) listed {
	out := listed{Header: info.Header, Updated: info.Updated}
	problem := info.Problem
	if problem == nil {
		var s session.Session
		s, problem = store.Load(ctx, info.ID)
		out.Messages, out.Calls, out.Usage, out.Metadata = len(s.Messages), len(s.Calls), s.Usage, s.Metadata
	}
	if problem != nil {
		out.Problem = problem.Error()
	}
	return out
}

// metadataPairs returns what is noted about a session as NAME=VALUE, sorted.
func metadataPairs(metadata map[string]string) []string {
	pairs := make([]string, 0, len(metadata))
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		pairs = append(pairs, name+"="+metadata[name])
	}
	return pairs
}

// printTable prints a table: its head with tabs between the columns, and the cells of
// each row, which hold texts of others.
func printTable[T any](w io.Writer, head string, rows []T, cells func(T) []string) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, head)
	for _, r := range rows {
		row := cells(r)
		for i := range row {
			row[i] = terminal.Line(row[i])
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

func (a *app) showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a session",
		Example: "  rkat sessions show 01a1feeb\n  rkat sessions show 01a1feeb --json | jq .usage",
		Args:    cli.Args(1, 1, "a session id"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd, args[0], func(ctx context.Context, store session.Store, id session.ID) error {
				return a.showSession(ctx, store, id, asJSON)
			})
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// shownSession is the JSON of sessions show.
type shownSession struct {
	session.Header
	Updated    time.Time             `json:"updated_at"`
	Effort     string                `json:"effort,omitempty"`
	System     string                `json:"system"`
	Tools      []json.RawMessage     `json:"tools"`
	PrefixHash string                `json:"prefix_hash,omitempty"`
	Usage      transcript.Usage      `json:"usage"`
	Budget     *session.Limits       `json:"budget,omitempty"`
	Metadata   map[string]string     `json:"metadata,omitempty"`
	Calls      []session.Call        `json:"calls"`
	Marks      []session.Annotation  `json:"marks"`
	Checkpoint session.Reason        `json:"checkpoint"`
	Runs       []session.Run         `json:"runs"`
	Tasks      []session.RunEnd      `json:"tasks"`
	Failures   []session.ErrorRecord `json:"failures"`
	// Open lists the tool calls without a result; they may or may not have run.
	Open        []transcript.CallRecord `json:"open_calls"`
	Compactions []session.Compaction    `json:"compactions"`
	// Operations are the sub-agents that it has started, in order.
	Operations []shownOperation  `json:"operations,omitempty"`
	Messages   []json.RawMessage `json:"messages"`
}

func (a *app) showSession(ctx context.Context, store session.Store, id session.ID, asJSON bool) error {
	s, err := store.Load(ctx, id)
	if err != nil {
		return err
	}
	if !asJSON {
		return errors.Join(printSession(a.Stdout, &s), printOperations(ctx, a.Stdout, store, &s, 0))
	}
	out, err := newShownSession(&s)
	if err != nil {
		return err
	}
	return a.writeLine(out)
}

func newShownSession(s *session.Session) (out shownSession, err error) {
	out = shownSession{Header: s.Header, Updated: s.Updated, Usage: s.Usage, Checkpoint: s.Checkpoint,
		Metadata: s.Metadata,
		Calls:    append([]session.Call{}, s.Calls...), Marks: append([]session.Annotation{}, s.Annotations...),
		Runs: append([]session.Run{}, s.Runs...), Tasks: append([]session.RunEnd{}, s.RunEnds...),
		Failures:    append([]session.ErrorRecord{}, s.Errors...),
		Compactions: append([]session.Compaction{}, s.Compactions...),
		Open:        append([]transcript.CallRecord{}, s.Ledger.Open()...),
		Tools:       []json.RawMessage{}, Messages: make([]json.RawMessage, len(s.Messages))}
	for i := range s.Messages {
		if out.Messages[i], err = s.Messages[i].AppendJSON(nil); err != nil {
			return out, err
		}
	}
	out.Operations = shownOperations(s)
	if s.Budget != nil {
		out.Budget = &s.Budget.Limits
	}
	if s.Prefix == nil {
		return out, nil
	}
	out.Effort, out.System, out.PrefixHash = s.Prefix.Effort, s.Prefix.System, s.Prefix.Hash
	for i := range s.Prefix.Tools {
		line, err := s.Prefix.Tools[i].AppendJSON(nil)
		if err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, line)
	}
	return out, nil
}

func printSession(w io.Writer, s *session.Session) error {
	fmt.Fprintf(
		w, "session %s\nmodel %s, %s, %s\n", s.ID, terminal.Line(modelOf(s)), countOf(len(s.Calls), "model call"),
		countOf(s.Usage.Total(), "token"),
	)
	if p := s.Parent; p != nil {
		fmt.Fprintf(w, "sub-agent %sof session %s\n", terminal.Line(spaceBehind(p.Label)), p.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metadata)) {
		fmt.Fprintf(w, "%s: %s\n", terminal.Line(name), terminal.Line(s.Metadata[name]))
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		for _, line := range describeMessage(m) {
			if _, err := fmt.Fprintf(w, "\n[%s] %s\n", m.Role, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// modelOf returns the model that answers now; the session may have begun with
// another.
func modelOf(s *session.Session) string {
	if s.Prefix != nil {
		return s.Prefix.Model
	}
	return s.Model
}

// describeMessage describes a message for people, one string a block.
func describeMessage(m *transcript.Message) (out []string) {
	switch m.Role {
	case transcript.RoleAssistant:
		for i := range m.Blocks {
			out = append(out, describeBlock(&m.Blocks[i]))
		}
		if m.StopReason == transcript.StopAborted {
			out = append(out, "(interrupted)")
		}
		return out
	case transcript.RoleToolResults:
		for _, r := range m.Results {
			state := "ok"
			if r.IsError {
				state = "error"
			}
			out = append(out, fmt.Sprintf("%s (%s): %s", r.ToolUseID, state, r.Content))
		}
		return out
	default: // the user and the system only have text
		return []string{m.Content}
	}
}

func describeBlock(b *transcript.Block) string {
	switch b.Type {
	case transcript.BlockText:
		return b.Text
	case transcript.BlockReasoning:
		return strings.TrimSpace("(thinking) " + b.Text)
	case transcript.BlockToolUse:
		return fmt.Sprintf("%s calls %s %s", b.ID, b.Name, b.Args)
	default: // opaque: what it holds is the provider's
		return fmt.Sprintf("(%s)", b.Kind)
	}
}

func (a *app) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a session for good",
		Example: "  rkat sessions delete 01a1feeb",
		Args:    cli.Args(1, 1, "a session id"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd, args[0], func(ctx context.Context, store session.Store, id session.ID) error {
				return session.WrapStorage(store.Delete(ctx, id))
			})
		},
	}
}
