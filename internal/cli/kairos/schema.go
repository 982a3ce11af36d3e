package kairos

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/planner/planschema"
)

func (c checkCommands) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of plans",
		Long: `Prints the JSON Schema of plans, with which an editor completes and checks them.
The schema has the tools, agents, and skills of the configuration (--config) or, with
--server, of the server. Begin a plan with this line:

  # yaml-language-server: $schema=plan.schema.json`,
		Example: "  kairos schema > plan.schema.json\n  kairos schema --server https://kairos.example > plan.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := c.schema(cmd)
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(schema, "", "  ")
			if err != nil {
				return err
			}
			c.Printf("%s\n", text)
			return nil
		},
	}
}

// schema returns the schema for the server or for the configuration.
func (c checkCommands) schema(cmd *cobra.Command) (map[string]any, error) {
	if c.Server == "" {
		catalog, err := c.catalog(cmd.Context())
		if err != nil {
			return nil, err
		}
		return planschema.Of(catalog), nil
	}
	server, err := c.Remote()
	if err != nil {
		return nil, err
	}
	return server.PlanSchema(cmd.Context())
}
