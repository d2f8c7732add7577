package vcr

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// TestStreamsStayStreams holds that each piece arrives before the next one is sent,
// and arrives as one piece from the replay, too.
func TestStreamsStayStreams(t *testing.T) {
	read := make(chan bool)
	url, transport := newService(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Trailer", "Server-Timing")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Server-Timing", "3")
	})
	name := tempName(t)
	rec := newRecorder(t, name, ModeRecording, transport)
	want := []string{"data: 0\n\n", "data: 1\n\n", "data: 2\n\n"}
	if got := readPieces(t, rec, url, func() { read <- true }); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	mustStop(t, rec)
	again := newRecorder(t, name, ModeReplaying, nil)
	if got := readPieces(t, again, url, func() {}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("replayed %q, want %q", got, want)
	}
}

// readPieces returns what each Read got, and checks the trailer.
func readPieces(t *testing.T, transport http.RoundTripper, url string, after func()) (pieces []string) {
	t.Helper()
	resp, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for buf := make([]byte, 1000); ; {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			pieces = append(pieces, string(buf[:n]))
			after()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if resp.Trailer.Get("Server-Timing") != "3" || resp.ContentLength != -1 {
		t.Errorf("trailer %v, length %d", resp.Trailer, resp.ContentLength)
	}
	return pieces
}

// TestSecretsStayOut holds that no secret reaches the file, wherever it was, and that
// another key gets the recorded reply, with go-vcr's own matcher and with one that
// compares everything.
func TestSecretsStayOut(t *testing.T) {
	const ofHeader, ofURL, ofEnvironment, ofCookie = "sk-made-up-header-0123456789", "AIzaMadeUpQuery0123456789",
		"made-up-environment-0123456789", "cookie-made-up-0123456789"
	t.Setenv("MY_SERVICE_TOKEN", ofEnvironment)
	url, transport := newService(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "s="+ofCookie)
		_, _ = fmt.Fprintf(w, "you sent %s and %s", r.Header.Get("Authorization"), ofEnvironment)
	})
	ask := func(r *Recorder, key string) (string, error) {
		req, err := http.NewRequest(http.MethodPost, url+"/v1?key="+key+ofURL,
			strings.NewReader(`{"api_key":"`+key+ofHeader+`","q":1}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key+ofHeader)
		req.Header.Set("X-Tenant", key)
		resp, err := (&http.Client{Transport: r}).Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	name := tempName(t)
	rec := newRecorder(t, name, ModeRecording, transport)
	if got, err := ask(rec, "first-"); err != nil || !strings.Contains(got, ofHeader) {
		t.Fatalf("the client got %q, %v: it must get what was sent", got, err)
	}
	mustStop(t, rec)
	text := readAll(t, name)
	for _, secret := range []string{ofHeader, ofURL, ofEnvironment, ofCookie} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the file", secret)
		}
	}
	if info, err := os.Stat(name + ".yaml"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for what, matcher := range map[string]vcrcassette.Matcher{"go-vcr's": vcrcassette.DefaultMatcher,
		"all": func(r *http.Request, i vcrcassette.Request) bool {
			body, err := io.ReadAll(r.Body)
			return err == nil && vcrcassette.DefaultMatcher(r, i) && string(body) == i.Body &&
				r.Header.Get("Authorization") == i.Headers.Get("Authorization") &&
				r.Header.Get("X-Tenant") == i.Headers.Get("X-Tenant")
		}} {
		again := newRecorder(t, name, ModeReplaying, nil)
		again.SetMatcher(matcher)
		if got, err := ask(again, "other-"); err != nil || !strings.HasPrefix(got, "you sent Bearer REDACTED") {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// TestMatchersSeeWords holds that a secret in what is said is not in the file, and that a
// matcher sees the request's own.
func TestMatchersSeeWords(t *testing.T) {
	const secret = "Ab3dEf9hIj2kLm5nOp"
	url, transport := newService(t, echo)
	name, body := tempName(t), `{"content":"API_TOKEN=`+secret+`"}`
	rec := newRecorder(t, name, ModeRecording, transport)
	post(t, rec, url, body)
	mustStop(t, rec)
	if strings.Contains(readAll(t, name), secret) {
		t.Error("the secret is in the file")
	}
	again := newRecorder(t, name, ModeReplaying, nil)
	again.SetMatcher(func(r *http.Request, i vcrcassette.Request) bool {
		asked, err := io.ReadAll(r.Body)
		return err == nil && string(asked) == i.Body
	})
	if got := post(t, again, url, body); !strings.HasPrefix(got, `POST {"content":"API_TOKEN=REDACTED`) {
		t.Error(got)
	}
}

// TestGate holds that what still looks like a key is not saved, also when a filter puts
// it in, and that Stop says so without quoting it.
func TestGate(t *testing.T) {
	const key = "AKIA" + "IOSFODNN7EXAMPLQ" // in two parts, so that it is no finding here
	url, transport := newService(t, echo)
	for what, setUp := range map[string]func(*Recorder) string{
		"reply": func(*Recorder) string { return `{"n":"` + key + `"}` },
		"filter": func(r *Recorder) string {
			r.AddSaveFilter(func(i *vcrcassette.Interaction) error { i.Response.Body += key; return nil })
			return "{}"
		},
	} {
		name := tempName(t)
		rec := newRecorder(t, name, ModeRecording, transport)
		post(t, rec, url, setUp(rec))
		err := rec.Stop()
		if err == nil || !strings.Contains(err.Error(), "body holds what looks like") ||
			strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(name + ".yaml"); !os.IsNotExist(err) {
			t.Errorf("%s: a file was left: %v", what, err)
		}
	}
}

// TestFilters holds that filters of both kinds change the file and not the reply, that
// both see what was redacted, and that a refusal keeps the interaction out.
func TestFilters(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	rec := newRecorder(t, name, ModeRecording, transport)
	rec.AddFilter(func(i *vcrcassette.Interaction) error {
		if i.Request.Body == `{"refuse":1}` {
			return errors.New("not this one")
		}
		i.Request.Headers.Del("Content-Type")
		i.Request.Body = strings.ReplaceAll(i.Request.Body, "1", "one")
		return nil
	})
	rec.AddSaveFilter(func(i *vcrcassette.Interaction) error {
		i.Response.Body, i.Code = "changed", 203
		i.Response.Headers.Set("Server", i.Status)
		return nil
	})
	if got := post(t, rec, url, `{"a":1}`); got != `POST {"a":1}` {
		t.Errorf("the client got %q", got)
	}
	post(t, rec, url, `{"refuse":1}`)
	if err := rec.Stop(); err == nil || !strings.Contains(err.Error(), "a filter refused it: not this one") {
		t.Errorf("stop: %v", err)
	}
	c, err := cassette.Open(name + ".yaml")
	if err != nil || c.Len() != 1 {
		t.Fatalf("%v, %d interactions", err, c.Len())
	}
	in, err := c.At(0)
	if err != nil || string(in.Request.Body) != `{"a":one}` || in.Request.Header.Get("Content-Type") != "" ||
		string(in.Response.Body) != "changed" || in.Response.Status != 203 ||
		in.Response.Header.Get("Server") != "200 OK" || len(in.Timeline) > 0 {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestModes holds that a cassette is continued, that only what it lacks is asked for,
// and that what nobody recorded is go-vcr's error.
func TestModes(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	url, transport := newService(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		echo(w, r)
	})
	name := tempName(t)
	for i, mode := range []Mode{ModeReplayingOrRecording, ModeReplayingOrRecording, ModeRecording} {
		rec := newRecorder(t, name, mode, transport)
		if want := []Mode{ModeRecording, ModeReplayingOrRecording, ModeRecording}[i]; rec.Mode() != want {
			t.Errorf("mode %v, want %v", rec.Mode(), want)
		}
		for _, path := range []string{"/a", "/b"}[:min(i+1, 2)] {
			if got := post(t, rec, url+path, path); got != "POST "+path {
				t.Errorf("got %q", got)
			}
		}
		mustStop(t, rec)
	}
	if asked != 4 {
		t.Errorf("the service was asked %d times, want /a, /b, and both again", asked)
	}
	again := newRecorder(t, name, ModeReplaying, nil)
	for _, path := range []string{"/a", "/b", "/a", "/b"} {
		if got := post(t, again, url+path, path); got != "POST "+path {
			t.Errorf("got %q", got)
		}
	}
	if _, err := (&http.Client{Transport: again}).Get(url + "/a"); !errors.Is(err, vcrcassette.ErrInteractionNotFound) {
		t.Errorf("a fifth request: %v", err)
	}
	again.SetReplayableInteractions(true)
	post(t, again, url+"/a", "")
	post(t, again, url+"/a", "")
}

// TestReplayIsNoWordOfTheProvider holds that the referee does not take a reply that a
// provider gave to an earlier request as its word on this one.
func TestReplayIsNoWordOfTheProvider(t *testing.T) {
	name := tempName(t)
	w, err := cassette.Create(name+".yaml", cassette.Meta{Provenance: cassette.ProvenanceLive},
		cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(cassette.Interaction{Request: cassette.Request{Method: "POST",
		URL: "https://api.openai.com/v1/responses"},
		Response: cassette.Response{Status: 200}, End: cassette.EndEOF}), w.Close()); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(t, name, ModeReplaying, nil)
	resp, err := rec.RoundTrip(mustRequest(t, "https://api.openai.com/v1/responses"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if seen := rec.seen.inOrder(); len(seen) != 1 || seen[0].Provenance != cassette.ProvenanceSynthetic ||
		string(seen[0].Request.Body) != "{}" {
		t.Errorf("seen %+v; want the request of now and a synthetic reply", seen)
	}
}

// TestFailureIsTheCallers holds that a failure of the transport reaches the caller as
// it is, and that nothing is recorded of it.
func TestFailureIsTheCallers(t *testing.T) {
	failure := errors.New("no route")
	name := tempName(t)
	rec := newRecorder(t, name, ModeRecording,
		roundTripper(func(*http.Request) (*http.Response, error) { return nil, failure }))
	resp, err := rec.RoundTrip(mustRequest(t, "https://api.openai.com/v1/responses"))
	if !errors.Is(err, failure) || resp != nil {
		t.Errorf("%v, %v", resp, err)
	}
	mustStop(t, rec)
	if files, _ := filepath.Glob(filepath.Dir(name) + "/*"); len(files) > 0 {
		t.Errorf("left %q", files)
	}
	if _, err := rec.RoundTrip(mustRequest(t, "https://api.openai.com/v1/responses")); err == nil ||
		!strings.Contains(err.Error(), "the recording has ended") {
		t.Errorf("after Stop: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestUserAgent holds that the service sees the User-Agent that it would see without a
// recorder.
func TestUserAgent(t *testing.T) {
	url, transport := newService(t,
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.UserAgent()) })
	rec := newRecorder(t, tempName(t), ModeRecording, transport)
	if got := post(t, rec, url, ""); !strings.HasPrefix(got, "Go-http-client/") {
		t.Errorf("User-Agent %q", got)
	}
	mustStop(t, rec)
}

// TestClientThatLeaves holds that a reply is kept whole whose client stopped reading,
// and that Stop waits for nobody who never reads.
func TestClientThatLeaves(t *testing.T) {
	piece := strings.Repeat("x", 1000)
	url, transport := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	})
	name := tempName(t)
	rec := newRecorder(t, name, ModeRecording, transport)
	for _, closes := range []bool{true, false} {
		resp, err := rec.RoundTrip(mustRequest(t, url))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if closes {
			_ = resp.Body.Close()
		}
	}
	mustStop(t, rec)
	c, err := cassette.Open(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if in, err := c.At(i); err != nil || len(in.Response.Body) != 100_000 {
			t.Errorf("%d bytes kept, %v", len(in.Response.Body), err)
		}
	}
}

// TestManyAtOnce holds that requests side by side get their own replies.
func TestManyAtOnce(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	for _, mode := range []Mode{ModeRecording, ModeReplaying} {
		rec := newRecorder(t, name, mode, transport)
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				for n := range 5 {
					body := fmt.Sprintf(`{"i":"%d.%d"}`, i, n)
					resp, err := (&http.Client{Transport: rec}).Post(url+"/"+fmt.Sprint(i, ".", n), "application/json",
						strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if string(got) != "POST "+body || err != nil {
						t.Errorf("%s got %q, %v", body, got, err)
					}
				}
			})
		}
		all.Wait()
		mustStop(t, rec)
	}
}

// TestGoVCRCassettesGoOn holds that a cassette of stock go-vcr replays, and is redacted
// when more is recorded behind it.
func TestGoVCRCassettesGoOn(t *testing.T) {
	const secret = "sk-made-up-0123456789abcdef"
	url, transport := newService(t, echo)
	name := filepath.Join(t.TempDir(), "old")
	old := vcrcassette.New(name)
	old.AddInteraction(&vcrcassette.Interaction{
		Request: vcrcassette.Request{Method: http.MethodPost, URL: url + "/old",
			Headers: http.Header{"Authorization": {"Bearer " + secret}}},
		Response: vcrcassette.Response{Code: 200, Body: "of old"},
	})
	if err := old.Save(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec := newRecorder(t, name, ModeReplayingOrRecording, transport)
		if got := post(t, rec, url+"/old", ""); got != "of old" {
			t.Errorf("old: %q", got)
		}
		if got := post(t, rec, url+"/new", "n"); got != "POST n" {
			t.Errorf("new: %q", got)
		}
		mustStop(t, rec)
	}
	if strings.Contains(readAll(t, name), secret) {
		t.Error("the secret of the old cassette is in the new one")
	}
	c, err := cassette.Open(name + ".yaml")
	if err != nil || c.Len() != 2 || c.Meta().Provenance != cassette.ProvenanceImport {
		t.Errorf("%v, %d interactions, %+v", err, c.Len(), c.Meta())
	}
}

// TestKilledRecordingGoesOn holds that what a killed test had recorded is kept.
func TestKilledRecordingGoesOn(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	w, err := cassette.Create(name+".yaml", cassette.Meta{Provenance: cassette.ProvenanceLive,
		Redaction: newRedaction().redactor.Rules()}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(cassette.Interaction{Request: cassette.Request{Method: "POST", URL: url + "/a"},
		Response: cassette.Response{Status: 200, Body: []byte("kept")}, End: cassette.EndEOF}); err != nil {
		t.Fatal(err)
	}
	partial, err := os.ReadFile(name + ".yaml.partial")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".yaml.partial", partial, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(t, name, ModeReplayingOrRecording, transport)
	if got := post(t, rec, url+"/a", ""); got != "kept" {
		t.Errorf("the kept reply: %q", got)
	}
	if got := post(t, rec, url+"/b", "b"); got != "POST b" {
		t.Errorf("got %q", got)
	}
	mustStop(t, rec)
	if c, err := cassette.Open(name + ".yaml"); err != nil || c.Len() != 2 {
		t.Errorf("%v", err)
	}
}

// TestNew holds that New replays what is there and asks nobody, and says with go-vcr's error
// that there is nothing.
func TestNew(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	if _, err := New(name); !errors.Is(err, vcrcassette.ErrCassetteNotFound) {
		t.Errorf("without a cassette: %v", err)
	}
	rec := newRecorder(t, name, ModeRecording, transport)
	post(t, rec, url, "words")
	mustStop(t, rec)
	again, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := post(t, again, url, "words"); got != "POST words" || again.Mode() != ModeReplaying {
		t.Errorf("got %q in mode %v", got, again.Mode())
	}
	mustStop(t, again)
}

// TestReplyAfterTheEnd holds that a reply which arrives when the recording has ended is
// closed: its client may never read it, and Stop waits for its handler.
func TestReplyAfterTheEnd(t *testing.T) {
	var open openBodies
	open.closeAll()
	late := &closeCounter{}
	_ = open.add(late)
	if late.closed != 1 {
		t.Errorf("closed %d times, want once", late.closed)
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }
