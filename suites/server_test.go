package suites

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/questions"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// Which server is judged instead of agents. A key is read from CONFORM_SERVER_KEY.
var (
	serverFlag = flag.String("conform.server", "", "judge the server at this URL instead of agents")
	wireFlag   = flag.String("conform.wire", "anthropic", "what the server speaks")
	modelFlag  = flag.String("conform.model", "", "model that the server is asked for")
)

// serverLabel marks the specs of servers. With -conform.server they alone run.
const serverLabel = "server"

var _ = Describe("A server", Label(serverLabel), func() {
	if *serverFlag == "" {
		return
	}
	all, err := specs.Questions()
	if err != nil {
		panic(err) // embedded, and tested
	}
	transport := client.NewTransport()
	AfterEach(transport.CloseIdleConnections)
	for _, q := range all {
		It(q.ID+": "+q.Title, Label(q.ID, string(q.Level)), func(ctx SpecContext) {
			found, err := questions.Judge(ctx, questions.Config{
				Wire: wires.Find(*wireFlag), Base: *serverFlag, Model: *modelFlag, Key: os.Getenv("CONFORM_SERVER_KEY"),
				Transport: transport,
				Only:      func(id string) bool { return id == q.ID },
			})
			if errors.Is(err, questions.ErrNothingSelected) {
				Skip("does not apply to this wire or model")
			}
			Expect(err).NotTo(HaveOccurred())
			var failed []string
			for _, c := range found.Cases {
				for _, r := range c.Results() {
					for _, f := range r.Findings {
						line := c.Name + " " + f.Rule + ": " + f.Message
						if f.Verdict == report.Fail {
							failed = append(failed, line)
						} else {
							AddReportEntry(cmp.Or(string(f.Verdict), "note"), line)
						}
					}
				}
			}
			Expect(failed).To(BeEmpty(), strings.Join(failed, "\n"))
		})
	}
})
