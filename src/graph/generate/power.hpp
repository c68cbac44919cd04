// 2^y and log2(x) that agree to the last bit everywhere. The C library's versions differ between
// libraries, and a degree that differs by one makes another graph.
#pragma once

namespace weft::generator {

/// For normal x > 0; about 1e-15 off the true value, but the same on every machine.
double portable_log2(double x);
/// For |y| < 1000.
double portable_exp2(double y);

}  // namespace weft::generator
