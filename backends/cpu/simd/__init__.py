"""Vector arithmetic: from expression graphs to LLVM, small matrix products, reductions."""
