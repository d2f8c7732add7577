package inspector

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

// signs are those of verdicts that say something about an agent, the worst first.
var signs = []struct {
	verdict report.Verdict
	sign    string
}{{report.Fail, "✕"}, {report.Flaky, "~"}, {report.Warn, "!"}, {report.Pass, "✓"}}

// escapeText is text of others on one line of HTML or SVG.
func escapeText(s string) string { return html.EscapeString(terminal.Line(s)) }

const siteScript = `document.documentElement.dataset.theme=matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"`

// WriteHTML writes the first page of the site: agents by areas, what fails first, with a legend. It
// loads nothing but the badges beside it.
func (s *Site) WriteHTML(w io.Writer) error {
	style := joinFiles([]string{"theme.css", "layout.css", "site.css"})
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>conform: agents</title><style>%s</style><script>%s</script></head>
<body><main><div class="page"><h1>What agents send to their providers</h1>
<p class="lead">%d agents, judged by conform. What fails stands first. A cell leads to the finding and its place in the request;
hashes and lengths stand for content. <a href="site.json">The same as JSON</a>.</p>
`, sourceHash(style), sourceHash(siteScript), style, siteScript, len(s.Agents))
	s.writeTable(&b)
	b.WriteString(`<p class="legend">`)
	for _, v := range signs {
		fmt.Fprintf(&b, `<span><span class="sign v-%[1]s">%[2]s</span> %[3]s</span>`, v.verdict, v.sign, strings.ReplaceAll(string(v.verdict), "-", " "))
	}
	b.WriteString("<span>a number counts requirements</span><span>an empty cell: nothing was seen</span></p>\n")
	s.writeBroken(&b)
	s.writeHistory(&b)
	b.WriteString(`<section class="card"><h2>Add an agent</h2><p>Judge it with <code>conform run --share --report html=my-agent.html,json=my-agent.json</code>, then put it here with
<code>conform matrix --site DIR my-agent.json</code>. A file suffices: the JSON report with the page beside it, or the page alone.</p></section>
</div></main></body></html>
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBroken lists the requirements that agents break, the most frequent first.
func (s *Site) writeBroken(b *strings.Builder) {
	breakers := map[string][]*SiteAgent{}
	for _, a := range s.Agents {
		for id, v := range a.Broken {
			if v != report.Warn {
				breakers[id] = append(breakers[id], a)
			}
		}
	}
	ids := slices.Sorted(maps.Keys(breakers))
	slices.SortStableFunc(ids, func(a, b string) int { return len(breakers[b]) - len(breakers[a]) })
	b.WriteString("<section class=\"card\"><h2>What fails</h2>\n")
	for _, id := range ids {
		title := ""
		if r, err := specs.FindRequirement(id); err == nil {
			title = r.Title
		}
		fmt.Fprintf(b, `<p class="broken"><code>%s</code> %s:`, escapeText(id), escapeText(title))
		for _, a := range breakers[id] {
			fmt.Fprintf(b, ` <a href="agents/%s.html#/findings?q=%s">%s</a>`, a.ID, escapeText(id), escapeText(a.Name))
		}
		b.WriteString("</p>\n")
	}
	if len(ids) == 0 {
		b.WriteString("<p>Nothing.</p>")
	}
	b.WriteString("</section>\n")
}

func (s *Site) writeTable(b *strings.Builder) {
	areas := s.areasSeen()
	b.WriteString(`<section class="card"><div class="scroll-x" tabindex="0" role="region" aria-label="Agents by areas"><table class="plain board"><thead><tr><th scope="col">agent</th><th scope="col">verdict</th>`)
	for _, area := range areas {
		fmt.Fprintf(b, `<th scope="col"><span title="%[2]s">%[1]s<small>%[2]s</small></span></th>`, escapeText(area), escapeText(specs.AreaName(area)))
	}
	b.WriteString("</tr></thead><tbody>\n")
	for _, a := range s.Agents {
		fmt.Fprintf(b, `<tr><th scope="row"><a href="agents/%s.html">%s</a> <span class="muted">%s</span></th><td><a href="agents/%s.html"><img src="badges/%s.svg" alt="%s" height="20"></a></td>`,
			a.ID, escapeText(a.Name), escapeText(a.Version), a.ID, a.ID, escapeText(string(a.Verdict)))
		for _, area := range areas {
			b.WriteString("<td>" + a.areaCell(area) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div></section>\n")
}

// areaCell shows the worst verdict of an area, and how many requirements have it.
func (a *SiteAgent) areaCell(area string) string {
	for _, v := range signs {
		ids := a.Areas[area][v.verdict]
		if len(ids) == 0 {
			continue
		}
		target := cmp.Or(a.Links[area], "matrix?verdict=all&area="+area)
		what := strings.Join(ids, ", ")
		if v.verdict == report.Pass {
			what, target = fmt.Sprintf("%d requirements", len(ids)), "matrix?verdict=all&area="+area
		}
		return fmt.Sprintf(`<a class="sign v-%s" href="agents/%s.html#/%s" title="%s %s: %s">%s%d</a>`, v.verdict, a.ID, escapeText(target), escapeText(area), v.verdict, escapeText(what), v.sign, len(ids))
	}
	return ""
}

// writeHistory says of each agent when it was run, what differs from the run before, and where
// known failures are worked on.
func (s *Site) writeHistory(b *strings.Builder) {
	b.WriteString("<section class=\"card\"><h2>Runs</h2>\n")
	for _, a := range s.Agents {
		fmt.Fprintf(b, `<details><summary><b>%s %s</b> %s, %d cases, %d of %d requirements seen`, escapeText(a.Name), escapeText(a.Version), escapeText(cmp.Or(a.Date, "no date")), a.Cases, a.Seen, a.Total)
		broken, mended := a.Changes()
		if len(broken) > 0 {
			fmt.Fprintf(b, `; <span class="bad">new since %s: %s</span>`, escapeText(a.History[0].Date), escapeText(strings.Join(broken, ", ")))
		}
		if len(mended) > 0 {
			fmt.Fprintf(b, `; <span class="good">mended since %s: %s</span>`, escapeText(a.History[0].Date), escapeText(strings.Join(mended, ", ")))
		}
		fmt.Fprintf(b, "</summary>\n<p class=muted>answered by %s, reached through %s</p>", escapeText(strings.Join(a.Sources, ", ")), escapeText(strings.Join(a.Ingress, ", ")))
		for _, address := range a.Issues {
			if strings.HasPrefix(address, "https://") || !strings.Contains(address, ":") {
				fmt.Fprintf(b, `<p>known: <a href="%s" rel="noreferrer">%s</a></p>`, escapeText(address), escapeText(strings.TrimSuffix(path.Base(address), ".md")))
			}
		}
		for _, r := range a.History {
			fmt.Fprintf(b, "<p>%s %s: %s, broken: %s</p>\n", escapeText(r.Date), escapeText(r.Of), escapeText(string(r.Verdict)), escapeText(cmp.Or(strings.Join(slices.Sorted(maps.Keys(r.Broken)), ", "), "nothing")))
		}
		b.WriteString("</details>\n")
	}
	b.WriteString("</section>\n")
}

// Badge is an SVG that says what the last run came to.
func (a *SiteAgent) Badge() []byte {
	colours := map[report.Verdict]string{report.Pass: "#22713f", report.Warn: "#8a5300", report.NotTestable: "#59616c"}
	right := fmt.Sprintf("%d %s", a.worstCount(), strings.ReplaceAll(string(a.Verdict), "-", " "))
	width := utf8.RuneCountInString(right)*7 + 14
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="conform: %[2]s"><title>conform: %[2]s</title><rect width="58" height="20" fill="#40464d"/><rect x="58" width="%[3]d" height="20" fill="%[4]s"/><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="29" y="14">conform</text><text x="%[5]d" y="14">%[2]s</text></g></svg>
`, 58+width, escapeText(right), width, cmp.Or(colours[a.Verdict], "#b3202a"), 58+width/2)
}
