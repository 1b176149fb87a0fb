"""High-precision reference values for privacy profiles of discrete Gaussian noise.

A composition is a list of groups (sigma2, count, shift): `count` independent mechanisms, each adding
X ~ N_Z(0, sigma2) (P[X = x] proportional to exp(-x^2 / (2 sigma2)) on the integers) to a value that one
record moves by the integer `shift`.  With mu2 = sum count shift^2 / sigma2 the privacy loss is

    L = sum shift X / sigma2 - mu2 / 2        under P,

and X becomes X + shift under Q.  Four numbers are computed for each epsilon (all inequalities strict):

    p = P[L > eps],   q = Q[L > eps],   delta = E_P[(e^L - e^eps)_+],   complement = 1 - delta.

Everything is ball arithmetic (Arb, through python-flint): a number is a midpoint with a proved radius,
truncation and aliasing errors are bounded by hand and added to the radius, comparisons of losses with
epsilon are made with exact rationals.  Nothing is tilted towards a saddle point: where a quantity is
1e-500, the arithmetic simply carries the bits that this takes.

Two facts about one discrete Gaussian are used throughout:

  * sub-Gaussian:  E[e^{wX}] <= e^{sigma2 w^2 / 2} for real w, hence for a sum K of independent
    multiples, with V = sum of count m^2 sigma2:   P[K >= x] <= e^{-x^2 / (2V)}  (x >= 0).
  * its characteristic function is a ratio of theta functions, positive, and decreasing in the distance
    of the frequency from 2 pi Z (each factor of Jacobi's product is).
"""
