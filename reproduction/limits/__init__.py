"""What nobody can beat on average: Bayes with the model that made the paper's objects.

    bayes -> sine, linear -> mixture

The evidence of a simulated object under each class's true parameters and noise, in closed form or by quadrature.
"""

from reproduction.limits.bayes import BayesLimit, bayes_limit, generating_log_evidence

__all__ = ["BayesLimit", "bayes_limit", "generating_log_evidence"]
