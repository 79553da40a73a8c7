package report

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/topic"
	"github.com/holdfast-dev/holdfast/gen"
)

// The parts of SARIF 2.1.0 (OASIS, 2020) that are needed.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		FullDescription  sarifText `json:"fullDescription"`
		Help             sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Properties          map[string]string `json:"properties"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF writes one log with one run: a rule for each kind of drift, and a result for each drift.
func (d Drift) SARIF(w io.Writer) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "outbox-gen", Version: d.Version}}, Results: []sarifResult{}}
	for _, k := range gen.Kinds() {
		t := topic.OfKind(k)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: t.Name, ShortDescription: sarifText{t.Summary + "."}, FullDescription: sarifText{t.Text}, Help: sarifText{t.Text},
		})
	}
	for _, one := range d.Found {
		run.Results = append(run.Results, d.result(one))
	}
	return output.WriteJSON(w, output.JSON, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func (d Drift) result(one gen.Drift) sarifResult {
	path := d.Place.Path(one.File)
	mend := d.Place.Command(one.Mend)
	return sarifResult{
		RuleID: string(one.Kind), RuleIndex: slices.Index(gen.Kinds(), one.Kind), Level: "error",
		Message: sarifText{fmt.Sprintf("%s: %s. To mend it: %s", one.Service, one.Detail, mend)},
		Locations: []sarifLocation{{sarifPhysical{
			sarifArtifact{(&url.URL{Path: path}).EscapedPath()}, sarifRegion{max(one.Line, 1)},
		}}},
		// What the drift is does not change when lines are added before it.
		PartialFingerprints: map[string]string{
			"holdfast/v1": fmt.Sprintf("%x", sha256.Sum256([]byte(one.Service+"\x00"+one.File+"\x00"+string(one.Kind))))[:32],
		},
		Properties: map[string]string{"service": one.Service, "mend": mend},
	}
}
