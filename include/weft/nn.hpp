// Graph neural networks: models as values, training and inference on a CPU or a GPU, with nothing but weft's operators
// and a BLAS underneath.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/context.hpp"
#include "weft/dataset.hpp"
#include "weft/sample.hpp"
#include "weft/tensor.hpp"
#include "weft/types.hpp"

namespace weft {

// ---- Models ----------------------------------------------------------------------------------

enum class Architecture : std::uint8_t { gcn, sage, gin, gat, gatv2 };
enum class Activation : std::uint8_t { none, relu, elu };
enum class LayerNorm : std::uint8_t { none, batch, layer };
/// What a GCN divides a sum over neighbours by: nothing, the source's number of outgoing edges (left), the
/// destination's number of incoming ones (right: a mean), or the root of both. Of edges with weights it is the sum of
/// those weights instead of their number.
enum class DegreeNorm : std::uint8_t { none, left, right, both };

std::string_view name(Architecture architecture);
std::string_view name(Activation activation);
std::string_view name(LayerNorm norm);
std::string_view name(DegreeNorm norm);
Architecture parse_architecture(std::string_view text);
Activation parse_activation(std::string_view text);
LayerNorm parse_layer_norm(std::string_view text);
DegreeNorm parse_degree_norm(std::string_view text);

/// Everything a model is but its parameters. Layers: inputs -> hidden -> ... -> classes, each followed, but for the
/// last, by norm, activation and dropout.
struct ModelSpec {
  Architecture architecture = Architecture::gcn;
  std::int64_t inputs = 0;   // features per node
  std::int64_t classes = 0;  // outputs per node
  std::int64_t layers = 2;
  std::int64_t hidden = 16;       // width of hidden layers; of one head in gat and gatv2
  std::int64_t heads = 1;         // of hidden layers; gat and gatv2 only
  std::int64_t output_heads = 1;  // of the last layer, whose mean is the output
  bool mean_heads = false;        // hidden layers give the mean of their heads, too, and not all of them side by side
  Activation activation = Activation::relu;
  LayerNorm norm = LayerNorm::none;
  bool residual = false;    // a layer's input is added to its output, through a matrix where widths differ
  bool self_loops = false;  // every node is its own neighbour as well
  DegreeNorm degree_norm = DegreeNorm::both;  // gcn
  Reduce aggregate = Reduce::mean;            // sage: sum, mean or max
  bool learn_eps = true;                      // gin: h = mlp((1 + eps) * x + sum of neighbours)
  /// gin: not 0 makes that (1 + eps) * x + lambda * mean of neighbours, which stays in the range of f16 (HalfGNN, Eq.
  /// 4).
  float lambda = 0.0f;
  float slope = 0.2f;            // of leaky_relu in attention's scores
  bool normalise_inputs = true;  // rows of the features are divided by the sum of their magnitudes, as in the papers
  float dropout = 0.5f;
  float attention_dropout = 0.0f;
  /// A node may have several classes, each by itself: what training on such labels makes of a model.
  bool several_labels = false;
  /// Messages are multiplied by the weights of their edges (Dataset::values): what training on a graph with weights
  /// makes of a model, and what inference then expects. With w the weight of the edge from u to v:
  ///   gcn            sum of w x_u, divided by weighted degrees as degree_norm says; nodes of degree 0 get 0
  ///   sage           sum of w x_u; that sum divided by the number of neighbours (mean); largest w x_u (max)
  ///   gin            sum of w x_u, or with lambda that sum divided by the number of neighbours
  ///   gat, gatv2     none: attention weighs edges itself
  /// Self-loops that the model adds have the weight 1. Weights that are all 1 are the same as none, to the bit.
  bool edge_weights = false;

  /// What the papers have used on citation graphs.
  static ModelSpec of(Architecture architecture);
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};
std::string to_string(const ModelSpec& spec);
/// An Error that names the field which makes no model.
void validate(const ModelSpec& spec);

struct Parameter {
  std::string name;     // "layers.0.weight"
  Tensor value;         // f32, on the host
  int layer = 0;        // that it belongs to
  bool decays = false;  // a matrix, not a bias: weight decay counts for it
};

/// Nodes that a model knows one by one, since their features were the identity matrix: its first layer has a row of
/// parameters for each of them, which means nothing to other nodes.
struct KnownNodes {
  std::uint64_t names = 0;  // a hash of their ids or names, in order; 0: they have neither
  std::uint64_t graph = 0;  // a hash of the edges between them
  friend bool operator==(const KnownNodes&, const KnownNodes&) = default;
};

/// A value: printable, savable, loadable.
struct Model {
  ModelSpec spec;
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;  // running means and variances of batch norm
  /// [classes]: what the outputs are called, as in the data that the model was trained on; none where it has no names.
  NodeNames class_names = {};
  std::optional<KnownNodes> known_nodes = {};  // what training on identity features makes of a model
  /// Every edge of the data was given its reverse before training, and should be before inference (symmetrise): what
  /// `weft train --undirected` makes of a model. train() and infer() themselves take edges as they are.
  bool reverses_edges = false;

  Model clone() const;
  std::int64_t num_parameters() const;
};
/// Initialised as Glorot and Bengio do, from the seed alone.
Model make_model(const ModelSpec& spec, std::uint64_t seed);
/// Layers, parameters and their number, a line each.
std::string to_string(const Model& model);
/// A safetensors file: the spec, a version, the names of the classes and a checksum in its metadata, so that other
/// tools read the parameters. Written whole or not at all.
void save_model(const std::string& path, const Model& model);
/// Whether a model's file must have the checksum that save_model writes, and the right one. Other tools that rewrite
/// the file cannot make it: what they wrote is read where it is ignored, and damage to it may then go unnoticed.
enum class Checksum : std::uint8_t { required, ignored };
Model load_model(const std::string& path, Checksum checksum = Checksum::required);

// ---- Training --------------------------------------------------------------------------------

enum class Optimiser : std::uint8_t { adam, adamw, sgd };
/// How the learning rate runs over the epochs: as it is, down a half cosine to 0, or times `gamma` every `every`
/// epochs.
enum class LearningRateSchedule : std::uint8_t { constant, cosine, steps };
/// What the best epoch is chosen by: the highest accuracy in the validation split (then the lowest loss), or that loss.
enum class BestBy : std::uint8_t { accuracy, loss };
std::string_view name(Optimiser optimiser);
std::string_view name(LearningRateSchedule schedule);
std::string_view name(BestBy best);
Optimiser parse_optimiser(std::string_view text);
LearningRateSchedule parse_learning_rate_schedule(std::string_view text);
BestBy parse_best_by(std::string_view text);

/// What a step of training sees: the whole graph, or a batch of it. GraphSAINT draws nodes and takes the edges between
/// them: nodes drawn by their number of outgoing edges + 1 (node), both ends of an edge of a node drawn at random
/// (edge), or nodes on walks from training nodes against the edges' direction (walk). GraphSAGE draws neighbours of
/// training nodes, layer by layer (neighbour).
enum class Sampling : std::uint8_t { none, node, edge, walk, neighbour };
std::string_view name(Sampling sampling);
Sampling parse_sampling(std::string_view text);

/// As a fanout: every neighbour of a node, however many they are.
inline constexpr std::int64_t all_neighbours = -1;

struct SampleOptions {
  Sampling method = Sampling::none;
  std::int64_t batch = 0;        // nodes, edges or walks drawn, or training nodes; 0: 6000, 4000, 3000 or 512
  std::int64_t walk_length = 2;  // walk: steps
  /// neighbour: how many of a node's neighbours are drawn at most (1 to 4096, or all_neighbours), from the last layer
  /// to the first; the last number counts for the layers left. Empty: 25, 10.
  std::vector<std::int64_t> fanouts;
  std::int64_t batches = 0;  // an epoch; 0: as many as hold the graph's nodes, or the training nodes (the most), once
  /// GraphSAINT's: subgraphs are drawn beforehand until each node was in so many on average; losses and messages are
  /// divided by how often their nodes and edges were. 0: by nothing but the degrees within a batch.
  std::int64_t coverage = 50;
  /// Of every row at most so many edges, in steps over the whole graph: with EdgeSampling::fresh others in each, by
  /// TrainOptions::seed. Width 0: all edges. `method` must be none.
  EdgeSample edges = {.method = EdgeSampling::fresh};
};

struct TrainOptions {
  std::int64_t epochs = 200;
  Optimiser optimiser = Optimiser::adam;
  double lr = 0.01;
  double weight_decay = 5e-4;
  /// Weight decay counts for the first layer alone, as in GCN's paper.
  bool decay_first_layer_only = false;
  double momentum = 0.9;  // sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  LearningRateSchedule schedule = LearningRateSchedule::constant;
  std::int64_t warmup = 0;  // epochs over which the rate rises to lr
  std::int64_t every = 50;  // LearningRateSchedule::steps
  double gamma = 0.5;
  std::int64_t patience = 0;    // epochs without a better one after which training ends; 0: never
  std::int64_t eval_every = 1;  // epochs between looks at the validation split; 0: only after the last
  BestBy best_by = BestBy::loss;
  Dtype dtype = Dtype::f32;  // of activations and sparse kernels; parameters and optimiser stay f32
  /// f32 on a GPU: products of dense matrices round their factors to 10 bits (TF32), which tensor cores multiply.
  bool tf32 = false;
  /// Outputs of layers that follow from what the layers keep (GIN's) are made again in the backward, not kept: one
  /// product more a layer, one array of activations less, the same bits. Unset: where that saves 1 GiB or more.
  std::optional<bool> recompute;
  /// Sums over neighbours are made on the way into the product that follows them (see SpmmLinear), in GCN, SAGE and
  /// GIN. Unset: where that pays.
  std::optional<bool> fuse;
  std::uint64_t seed = 0;  // of dropout and of batches
  SampleOptions sample;    // evaluations see the whole graph all the same
  /// Trains as if the dataset had no edge values. Without it gat and gatv2 refuse a dataset that has some.
  bool ignore_weights = false;
  std::string checkpoint;             // file; empty: none
  std::int64_t checkpoint_every = 0;  // epochs; 0: only when training is interrupted
  bool time_operators = false;        // on a GPU epochs are not recorded and replayed then
  bool resume = false;  // go on from `checkpoint` where it exists; its epochs are among those of the result
  static TrainOptions of(Architecture architecture);
};

/// Of one epoch. Accuracy is micro-F1 where nodes have several labels; what was not measured is NaN.
struct EpochFigures {
  std::int64_t epoch = 0;  // from 1
  double loss = 0;         // of the training split, with dropout
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0;
  double val_loss = 0;
  double lr = 0;
  double loss_scale = 1;
  double seconds = 0;  // of training up to here; with `resume` those of earlier runs among them
};

struct TrainResult {
  Model model;  // of the best epoch, or where there is no validation split of the last
  std::vector<EpochFigures> epochs;
  std::int64_t best_epoch = 0;                                     // from 1; 0 where none was looked at
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0;  // of that model
  double seconds = 0;                                              // of this run's training alone
  double epoch_seconds = 0;        // of one epoch, once all is warm: the mean over all but the first three
  std::size_t peak_bytes = 0;      // on the device that was trained on
  std::int64_t batches = 1;        // an epoch
  std::int64_t skipped_steps = 0;  // a gradient was beyond f16, and no parameter changed; with `resume` of all epochs
  bool stopped_early = false, interrupted = false;
  std::vector<OperatorTime> operators;  // of all epochs with their evaluations, where asked for
  /// Checkpoints of this run that could not be written, which does not end training, and why the last of them could
  /// not. The file keeps the last checkpoint that was written whole.
  std::int64_t failed_checkpoints = 0;
  std::string checkpoint_error;

  /// Of the optimiser, one per batch.
  std::int64_t steps() const { return static_cast<std::int64_t>(epochs.size()) * batches; }
};

/// Told of every epoch, in order, though not at once; false ends training as an interrupt does.
using EpochWatcher = std::function<bool(const EpochFigures&)>;

/// Training on the whole graph or on batches of it. The dataset stays on the host; all that training needs goes to the
/// context's device before the first epoch, and batches are drawn there. Results are the same to the bit for the same
/// seed, device and options.
TrainResult train(Context& context, const Dataset& dataset, Model model, const TrainOptions& options,
                  const EpochWatcher& watch = {});

// ---- Inference -------------------------------------------------------------------------------

struct InferOptions {
  Dtype dtype = Dtype::f32;  // of activations and sparse kernels
  bool embeddings = false;   // keep what the last layer reads
  bool time_operators = false;
  EdgeSample edges = {};  // of every row at most so many edges; width 0: all
};

struct Predictions {
  Tensor scores;   // f32 [nodes, classes], on the host: what the softmax or the sigmoid is taken of
  Tensor classes;  // i32 [nodes], or f32 [nodes, classes] of 0 and 1 where the model's nodes have several
  /// f32 [nodes, width], on the host: the output of the last hidden layer after norm and activation, which the last
  /// layer reads. Heads stand side by side, or are averaged where the model does so. Empty where not asked for.
  Tensor embeddings;
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0, accuracy = 0;  // NaN without such labels
  double seconds = 0;                                                            // of the forward pass
  std::vector<OperatorTime> operators;                                           // of the forward pass, where asked for
  double sampling_rate = 1;  // edges that were kept, of all that the model's graph has
};
/// Any graph with as many features will do, whether the model has seen it or not, but for a model of known_nodes: other
/// names or ids of nodes are refused then. Where model and data both have names of classes, labels are compared with
/// predictions by name, in whatever order they stand, and a class of the data that the model does not have is refused.
/// Edge values count for models with ModelSpec::edge_weights; where there are none, every edge has the weight 1.
/// Embeddings of a model of one layer, which has no hidden one, are refused.
Predictions infer(Context& context, const Dataset& dataset, const Model& model, const InferOptions& options);
Predictions infer(Context& context, const Dataset& dataset, const Model& model, Dtype dtype = Dtype::f32);
/// f32 of the scores' shape: the softmax of every row, or where nodes may have several classes the sigmoid of every
/// score. Scores are f32 [nodes, classes] on the host; large ones do not overflow.
Tensor probabilities(const Tensor& scores, bool several_labels);

}  // namespace weft
