// All of weft's public interface.
#pragma once

#include "weft/context.hpp"
#include "weft/dataset.hpp"
#include "weft/dense.hpp"
#include "weft/error.hpp"
#include "weft/generate.hpp"
#include "weft/graph.hpp"
#include "weft/half.hpp"
#include "weft/io.hpp"
#include "weft/nn.hpp"
#include "weft/ops.hpp"
#include "weft/plan.hpp"
#include "weft/reorder.hpp"
#include "weft/sample.hpp"
#include "weft/tensor.hpp"
#include "weft/types.hpp"
#include "weft/version.hpp"
