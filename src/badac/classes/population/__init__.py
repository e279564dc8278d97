"""The population: a class as a density of true curves, learned through the noise of its members.

    y_true = mu + W z + eps,    z ~ density in r dimensions,    eps ~ N(0, diag psi)

`population` is the class model. What it is made of, in the order in which it is learned: which values to believe (`wild`), axes
in which errors are independent (`rotation`), Gaussian stand-ins for members under other noise (`sites`, `links`,
`gaussian_members`), the choice of rank and shape (`plan`, `rank`, `shape`, `smoothness`), EM for mu, W and psi (`factor`), the
latent space (`latent`, `elimination`), its density (`mixture`, `bandwidth`, `tails`), members left out of their own class
(`crossfit`), what Gaussian stand-ins miss (`correction`), and what an object should have looked like (`reconstruction`).
"""
