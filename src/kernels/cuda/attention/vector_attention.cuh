// All messages of attention with scores from vectors: forward, and what GATv2's backward sends.
#pragma once

#include "kernels/cuda/attention/leaky_sum.cuh"
#include "kernels/cuda/attention/vector_scores.cuh"
