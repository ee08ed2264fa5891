"""The search for better hyperparameters: many runs, the next ones drawn where the last did well."""
