package harness

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/meerkat-go/conformance/specs"
)

// promptImage is the name of the image that goes with prompts, in the folder in which the
// agent starts.
const promptImage = "red.png"

// promptDocument is the name of the PDF that goes with prompts, in the same folder, and
// imageAddress that of an image on a host that does not exist: nothing here fetches it.
const (
	promptDocument = "heron.pdf"
	imageAddress   = "https://pictures.example/heron.png"
)

// attachmentNames are what goes with the prompt of a step.
func attachmentNames(s specs.Step, work string) (names []string) {
	if s.Image {
		names = append(names, filepath.Join(work, promptImage))
	}
	switch s.Attach {
	case specs.AttachDocument:
		names = append(names, filepath.Join(work, promptDocument))
	case specs.AttachAddress:
		names = append(names, imageAddress)
	}
	return names
}

// answerSchema is the name of the schema that answers must fulfil, in the same folder.
const answerSchema = "answer.schema.json"

// writeAnswerSchema writes the schema of an answer with one word where the scenario needs it.
func writeAnswerSchema(s *specs.Scenario, dir string) error {
	if !slices.Contains(s.Needs(), specs.AbilityOutputSchema) {
		return nil
	}
	schema := `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`
	return os.WriteFile(filepath.Join(dir, answerSchema), []byte(schema), 0o600)
}

// writePromptImage writes a red square where a step of the scenario needs it.
func writePromptImage(s *specs.Scenario, dir string) error {
	if !slices.ContainsFunc(s.Steps, func(step specs.Step) bool { return step.Image }) {
		return nil
	}
	square := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range square.Rect.Dx() * square.Rect.Dy() {
		square.Set(i%square.Rect.Dx(), i/square.Rect.Dx(), color.RGBA{R: 0xff, A: 0xff})
	}
	var data bytes.Buffer
	if err := png.Encode(&data, square); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, promptImage), data.Bytes(), 0o600)
}

// writePromptDocument writes a PDF with one empty page where a step of the scenario needs
// it.
func writePromptDocument(s *specs.Scenario, dir string) error {
	if !slices.ContainsFunc(s.Steps, func(step specs.Step) bool { return step.Attach == specs.AttachDocument }) {
		return nil
	}
	var pdf bytes.Buffer
	pdf.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>",
	} {
		offsets = append(offsets, pdf.Len())
		fmt.Fprintf(&pdf, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := pdf.Len()
	pdf.WriteString("xref\n0 4\n0000000000 65535 f \n")
	for _, at := range offsets {
		fmt.Fprintf(&pdf, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&pdf, "trailer\n<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table)
	return os.WriteFile(filepath.Join(dir, promptDocument), pdf.Bytes(), 0o600)
}
