package settings

// Shown returns the text as it may be printed: secrets masked, and passwords in addresses.
// It is "" when nothing is set.
func (v Value) Shown() string {
	switch {
	case v.Name == Prefix+"DATABASE_URL":
		if v.Origin.Kind == "" {
			return ""
		}
		return shownDatabase(&Settings{DatabaseURL: v.Text})
	case v.Text == "":
		return ""
	case v.Secret:
		return masked
	case v.Name == Prefix+"NATS_URL":
		return shownServers(v.Text)
	default:
		return v.Text
	}
}
