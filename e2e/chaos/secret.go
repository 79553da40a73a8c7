package main

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// secrets are the forms in which what must not be told may appear: as it is, in hexadecimal as a
// bytea is shown, and in base64 as JSON has it. Each payload begins with its mark.
var secrets = func() map[string]string {
	forms := map[string]string{}
	for what, mark := range map[string]string{"a payload": payloadMark, "a credential": secretMark} {
		whole := mark[:len(mark)/3*3] // the end depends on what follows
		for _, form := range []string{mark, hex.EncodeToString([]byte(mark)), base64.StdEncoding.EncodeToString([]byte(whole))} {
			forms[form] = what
		}
	}
	return forms
}()

// searchSecrets looks for payloads and credentials in a text.
func searchSecrets(v *verdict, where, text string) {
	for form, what := range secrets {
		if at := strings.Index(text, form); at >= 0 {
			begin := strings.LastIndexByte(text[:at], '\n') + 1
			v.violate(noSecrets, "%s has %s, in the line that begins %.200q", where, what, text[begin:])
		}
	}
}

// statementsLogged is in the log of Postgres for each statement of the relays that are logged.
const statementsLogged = "execute "

// searchServerLog looks in the log of Postgres, in which the statements of one relay are, with their
// parameters, and those of everybody that failed.
func searchServerLog(v *verdict, log string) error {
	searchSecrets(v, "the log of Postgres", log)
	if !strings.Contains(log, statementsLogged) {
		return errors.New("no statement of a relay is in the log of Postgres, where they are to be searched")
	}
	return nil
}
