// Uses every layer of an installed weft: an operator on a generated graph, and a file written and read.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

int main() {
  const weft::Graph grid = weft::generate("grid:side=2").graph;
  weft::Context context = weft::Context::cpu(2);
  const weft::Tensor ones = weft::Tensor::from(std::vector<float>(4, 1.0f), weft::Shape(4));
  const weft::Tensor degrees = weft::spmv(context, grid, ones);
  float edges = 0;
  for (const float degree : degrees.span<float>()) edges += degree;

  const std::string file = std::tmpnam(nullptr) + std::string(".npz");
  weft::write_graph(file, grid);
  const weft::Graph back = weft::read_graph(file).graph;
  std::remove(file.c_str());
  std::printf("weft %s: %d %g\n", std::string(weft::version()).c_str(), static_cast<int>(back.num_rows()), edges);
}
