"""What a developer asks of the machine: its ceilings, how near the kernels come to them, which variants are quickest."""
