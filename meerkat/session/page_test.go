package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/page"
)

// writePage returns the page of a session.
func writePage(t *testing.T, s *session.Session) string {
	t.Helper()
	var out strings.Builder
	if err := page.Write(&out, s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPage(t *testing.T) {
	session.CheckGolden(t, "session.html", writePage(t, session.StoredSession(t)))
}

// TestPageIsInert: what others wrote is text, and nothing is fetched.
func TestPageIsInert(t *testing.T) {
	got := writePage(t, session.StoredSession(t))
	for _, bad := range []string{"<script", "<img src=x", "<b>brief", "image/svg+xml;base64", "http://", "https://"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(got, "data:image/png;base64,iVBORw==") {
		t.Error("the image is missing")
	}
}

// TestPageMetadata: the page shows metadata once, as text.
func TestPageMetadata(t *testing.T) {
	with, err := session.StoredSession(t).With(session.Metadata{
		At: time.Unix(0, 0), Values: map[string]string{"owner": "<ada>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := writePage(t, &with); !strings.Contains(got, "<dt>Metadata owner</dt><dd>&lt;ada&gt;</dd>") ||
		strings.Contains(got, `class="session_metadata"`) {
		t.Error(got)
	}
}
