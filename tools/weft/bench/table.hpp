// A benchmark's records as people read them: a row each while it runs, the peers of a GPU in a table of their own.
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include "bench/record.hpp"
#include "text.hpp"

namespace weft::tool {

struct TableOptions {
  DeviceKind device = DeviceKind::cpu;
  OpKind kind = OpKind::spmm;
  bool peers = false, policies = false, samples = false, linear = false;
};

class ResultTable {
 public:
  ResultTable(std::FILE* file, const TableOptions& options);
  void add(const Record& record);

 private:
  void add_host_peers(const Record& record, std::vector<std::string>& cells) const;
  void add_best_peer(const Record& record, std::vector<std::string>& cells) const;

  TableOptions options_;
  std::unique_ptr<TextTable> table_;
};

/// A row for every algorithm beside every record; nothing where there were none.
void print_peers(std::FILE* file, const std::vector<Record>& records);

}  // namespace weft::tool
