// Models over graphs whose edges have weights: what every layer makes of them, and which weights are refused.
#include <cmath>
#include <filesystem>
#include <limits>

#include "nn/edge_weights.hpp"
#include "nn/gradient_check.hpp"
#include "nn/safetensors.hpp"
#include "support/errors.hpp"
#include "support/oracle.hpp"

namespace weft::test {
namespace {

struct Edge {
  NodeId from, to;
  double weight;
};

/// Edges in no order: two between the same nodes, a self-loop of its own weight, weights that cancel out at node 5, and
/// node 6 without any.
const std::vector<Edge> listed{{3, 1, 0.5},  {0, 1, 2},    {1, 0, 1.5}, {3, 1, 0.25}, {2, 2, 3}, {4, 2, 1.5},
                               {1, 3, 0.75}, {2, 4, 1.25}, {0, 5, 1},   {4, 5, -1},   {5, 4, 2}, {3, 0, 0}};
constexpr std::int64_t listed_nodes = 7;

Dataset listed_dataset(std::int64_t features, std::int64_t classes) {
  Dataset d;
  std::vector<NodeId> to, from;
  std::vector<double> weights;
  for (const Edge& e : listed) {
    to.push_back(e.to);
    from.push_back(e.from);
    weights.push_back(e.weight);
  }
  d.name = "listed";
  d.graph = Graph::from_edges(listed_nodes, {.sources = from, .destinations = to});
  d.values = Tensor::from(weights, Shape(static_cast<std::int64_t>(weights.size())), Dtype::f32);
  d.features = random_tensor(Shape(listed_nodes, features), Dtype::f32, 11);
  d.classes = classes;
  d.labels = Tensor::zeros(Shape(listed_nodes), Dtype::i32);
  d.train = Tensor::zeros(Shape(1), Dtype::i32);
  return d;
}

using Rows = std::vector<std::vector<double>>;  // [nodes][features]

/// Plain loops over the listed edges.
struct Reference {
  const ModelSpec& spec;
  std::vector<Edge> edges;
  std::vector<double> in = std::vector<double>(listed_nodes), out = in, count = in;

  explicit Reference(const ModelSpec& s) : spec(s), edges(listed) {
    if (spec.self_loops)
      for (NodeId v = 0; v < listed_nodes; ++v)
        if (std::ranges::none_of(listed, [v](const Edge& e) { return e.from == v && e.to == v; }))
          edges.push_back({v, v, 1});
    for (const Edge& e : edges) {
      in[static_cast<std::size_t>(e.to)] += e.weight;
      out[static_cast<std::size_t>(e.from)] += e.weight;
      ++count[static_cast<std::size_t>(e.to)];
    }
  }

  double factor(const Edge& e) const {
    const double d_in = in[static_cast<std::size_t>(e.to)], d_out = out[static_cast<std::size_t>(e.from)];
    const auto over = [&](double divisor) { return divisor > 0 ? e.weight / divisor : 0; };
    if (spec.architecture == Architecture::gcn) switch (spec.degree_norm) {
        case DegreeNorm::left: return over(d_out);
        case DegreeNorm::right: return over(d_in);
        case DegreeNorm::both: return over(std::sqrt(d_in) * std::sqrt(d_out));
        default: return e.weight;
      }
    const bool mean = spec.architecture == Architecture::sage ? spec.aggregate == Reduce::mean : spec.lambda != 0;
    const double lambda = spec.architecture == Architecture::gin && spec.lambda != 0 ? spec.lambda : 1;
    return mean ? lambda * e.weight / count[static_cast<std::size_t>(e.to)] : e.weight;
  }
  Rows aggregate(const Rows& x) const {
    Rows y(listed_nodes, std::vector<double>(x[0].size(), 0));
    std::vector<bool> any(listed_nodes, false);
    for (const Edge& e : edges) {
      const auto v = static_cast<std::size_t>(e.to);
      for (std::size_t f = 0; f < x[0].size(); ++f) {
        const double message = factor(e) * x[static_cast<std::size_t>(e.from)][f];
        const bool max = spec.architecture == Architecture::sage && spec.aggregate == Reduce::max;
        y[v][f] = !max ? y[v][f] + message : any[v] ? std::max(y[v][f], message) : message;
      }
      any[v] = true;
    }
    return y;
  }
};

Rows rows_of(const Tensor& t) {
  const std::vector<double> all = doubles(t);
  const auto width = static_cast<std::size_t>(t.shape().row_size());
  Rows rows;
  for (std::size_t i = 0; i < all.size(); i += width)
    rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                      all.begin() + static_cast<std::ptrdiff_t>(i + width));
  return rows;
}
Rows product(const Rows& x, const Rows& w) {
  Rows y(x.size(), std::vector<double>(w[0].size(), 0));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t o = 0; o < w[0].size(); ++o) y[r][o] += x[r][i] * w[i][o];
  return y;
}
void add(Rows& to, const Rows& more, double times = 1) {
  for (std::size_t r = 0; r < to.size(); ++r)
    for (std::size_t i = 0; i < to[r].size(); ++i) to[r][i] += times * more[more.size() == 1 ? 0 : r][i];
}

/// Of a model of one layer.
Rows expected_scores(const Dataset& dataset, const Model& model) {
  const auto parameter = [&](const std::string& name) {
    for (const Parameter& p : model.parameters)
      if (p.name == "layers.0." + name) return p.value.shape().rank == 1 ? Rows{doubles(p.value)} : rows_of(p.value);
    ADD_FAILURE() << "no parameter " << name;
    return Rows{};
  };
  const Rows x = rows_of(dataset.features);
  Rows sums = Reference(model.spec).aggregate(x), out;
  switch (model.spec.architecture) {
    case Architecture::gcn: out = product(sums, parameter("weight")); break;
    case Architecture::sage:
      out = product(x, parameter("self.weight"));
      add(out, product(sums, parameter("neighbours.weight")));
      break;
    default:
      add(sums, x, 1 + parameter("eps")[0][0]);
      sums = product(sums, parameter("first.weight"));
      add(sums, parameter("first.bias"));
      for (std::vector<double>& row : sums)
        for (double& value : row) value = std::max(value, 0.0);
      out = product(sums, parameter("second.weight"));
  }
  add(out, parameter("bias"));
  return out;
}

std::vector<ModelSpec> one_layer_specs() {
  std::vector<ModelSpec> specs;
  const auto add_spec = [&](Architecture a, auto change) {
    for (const bool loops : {false, true}) {
      ModelSpec spec = ModelSpec::of(a);
      spec.layers = 1;
      spec.hidden = 3;
      spec.self_loops = loops;
      spec.normalise_inputs = false;
      spec.edge_weights = true;
      change(spec);
      specs.push_back(spec);
    }
  };
  for (const DegreeNorm norm : {DegreeNorm::none, DegreeNorm::left, DegreeNorm::right, DegreeNorm::both})
    add_spec(Architecture::gcn, [=](ModelSpec& s) { s.degree_norm = norm; });
  for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max})
    add_spec(Architecture::sage, [=](ModelSpec& s) { s.aggregate = reduce; });
  for (const float lambda : {0.0f, 0.5f}) add_spec(Architecture::gin, [=](ModelSpec& s) { s.lambda = lambda; });
  return specs;
}

TEST(nn_weighted_models, give_what_loops_over_the_edges_give) {
  for (ModelSpec spec : one_layer_specs())
    for (const auto& [features, classes] : {std::pair<std::int64_t, std::int64_t>{2, 5}, {5, 2}}) {
      const Dataset dataset = listed_dataset(features, classes);
      spec.inputs = features;
      spec.classes = classes;
      Model model = make_model(spec, 5);
      for (Parameter& p : model.parameters)  // biases and eps are 0 at first
        for (float& value : p.value.span<float>()) value += 0.1f;
      Context context = Context::cpu(2);
      const Rows expected = expected_scores(dataset, model);
      for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
        const double tolerance = dtype == Dtype::f16    ? 0.02
                                 : dtype == Dtype::bf16 ? 0.15
                                 : dtype == Dtype::f32  ? 1e-5
                                                        : 1e-6;
        const Rows got = rows_of(infer(context, dataset, model, dtype).scores);
        for (std::size_t v = 0; v < got.size(); ++v)
          for (std::size_t c = 0; c < got[v].size(); ++c)
            EXPECT_NEAR(got[v][c], expected[v][c], tolerance * std::max(1.0, std::fabs(expected[v][c])))
                << to_string(spec) << " node " << v << " class " << c << " " << name(dtype);
      }
    }
}

TEST(nn_weighted_models, read_weights_of_every_type) {
  Dataset dataset = listed_dataset(3, 2);
  for (std::size_t i = 0; i < listed.size(); ++i) dataset.values.span<float>()[i] = static_cast<float>(i % 3);
  ModelSpec spec = spec_for(dataset, Architecture::gcn);
  spec.edge_weights = true;
  const Model model = make_model(spec, 5);
  Context context = Context::cpu(2);
  const Tensor expected = infer(context, dataset, model).scores.clone();
  for (const Dtype dtype : {Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i32, Dtype::i64}) {
    dataset.values = dataset.values.to(dtype);
    EXPECT_TRUE(bitwise_equal(infer(context, dataset, model).scores, expected)) << name(dtype);
  }
}

class nn_weighted_gradients : public ::testing::TestWithParam<GradientCase> {};
INSTANTIATE_TEST_SUITE_P(layers, nn_weighted_gradients, ::testing::ValuesIn(weighted_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(nn_weighted_gradients, are_those_of_differences) {
  const GradientCase& c = GetParam();
  Dataset dataset = small_dataset(40, 6, 3, c.sparse, c.several_labels, 32);
  add_edge_weights(dataset, 33);
  ModelSpec spec = c.spec(dataset);
  spec.edge_weights = true;
  expect_gradients_of_differences(dataset, spec, 34);
}

TrainResult trained(const Dataset& dataset, const ModelSpec& spec,
                    const std::function<void(TrainOptions&)>& change = {}) {
  TrainOptions options;
  options.epochs = 6;
  if (change) change(options);
  Context context = Context::cpu(2);
  return train(context, dataset, make_model(spec, 1), options);
}

TEST(nn_weighted_models, of_weights_that_are_all_1_are_those_without_any_to_the_bit) {
  const Dataset plain = small_dataset(60, 6, 3, false, false, 35);
  Dataset ones = small_dataset(60, 6, 3, false, false, 35), weighted = small_dataset(60, 6, 3, false, false, 35);
  ones.values = Tensor::from(std::vector<double>(static_cast<std::size_t>(ones.graph.num_edges()), 1),
                             Shape(ones.graph.num_edges()), Dtype::f32);
  add_edge_weights(weighted, 36);
  for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat}) {
    const ModelSpec spec = spec_for(plain, a);
    const TrainResult expected = trained(plain, spec), of_ones = trained(ones, spec);
    EXPECT_EQ(losses_of(of_ones), losses_of(expected)) << name(a);
    EXPECT_EQ(of_ones.model.spec, expected.model.spec);
    const TrainResult ignoring = trained(weighted, spec, [](TrainOptions& o) { o.ignore_weights = true; });
    EXPECT_EQ(losses_of(ignoring), losses_of(expected)) << name(a);
    EXPECT_FALSE(ignoring.model.spec.edge_weights);
    if (nn::attends(a)) continue;
    const TrainResult using_them = trained(weighted, spec);
    EXPECT_NE(losses_of(using_them), losses_of(expected)) << name(a);
    EXPECT_TRUE(using_them.model.spec.edge_weights);
  }
}

TEST(nn_weighted_models, of_gcn_take_weights_relative_to_each_other) {
  Dataset dataset = small_dataset(60, 6, 3, false, false, 37);
  add_edge_weights(dataset, 38);
  Context context = Context::cpu(2);
  for (const DegreeNorm norm : {DegreeNorm::both, DegreeNorm::right}) {
    ModelSpec spec = spec_for(dataset, Architecture::gcn);
    spec.degree_norm = norm;
    spec.self_loops = false;  // whose weights would stay
    spec.edge_weights = true;
    const Model model = make_model(spec, 2);
    const std::vector<double> once = doubles(infer(context, dataset, model, Dtype::f64).scores);
    Tensor before = dataset.values.clone();
    for (float& weight : dataset.values.span<float>()) weight *= 3;
    const std::vector<double> thrice = doubles(infer(context, dataset, model, Dtype::f64).scores);
    dataset.values = std::move(before);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(thrice[i], once[i], 1e-6) << name(norm);
  }
}

TEST(nn_weighted_models, infer_what_training_measured_and_follow_their_own_spec) {
  const Dataset plain = small_dataset(60, 6, 3, false, false, 39);
  Dataset weighted = small_dataset(60, 6, 3, false, false, 39);
  add_edge_weights(weighted, 40);
  Context context = Context::cpu(2);
  for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
    TrainResult result = trained(weighted, spec_for(weighted, a));
    EXPECT_EQ(infer(context, weighted, result.model).val_accuracy, result.val_accuracy) << name(a);
    const Tensor with = infer(context, weighted, result.model).scores.clone();
    const Tensor without = infer(context, plain, result.model).scores.clone();
    EXPECT_FALSE(bitwise_equal(with, without)) << name(a);
    result.model.spec.edge_weights = false;
    EXPECT_TRUE(bitwise_equal(infer(context, weighted, result.model).scores, without)) << name(a);
  }
}

TEST(nn_weighted_models, train_on_batches_of_every_sampler) {
  Dataset dataset = small_dataset(300, 12, 3, false, false, 41);
  add_edge_weights(dataset, 42);
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour})
    for (const std::int64_t coverage : {0, 10})
      for (const Architecture a : {Architecture::gcn, Architecture::sage, Architecture::gin})
        for (const Reduce reduce : {Reduce::mean, Reduce::max}) {
          if (a != Architecture::sage && reduce == Reduce::max) continue;
          ModelSpec spec = spec_for(dataset, a);
          spec.aggregate = reduce;
          const auto sampled = [&](bool ignores) {
            return losses_of(trained(dataset, spec, [&](TrainOptions& o) {
              o.sample = sampling(method, 40);
              o.sample.coverage = coverage;
              o.ignore_weights = ignores;
            }));
          };
          const std::vector<double> losses = sampled(false);
          const std::string what = fmt::format("{} {} {} {}", name(method), coverage, name(a), name(reduce));
          for (const double loss : losses) ASSERT_TRUE(std::isfinite(loss)) << what;
          EXPECT_EQ(sampled(false), losses) << what;
          EXPECT_NE(sampled(true), losses) << what;
        }
}

TEST(nn_weighted_models, say_which_weight_is_wrong) {
  Dataset dataset = listed_dataset(3, 2);
  const auto refused = [&](const ModelSpec& spec, const std::string& part, ErrorCode code = ErrorCode::invalid_argument,
                           const std::function<void(TrainOptions&)>& change = {}) {
    expect_error([&] { trained(dataset, spec, change); }, code,
                 [&](const std::string& message) {
                   EXPECT_NE(message.find(part), std::string::npos) << message;
                   EXPECT_NE(message.find("--ignore-weights"), std::string::npos) << message;
                 },
                 part, __FILE__, __LINE__);
    trained(dataset, spec, [&](TrainOptions& o) {
      if (change) change(o);
      o.ignore_weights = true;
    });
  };
  const auto spec = [&](Architecture a) { return spec_for(dataset, a); };
  refused(spec(Architecture::gat), "listed have weights and gat has no use for them", ErrorCode::unsupported);
  refused(spec(Architecture::gatv2), "gatv2", ErrorCode::unsupported);
  float& weight = dataset.values.span<float>()[6];
  weight = std::numeric_limits<float>::quiet_NaN();
  refused(spec(Architecture::gcn), "edge 6 (node 1 to node 3) has the weight nan: expected a finite number");
  weight = -std::numeric_limits<float>::infinity();
  refused(spec(Architecture::gin), "edge 6 (node 1 to node 3) has the weight -inf");
  weight = 1e5f;
  const auto in_f16 = [](TrainOptions& o) { o.dtype = Dtype::f16; };
  refused(spec(Architecture::sage), "has the weight 100000: expected at most 65504 in f16", ErrorCode::invalid_argument,
          in_f16);
  trained(dataset, spec(Architecture::gcn), in_f16);  // whose weights are shares of their sums
  weight = -4;
  refused(spec(Architecture::gcn), "node 3's incoming edges add up to -3: expected 0 or more for degree norm both");
  ModelSpec undivided = spec(Architecture::gcn);
  undivided.degree_norm = DegreeNorm::none;
  trained(dataset, undivided);
  trained(dataset, spec(Architecture::sage));
  weight = 0.75f;
  refused(spec(Architecture::gcn), "sample.coverage is 0 and some edges have negative weights",
          ErrorCode::invalid_argument, [](TrainOptions& o) {
            o.sample = sampling(Sampling::edge, 40);
            o.sample.coverage = 0;
          });
  dataset.values = random_tensor(Shape(static_cast<std::int64_t>(listed.size()), 2), Dtype::f32, 3);
  refused(spec(Architecture::gcn), "[12, 2]: expected [12], one weight per edge");
}

TEST(nn_weighted_models, go_on_only_from_checkpoints_of_weighted_training) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("weft-weighted-{}.checkpoint", ::getpid())).string();
  const Dataset plain = small_dataset(60, 6, 3, false, false, 43);
  Dataset weighted = small_dataset(60, 6, 3, false, false, 43);
  add_edge_weights(weighted, 44);
  const ModelSpec spec = spec_for(plain, Architecture::gcn);
  const auto checkpointed = [&](TrainOptions& o) { o.checkpoint = file, o.checkpoint_every = 2, o.resume = true; };
  const TrainResult whole = trained(weighted, spec);
  trained(weighted, spec, [&](TrainOptions& o) { checkpointed(o), o.epochs = 3; });
  expect_refused([&] { trained(plain, spec, checkpointed); }, "edge weights");
  EXPECT_EQ(losses_of(trained(weighted, spec, checkpointed)), losses_of(whole));
  std::filesystem::remove(file);
}

TEST(nn_weighted_models, of_files_from_before_weights_counted_ignore_them) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("weft-weighted-{}.safetensors", ::getpid())).string();
  ModelSpec spec = ModelSpec::of(Architecture::gcn);
  spec.inputs = 3;
  spec.classes = 2;
  save_model(file, make_model(spec, 7));
  nn::TensorFile f = nn::read_tensors(file);
  std::string& text = f.metadata["weft.spec"];
  const std::string key = "\"edge_weights\":false,";
  ASSERT_NE(text.find(key), std::string::npos) << text;
  text.erase(text.find(key), key.size());
  nn::write_tensors(file, f);
  EXPECT_FALSE(load_model(file).spec.edge_weights);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weft::test
