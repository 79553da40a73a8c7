package main

import (
	"encoding/base64"
	"encoding/hex"
	"testing"
)

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	body := payloadMark + "\x00rest"
	for text, want := range map[string]int{
		"":                                       0,
		"level=info msg=published":               0,
		"x " + body:                              1,
		"password=" + secretMark:                 1,
		"\\x" + hex.EncodeToString([]byte(body)): 1,
		`"data":"` + base64.StdEncoding.EncodeToString([]byte(body)): 1,
		body + "\n" + secretMark:                                     2,
	} {
		v := &verdict{Violations: map[string]int{}}
		searchSecrets(v, "a log", text)
		if got := v.Violations[noSecrets]; got != want {
			t.Errorf("%q: %d findings %q, want %d", text, got, v.findings, want)
		}
	}
	v := &verdict{Violations: map[string]int{}}
	if err := searchServerLog(v, "LOG:  checkpoint"); err == nil {
		t.Error("a log without a statement passes")
	}
	if err := searchServerLog(v, "LOG:  execute x: SELECT 1"); err != nil || len(v.findings) > 0 {
		t.Errorf("%v, findings %q", err, v.findings)
	}
}
