package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

const defaultServeAddress = "127.0.0.1:0"

func (a *app) serveCommand() *cobra.Command {
	address, asJSON := defaultServeAddress, false
	cmd := &cobra.Command{
		Use:   "serve REPORT|RECORDING...",
		Short: "Show reports in a browser on this machine",
		Long: `Show reports in a browser on this machine until interrupted: what --report html,
inspector or json wrote, and recordings, which are judged as conform check does. A
recording that is still being written is read again as it grows, and open pages with it.

The server listens on this machine only. The address that it prints holds a secret, and
pages of other sites are refused. It only shows: nothing can be changed through it.

--json prints conform.ready.v1 once the server listens.`,
		Example: `  conform serve report.html
  conform serve linux.json macos.json
  conform serve cassettes/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("serve: nothing named; give reports, recordings or directories of recordings")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serveReports(cmd.Context(), address, args, asJSON)
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&address, "addr", defaultServeAddress,
		"`HOST:PORT` of this machine to listen on; port 0 takes a free one")
	return cmd
}

func (a *app) serveReports(ctx context.Context, address string, paths []string, asJSON bool) error {
	var feeds []inspector.NamedFeed
	var followed []*follower
	for _, path := range paths {
		feed, follows, err := a.openFeed(path)
		if err != nil {
			return err
		}
		feeds = append(feeds, inspector.NamedFeed{Name: path, Feed: feed})
		if follows != nil {
			followed = append(followed, follows)
		}
	}
	s, err := startServer(address, feeds)
	if err != nil {
		return err
	}
	if err := a.sayReady(ready{URL: s.pages.URL(), Shows: paths}, asJSON); err != nil {
		return err
	}
	for _, f := range followed {
		go f.followChanges(ctx)
	}
	<-ctx.Done()
	s.stopServing() //nolint:contextcheck // ctx has ended; browsers still read the end
	return nil      // an interruption is how this command ends
}

// ready says that a server listens: the document conform.ready.v1.
type ready struct {
	Schema string   `json:"schema"`
	URL    string   `json:"url"`
	Shows  []string `json:"shows,omitempty"` // the files and folders that pages show
	Log    string   `json:"log,omitempty"`   // the file to which calls of tools are written
}

// sayReady prints where a server listens: a URL or a line of JSON.
func (a *app) sayReady(r ready, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(a.Stdout, r.URL)
		return err
	}
	r.Schema = "conform.ready.v1"
	line, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(a.JSON(), "%s\n", line)
	}
	return err
}

// pageServer is a server that shows pages.
type pageServer struct {
	pages *inspector.Server
	http  *http.Server
}

// startServer listens on an address of this machine and serves feeds there.
func startServer(address string, feeds []inspector.NamedFeed) (*pageServer, error) {
	listener, err := listenLocally(address)
	if err != nil {
		return nil, err
	}
	pages := inspector.NewServer(listener.Addr().String(), feeds)
	s := &pageServer{pages, &http.Server{
		Handler: pages, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}}
	go func() { _ = s.http.Serve(netutil.LimitListener(listener, maxConnections)) }() // ends with stop
	return s, nil
}

// stopServing lets browsers read the end of what they follow.
func (s *pageServer) stopServing() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // a browser that still reads has had its time
	}
}

// listenLocally listens on address, if that is one of this machine.
func listenLocally(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usage("%s: is not a HOST:PORT, e.g. %s", address, defaultServeAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil,
			cli.Usage("%s: is not an address of this machine alone; use 127.0.0.1:PORT; others must not reach it",
				address)
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // a listener ends by Close
	if err != nil {
		if cause := (*net.OpError)(nil); errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, cli.Usage("%s: cannot be listened on: %w; name another port, or port 0 for a free one",
			address, err)
	}
	return listener, nil
}

// maxConnections bounds the connections of browsers; more have to wait.
const maxConnections = 64

// openFeed opens a report, or recordings, which may still grow: then the follower is not
// nil.
func (a *app) openFeed(path string) (*inspector.Feed, *follower, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, cli.Usage("%s: %w; check the path and its permissions", path, fileutil.Reason(err))
	}
	if info.Mode().IsRegular() {
		feed, err := a.openReport(path)
		if feed != nil || err != nil {
			return feed, nil, err
		}
	}
	f, err := a.newFollower(path)
	if err != nil {
		return nil, nil, err
	}
	return f.feed, f, nil
}

// openReport reads a report of any kind. It returns nil for a file that is none.
func (a *app) openReport(path string) (*inspector.Feed, error) {
	data, err := readFileAtMost(path, maxReportBytes)
	if err != nil {
		return nil, err
	}
	page, err := inspector.Read(data)
	switch {
	case err == nil:
		return inspector.FixedFeed(page), nil
	case !errors.Is(err, inspector.ErrNotPage):
		return nil, cli.Usage("%s: %w; write the report again", path, err)
	}
	var kind struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(data, &kind) != nil || !strings.HasPrefix(kind.Schema, "conform.") {
		return nil, nil //nolint:nilerr,nilnil // anything but a report is read as recordings
	}
	builder := a.newBuilder(false)
	if kind.Schema != report.RunSchema {
		return nil, cli.Usage("%s: has the schema %q; give a report of conform run, or the recordings themselves", path,
			kind.Schema)
	}
	var ran report.Run
	if err := json.Unmarshal(data, &ran); err != nil {
		return nil, cli.Usage("%s: is a damaged report: %w; write it again", path, err)
	}
	builder.Judge(ran.Results, ran.Cases)
	return inspector.FixedFeed(builder.Page(inspector.RunHead(&ran))), nil
}

// follower reads recordings again when they have changed.
type follower struct {
	feed       *inspector.Feed
	path       string
	rules      []report.Rule
	seen       map[string]fileState
	recordings map[string]report.Recording
}

// fileState tells whether a file has changed.
type fileState struct {
	size    int64
	changed time.Time
}

func (a *app) newFollower(path string) (*follower, error) {
	rules, err := harness.Rules()
	if err != nil {
		return nil, err
	}
	f := &follower{
		feed: inspector.NewFeed(a.newBuilder(false), inspector.Head{Kind: "check", Tool: tool()}), path: path,
		rules: rules, seen: map[string]fileState{}, recordings: map[string]report.Recording{},
	}
	if err := f.readChanges(); err != nil {
		return nil, err
	}
	if len(f.recordings) == 0 && !isDirectory(path) {
		return nil,
			cli.Usage("%s: is neither a report nor a recording; give what --report html wrote, or a cassette", path)
	}
	return f, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

const followInterval = time.Second

// followChanges looks for changes until ctx ends. A file that cannot be read now may be whole
// the next time.
func (f *follower) followChanges(ctx context.Context) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = f.readChanges()
		}
	}
}

// readChanges judges what has changed since the last time.
func (f *follower) readChanges() error {
	found, err := evidence.Find(f.path)
	if err != nil {
		return cli.Usage("%w", err)
	}
	for _, recording := range found {
		info, err := os.Stat(recording.Path)
		if err != nil {
			continue // it was there a moment ago
		}
		state := fileState{info.Size(), info.ModTime()}
		if f.seen[recording.Path] == state {
			continue
		}
		f.seen[recording.Path] = state
		if rec, err := readGrowing(recording); err == nil {
			judged := report.JudgeRecording(f.rules, rec)
			f.recordings[rec.Path] = judged
			var all []report.Recording
			for _, r := range f.recordings {
				all = append(all, r)
			}
			f.feed.Refresh(inspector.CheckHead(report.NewChecked(tool(), report.Policy{}, all)))
			f.feed.Add(observationOfRecording(rec, judged))
		}
	}
	return nil
}

// readGrowing reads a recording, of one that is still being written what is whole. It
// works on a copy, which it removes.
func readGrowing(found evidence.Found) (evidence.Recording, error) {
	name, isPartial := strings.CutSuffix(found.Path, ".partial")
	if !isPartial {
		return readRecording(found)
	}
	folder, err := os.MkdirTemp("", "conform-serve-")
	if err != nil {
		return evidence.Recording{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	data, err := readFileAtMost(found.Path, maxReportBytes)
	if err != nil {
		return evidence.Recording{}, err
	}
	whole := filepath.Join(folder, filepath.Base(name))
	if err := os.WriteFile(whole+".partial", data, 0o600); err != nil {
		return evidence.Recording{}, err
	}
	if _, err := cassette.Recover(whole); err != nil {
		return evidence.Recording{}, err
	}
	copies, err := evidence.Load(whole)
	if err != nil || len(copies) != 1 {
		return evidence.Recording{}, errors.Join(err, evidence.ErrNotRecording)
	}
	copies[0].Path, copies[0].Evidence.Case = name, name
	return copies[0], nil
}

// observationOfRecording is what a page shows of a recording.
func observationOfRecording(rec evidence.Recording, judged report.Recording) inspector.Observation {
	return inspector.Observation{
		Name: rec.Path, Provider: judged.Provider, Source: string(judged.Format), Verdict: judged.Verdict,
		Reason:   judged.Reason,
		Evidence: &rec.Evidence, Results: judged.Results(), Skipped: rec.Skipped,
	}
}
