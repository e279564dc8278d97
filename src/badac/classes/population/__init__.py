"""The population: a class as a density of true curves, learned through the noise of its members.

    y_true = mu + W z + eps,    z ~ density in r dimensions,    eps ~ N(0, diag psi)

`population` is the class model. In the order in which a class goes through: values that cannot be true (`gross_outliers`),
axes in which errors are independent (`rotation`), Gaussian members in place of those under other noise
(`gaussian_members`), the choice of rank, smoothness and shape by held-out evidence (`plan`, `rank`, `smoothness`), moments,
EM and latent density (`learn`), wider versions of the class (`tails`), members left out of their own class
(`leave_one_out`). The mathematics of mu, W, psi and of the density of z are in `badac.latent`.
"""
