package cassette

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// What is known of the client and of who answered comes back, by the fast reader and
// by go-vcr's.
func TestClientRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, Meta{Provenance: ProvenanceLive}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := Interaction{
		Request: Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Header: http.Header{"X-Cassette-Process": {"99"}}, Body: []byte("{}")},
		Response:   Response{Status: 200, Header: http.Header{}, Body: []byte("{}")},
		Provenance: ProvenanceSynthetic, Ingress: IngressBaseURL, Process: 2,
	}
	plain := in
	plain.Provenance, plain.Ingress, plain.Process = "", "", 0
	for _, in := range []Interaction{in, plain} {
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Strict(0); err != nil || got.Provenance != ProvenanceSynthetic || got.Ingress != IngressBaseURL ||
		got.Process != 2 {
		t.Errorf("%v: provenance %q, ingress %q, process %d", err, got.Provenance, got.Ingress, got.Process)
	}
	if got, err := c.Strict(1); err != nil || got.Process != 0 || got.Provenance+got.Ingress != "" {
		t.Errorf("a client's own header was believed: %v, %+v", err, got)
	}
	if part := Difference(in, plain); part != "note of who answered" {
		t.Errorf("the first difference is the %q", part)
	}
}

func TestUnreadableProcess(t *testing.T) {
	for _, value := range []string{"0", "-1", "two", "1048577", "1.5"} {
		in := Interaction{Request: Request{Header: http.Header{hdrProcess: {value}}}}
		if err := takeReserved(&in); err == nil || !strings.Contains(err.Error(), hdrProcess) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestExportedProvenance(t *testing.T) {
	for text, want := range map[string]string{
		"# " + ExportComment(Meta{Provenance: ProvenanceSimulator}) + "\n---\n": ProvenanceSimulator,
		ExportComment(Meta{Provenance: ProvenanceLive}):                         ProvenanceLive,
		ExportComment(Meta{}): ProvenanceImport,
		"---\nversion: 1\n":   "",
		"":                    "",
	} {
		if got := ExportedProvenance([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
