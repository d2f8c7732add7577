package rkat

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// attachedTypes are the media types that all providers take, and how the names of such
// files end.
var attachedTypes = []struct {
	media   string
	endings []string
}{
	{"image/png", []string{".png"}}, {"image/jpeg", []string{".jpg", ".jpeg"}},
	{"image/gif", []string{".gif"}}, {"image/webp", []string{".webp"}}, {pdfType, []string{".pdf"}},
}

const pdfType = "application/pdf"

// maxAttached bounds the files that go with a prompt, in bytes. In base64 they are a third
// longer, and a request has 32 MB at most.
const maxAttached = 22 << 20

// readAttachments returns what --attach names: files, which are read, and addresses, which
// the provider fetches.
func readAttachments(names []string) (parts []transcript.Part, err error) {
	total := 0
	for _, name := range names {
		read := readAttachedFile
		if strings.Contains(name, "://") {
			read = readAttachedAddress
		}
		part, err := read(name)
		if err != nil {
			return nil, err
		}
		if total += len(part.Data); total > maxAttached {
			return nil, cli.Usage(
				"--attach %s: with it there are more than %d MB; no provider takes that in a request", name,
				maxAttached>>20,
			)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// readAttachedFile tells what a file is by its first bytes, whatever its name says: a
// download that failed is often a web page that is called a PDF.
func readAttachedFile(name string) (transcript.Part, error) {
	data, err := readText("--attach", name)
	if err != nil {
		return transcript.Part{}, err
	}
	media, _, _ := strings.Cut(http.DetectContentType([]byte(data)), ";")
	for _, t := range attachedTypes {
		if t.media == media {
			return transcript.Part{Type: partType(media), MediaType: media, Data: []byte(data)}, nil
		}
	}
	return transcript.Part{}, cli.Usage("--attach %s: it is %s; use %s", name, media, describeAttachable())
}

// readAttachedAddress checks that the provider can fetch an address, as far as that can be
// told without asking for it. What is there is told by the end of its path.
func readAttachedAddress(address string) (transcript.Part, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return transcript.Part{}, cli.Usage("--attach: the address is not a URL")
	case u.User != nil:
		return transcript.Part{}, cli.Usage(
			"--attach: the address on %s holds a name or password, which the provider would get; take it out", u.Host,
		)
	case u.Scheme == "file":
		return transcript.Part{}, cli.Usage(
			"--attach %s: providers cannot read this machine; give the path, and the file is sent", address,
		)
	case u.Scheme != "https":
		return transcript.Part{}, cli.Usage(
			"--attach %s: providers fetch https:// only; use such an address, or a file", address,
		)
	case !isPublicHost(u.Hostname()):
		return transcript.Part{}, cli.Usage(
			"--attach %s: providers cannot reach this host; give a file, and its bytes are sent", address,
		)
	}
	for _, t := range attachedTypes {
		if slices.Contains(t.endings, strings.ToLower(path.Ext(u.Path))) {
			return transcript.Part{Type: partType(t.media), MediaType: t.media, URL: address}, nil
		}
	}
	return transcript.Part{}, cli.Usage(
		"--attach %s: the end of its path does not say what it is; use %s", address, describeAttachable(),
	)
}

func partType(media string) string {
	if media == pdfType {
		return "file"
	}
	return "image"
}

// isPublicHost reports whether a host may be one that others reach.
func isPublicHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsGlobalUnicast() && !ip.IsPrivate()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	private := slices.ContainsFunc(
		[]string{".localhost", ".local", ".internal", ".home.arpa"},
		func(end string) bool { return strings.HasSuffix(host, end) },
	)
	return strings.Contains(host, ".") && !private
}

func describeAttachable() string {
	var names []string
	for _, t := range attachedTypes {
		names = append(names, strings.ToUpper(strings.TrimPrefix(t.endings[0], ".")))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
