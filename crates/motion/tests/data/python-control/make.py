"""Systems as python-control writes them out, with what it computes of them. Run with python-control and its printed version."""
import json, os, sys
import numpy as np, control as ct
from scipy.linalg import expm
from scipy.optimize import brentq

here = os.path.dirname(os.path.abspath(__file__))

def write(name, sys_, **more):
    if isinstance(sys_, ct.StateSpace):
        data = {k: getattr(sys_, k).tolist() for k in "ABCD"}
    else:
        data = {"num": sys_.num[0][0].tolist(), "den": sys_.den[0][0].tolist()}
    data["dt"] = sys_.dt
    data.update(more)
    with open(os.path.join(here, name), "w") as file:
        json.dump(data, file)

s = ct.tf("s")
h = 0.001
# A motor with an elastic shaft and a current loop.
motor = ct.tf([4.545e4], [1, 9.09, 0]) * ct.tf([1], [1 / 3000.0, 1])
axis = ct.ss([[0, 1, 0, 0], [-4000, -8, 4000, 8], [0, 0, 0, 1], [8000, 16, -8000, -16.5]],
             [[0], [0], [0], [40]], [[1, 0, 0, 0]], [[0]])
write("motor-tf.json", motor)
write("motor-sampled-tf.json", motor.sample(h, "zoh"))
write("axis-ss.json", axis)
write("axis-sampled-ss.json", axis.sample(h, "zoh"))
os.makedirs(os.path.join(here, "axis"), exist_ok=True)
for k in "ABC":
    np.savetxt(os.path.join(here, "axis", k + ".csv"), getattr(axis, k), delimiter=",")

figures = {"python-control": ct.__version__}
# PD u = K (e + Td (e - e_prev)/h): where the sampled loop has the gain one, and its phase there.
K, Td = 0.12, 0.01
loop = ct.tf([K * (1 + Td / h), -K * Td / h], [1, 0], h) * motor.sample(h, "zoh")
size = lambda w: abs(loop(np.exp(1j * w * h))) - 1
crossover = brentq(size, 1, 1000, xtol=1e-12)
figures["motor crossover"] = crossover
figures["motor degrees"] = 180 + float(np.degrees(np.angle(loop(np.exp(1j * crossover * h)))))
# The closed loop of the axis, with the error of the sample before as the controller's state.
plant = axis.sample(h, "zoh")
A, B, C = plant.A, plant.B, plant.C
K, Td = 8.0, 0.03
c = ct.ss([[0]], [[1]], [[K * Td / h]], [[-K * (1 + Td / h)]], h)
top = np.hstack([A + B @ c.D @ C, B @ c.C])
bottom = np.hstack([c.B @ C, c.A])
F = np.vstack([top, bottom])
figures["axis radius"] = float(max(abs(np.linalg.eigvals(F))))
# Covariance at the samples, with white noise of intensity 1 at the input of the continuous plant.
n = A.shape[0]
M = np.block([[-axis.A, axis.B @ axis.B.T], [np.zeros((n, n)), axis.A.T]]) * h
E = expm(M); Ad = E[n:, n:].T; R = Ad @ E[:n, n:]
W = np.zeros((n + 1, n + 1)); W[:n, :n] = R
P = ct.dlyap(F, W)
# Mean of y'y over a period, by 2000 steps of it.
N = 2000
small = axis.sample(h / N, "zoh")
Ms = np.block([[-axis.A, axis.B @ axis.B.T], [np.zeros((n, n)), axis.A.T]]) * (h / N)
Es = expm(Ms); Rs = Es[n:, n:].T @ Es[:n, n:]
Z = np.zeros((n + 1, n + 1))
Z[:n, :n] = small.A; Z[:n, n:] = small.B; Z[n, n] = 1
u = np.hstack([c.D @ C, c.C])
S = np.vstack([np.hstack([np.eye(n), np.zeros((n, 1))]), u])
X = S @ P @ S.T
def rate(X): return float((axis.C @ X[:n, :n] @ axis.C.T)[0, 0])
total = 0.5 * rate(X)
for k in range(N):
    X = Z @ X @ Z.T
    X[:n, :n] += Rs
    total += rate(X) if k < N - 1 else 0.5 * rate(X)
figures["axis mean y2"] = total / N
json.dump(figures, open(os.path.join(here, "figures.json"), "w"), indent=1)
print(json.dumps(figures, indent=1))
