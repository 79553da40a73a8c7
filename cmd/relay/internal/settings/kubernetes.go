package settings

import "regexp"

// Kubernetes gives every pod variables for each Service of its namespace: a Service that is
// called relay, or begins with relay-, puts these beside the settings.
var (
	linkName = regexp.MustCompile(`^RELAY_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	// RELAY_PORT and RELAY_X_PORT may also be somebody's idea of a setting; the
	// text tells them apart.
	linkAddressName = regexp.MustCompile(`^RELAY_([A-Z0-9_]+_)?PORT$`)
	linkAddressText = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

// fromKubernetes reports whether nobody but Kubernetes has set this variable.
func fromKubernetes(name, text string) bool {
	return linkName.MatchString(name) || linkAddressName.MatchString(name) && linkAddressText.MatchString(text)
}
