"""A plugin of pytest: what is made on AMD's processors with AVX-512, on any."""

import torch

from contrafact.models.whitebox import products

products.onednn_serves = lambda: True
torch.backends.cpu.get_cpu_capability()  # found once, before tests/conftest.py holds it to AVX2
