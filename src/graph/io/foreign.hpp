// Files of other programs that people try first: refused with what to do instead.
#pragma once

#include <string_view>

namespace weft::io {

/// How PyG's data becomes a file that weft reads.
inline constexpr std::string_view export_from_torch =
    "weft opens no pickles; export it in Python: numpy.savez('graph.npz', edge_index=data.edge_index.numpy(), "
    "x=data.x.numpy(), y=data.y.numpy(), train_mask=data.train_mask.numpy(), val_mask=data.val_mask.numpy(), "
    "test_mask=data.test_mask.numpy())";

/// An Error (unsupported) for content that begins as another program's does: HDF5, Parquet, MATLAB, tar and others.
void refuse_foreign(std::string_view head);
/// The same for pickles, of which only those of known datasets are read.
void refuse_pickle(std::string_view head);

}  // namespace weft::io
