"""What an object says about latent positions: the one thing that populations, processes, hypotheses and nuisances all use."""
