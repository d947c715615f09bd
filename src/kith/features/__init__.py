"""What kith can do beside its main job: one folder for each feature, and each can be deleted."""
