"""How a Ray is started here or joined elsewhere, and how this process learns that its head has gone."""
