// Spans and views of a temporary graph, which may be the last owner of its arrays, do not compile.
#include "graph/graph_internals.hpp"
#include "weft/dataset.hpp"
#include "weft/graph.hpp"

namespace weft {
namespace {

template <class T>
concept HasOffsets = requires(T (&make)()) {
  make().offsets();
};
template <class T>
concept HasCols = requires(T (&make)()) {
  make().cols();
};
template <class T>
concept HasRows = requires(T (&make)()) {
  make().rows();
};
template <class T>
concept HasEdgeIds = requires(T (&make)()) {
  make().edge_ids();
};
template <class T>
concept HasView = requires(T (&make)()) {
  make().view();
};
template <class T>
concept HasHostView = requires(T (&make)()) {
  make().host_view();
};
template <class T>
concept HasViewWithRows = requires(T (&make)()) {
  make().view_with_rows();
};
template <class T>
concept HasViewWithoutIds = requires(T (&make)()) {
  GraphInternals::view_without_ids(make());
};
template <class T>
concept HasIds = requires(T (&make)()) {
  make().ids();
};
template <class T>
concept HasNames = requires(T (&make)()) {
  make().at(0);
};

static_assert(HasOffsets<const Graph&> && !HasOffsets<Graph> && !HasOffsets<const Graph>);
static_assert(HasCols<const Graph&> && !HasCols<Graph> && !HasCols<const Graph>);
static_assert(HasRows<const Graph&> && !HasRows<Graph> && !HasRows<const Graph>);
static_assert(HasEdgeIds<const Graph&> && !HasEdgeIds<Graph> && !HasEdgeIds<const Graph>);
static_assert(HasView<const Graph&> && !HasView<Graph> && !HasView<const Graph>);
static_assert(HasHostView<const Graph&> && !HasHostView<Graph> && !HasHostView<const Graph>);
static_assert(HasViewWithRows<const Graph&> && !HasViewWithRows<Graph> && !HasViewWithRows<const Graph>);
static_assert(HasViewWithoutIds<const Graph&> && !HasViewWithoutIds<Graph> && !HasViewWithoutIds<const Graph>);
static_assert(HasOffsets<const EdgeOrigin&> && !HasOffsets<EdgeOrigin> && !HasOffsets<const EdgeOrigin>);
static_assert(HasIds<const EdgeOrigin&> && !HasIds<EdgeOrigin> && !HasIds<const EdgeOrigin>);
static_assert(HasNames<const NodeNames&> && !HasNames<NodeNames> && !HasNames<const NodeNames>);

}  // namespace
}  // namespace weft
