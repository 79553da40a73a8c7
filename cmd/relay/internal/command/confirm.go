package command

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// confirm asks a person whether to go on, unless yes says so already. It returns nil for yes. It
// cannot ask without a terminal, nor when the output is for a program; look says what
// to do for those who want to see the plan.
func confirm(cmd *cobra.Command, question string, yes bool, format output.Format, look string) error {
	if yes {
		return nil
	}
	if format != output.Text || !output.IsTerminal(cmd.InOrStdin()) {
		return exit.Errorf(exit.Usage, "%s changes something and cannot ask here", cmd.CommandPath()).
			WithHint("add --yes, or %s", look)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\n%s [y/N] ", question)
	answer, err := readLine(cmd)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return &exit.Error{Code: exit.No, Kind: "refused", Err: fmt.Errorf("%s: not confirmed, nothing was changed", cmd.CommandPath())}
	}
}

// readLine waits for a line or an interrupt. The end of the input is an empty line.
func readLine(cmd *cobra.Command) (string, error) {
	line := make(chan string, 1) // so that the reader can end after an interrupt
	go func() {
		text, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		return text, nil
	case <-cmd.Context().Done():
		return "", cmd.Context().Err()
	}
}
