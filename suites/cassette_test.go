package suites

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
)

var _ = Describe("A committed cassette", Label(harness.CassetteLabel), func() {
	eachCase(func(its caseSpecs) {
		if its.source != evidence.SourceCassette {
			return
		}
		It("is whole, sealed and the simulator's", func() {
			Expect(harness.VerifyCassette(its.Case, cassettes.FS)).To(Succeed())
		})

		It("is the evidence of a real run, byte for byte", func(ctx SpecContext) {
			recorded, err := harness.RecordedEvidence(its.Case, cassettes.FS)
			Expect(err).NotTo(HaveOccurred())
			ran := its.run(ctx).Evidence
			Expect(bodiesOf(&recorded)).To(Equal(bodiesOf(ran)))
			Expect(endsOf(&recorded)).To(Equal(endsOf(ran)))
		})
	})
})

// bodiesOf lists the process, the request and the reply of every exchange.
func bodiesOf(ev *evidence.Evidence) (list []string) {
	for _, x := range ev.Exchanges {
		list = append(list, fmt.Sprintf("process %d: %s\n%s", x.Process, x.Request.Body, x.Response.Body))
	}
	return list
}

// endsOf lists how every process ended.
func endsOf(ev *evidence.Evidence) (list []string) {
	for _, p := range ev.Process {
		list = append(list, fmt.Sprintf("resumed %t, succeeded %t", p.Resumed, p.ExitCode == 0))
	}
	return list
}
