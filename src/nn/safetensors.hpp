// Tensors with names in one file, as https://github.com/huggingface/safetensors lays them out: 8 bytes with the
// header's length, little-endian; the header, JSON {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin,
// end]}, "__metadata__": {string: string}}; the data, without gaps.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/io/source.hpp"
#include "weft/nn.hpp"

namespace weft::nn {

struct NamedTensor {
  std::string name;  // any UTF-8 but "__metadata__"
  Tensor value;      // on the host
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;
};

/// Written whole or not at all, the tensors in the order given, with two entries more in the metadata:
/// "weft.checksum_kind", "crc32", and "weft.checksum", the 8 hexadecimal digits of the CRC-32 of
///   all that stands before the data, with zeros for these 8 digits, followed by
///   every tensor's own CRC-32, in the order of the data, as 8 hexadecimal digits.
/// Two, so that damage to the name of either shows.
/// An Error (invalid_argument) for a tensor that is not on the host, a name given twice, text that is not UTF-8, and
/// metadata that has these two keys already.
void write_tensors(const std::string& path, const TensorFile& file);

/// The tensors in the order of the data, the metadata without the two entries of the checksum. A scalar is read as [1].
/// An Error (invalid_file) for all that breaks the layout or that no Tensor can hold, and where the checksum is another
/// or missing, unless it is `ignored`. Asks for no memory that the file's size does not justify.
TensorFile read_tensors(const std::string& path, Checksum checksum = Checksum::required);
/// The same of a file that is in memory.
TensorFile read_tensors(const io::Source& source, Checksum checksum = Checksum::required);

/// The tensor of that name; an Error (invalid_file) that names the file where there is none.
const Tensor& tensor_named(const TensorFile& file, std::string_view name, const std::string& path);
Tensor& tensor_named(TensorFile& file, std::string_view name, const std::string& path);

}  // namespace weft::nn
