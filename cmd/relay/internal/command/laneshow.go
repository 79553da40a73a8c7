package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

func laneShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show N",
		Short: "Show a lane and its last settled batches",
		Long: effects("nothing.", "shows an event: relay event list does.") +
			"\n\nN is the number of the lane. The batches are the last of it among the last 100,000 of all lanes. Exit\nstatus 3 if there is no such lane.",
		Example: "  relay lane show 3",
	}, 1, 1)
	batches := c.Flags().Int("batches", 10, "How many settled batches at most")
	inGroup(c, commonFlags, "batches")
	open := laneFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := parseLane(args[0])
		if err != nil {
			return err
		}
		if *batches < 1 || *batches > most {
			return exit.Errorf(exit.Usage, "--batches %d: must be 1 to %d", *batches, most)
		}
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		found, err := l.one(cmd.Context(), number)
		if err != nil {
			return err
		}
		list, err := relay.ReadLaneBatches(cmd.Context(), l.pool, l.schema, l.group, number, *batches)
		if err != nil {
			return err
		}
		settled := laneBatchesOf(list)
		if format.Format() == output.JSON {
			return output.WriteJSON(cmd.OutOrStdout(), output.JSON, map[string]any{"lane": found, "batches": settled})
		}
		if err := found.write(cmd.OutOrStdout()); err != nil || len(settled) == 0 {
			return err
		}
		return writeBelow(cmd.OutOrStdout(), laneBatchTable(settled))
	}
	return c
}
