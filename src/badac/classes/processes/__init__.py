"""Classes of curves at points of their own: Gaussian processes and populations of functions.

`gp` and `irregular` are the class models. Both are a `process` (a mean function plus factors and a kernel, `kernels`, on a
`basis`), learned from all members together by climbing its evidence (`hyper`) and growing factors one at a time (`growth`).
"""
