// Graph neural networks: models as plain values, and training and inference on a CPU or a GPU, built only on weft's
// operators and a BLAS.
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
/// The divisor of a GCN's sum over neighbours: none, the source's out-degree (left), the destination's in-degree
/// (right: a mean), or the root of their product. For weighted edges a degree is the sum of the weights.
enum class DegreeNorm : std::uint8_t { none, left, right, both };

std::string_view name(Architecture architecture);
std::string_view name(Activation activation);
std::string_view name(LayerNorm norm);
std::string_view name(DegreeNorm norm);
Architecture parse_architecture(std::string_view text);
Activation parse_activation(std::string_view text);
LayerNorm parse_layer_norm(std::string_view text);
DegreeNorm parse_degree_norm(std::string_view text);

/// Everything about a model except its parameters. Layers: inputs -> hidden -> ... -> classes, each except the last
/// followed by norm, activation and dropout.
struct ModelSpec {
  Architecture architecture = Architecture::gcn;
  std::int64_t inputs = 0;   // features per node
  std::int64_t classes = 0;  // outputs per node
  std::int64_t layers = 2;
  std::int64_t hidden = 16;       // width of hidden layers; per head in gat and gatv2
  std::int64_t heads = 1;         // of hidden layers; gat and gatv2 only
  std::int64_t output_heads = 1;  // of the last layer, which outputs their mean
  bool mean_heads = false;        // hidden layers also output the mean of their heads, and do not concatenate them
  Activation activation = Activation::relu;
  LayerNorm norm = LayerNorm::none;
  bool residual = false;    // adds a layer's input to its output, through a matrix if the widths differ
  bool self_loops = false;  // every node is also its own neighbour
  DegreeNorm degree_norm = DegreeNorm::both;  // gcn
  Reduce aggregate = Reduce::mean;            // sage: sum, mean or max
  bool learn_eps = true;                      // gin: h = mlp((1 + eps) * x + sum of neighbours)
  /// gin: if not 0, h = mlp((1 + eps) * x + lambda * mean of neighbours), which stays in f16's range (HalfGNN, Eq. 4).
  float lambda = 0.0f;
  float slope = 0.2f;            // of leaky_relu in attention scores
  bool normalise_inputs = true;  // divides each row of features by the sum of its magnitudes, as in the papers
  float dropout = 0.5f;
  float attention_dropout = 0.0f;
  /// A node may have several classes, independently of each other. Training on such labels sets it.
  bool several_labels = false;
  /// Messages are multiplied by their edges' weights (Dataset::values). Training on a weighted graph sets it, and
  /// inference then expects weights. With w the weight of the edge from u to v:
  ///   gcn            sum of w x_u, divided by weighted degrees as degree_norm says; nodes of degree 0 get 0
  ///   sage           sum of w x_u; that sum divided by the number of neighbours (mean); largest w x_u (max)
  ///   gin            sum of w x_u, or with lambda that sum divided by the number of neighbours
  ///   gat, gatv2     weights are not used: attention computes its own
  /// Self-loops that the model adds have weight 1. Weights that are all 1 give bitwise the same as no weights.
  bool edge_weights = false;

  /// The papers' settings for citation graphs.
  static ModelSpec of(Architecture architecture);
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};
std::string to_string(const ModelSpec& spec);
/// Throws an Error that names the invalid field.
void validate(const ModelSpec& spec);

struct Parameter {
  std::string name;     // "layers.0.weight"
  Tensor value;         // f32, on the host
  int layer = 0;        // the layer that it belongs to
  bool decays = false;  // weight decay applies: a matrix, not a bias
};

/// The nodes of a model that was trained on identity features: its first layer has a row of parameters per node, which
/// means nothing for other nodes.
struct KnownNodes {
  std::uint64_t names = 0;  // a hash of their ids or names, in order; 0: they have neither
  std::uint64_t graph = 0;  // a hash of the edges between them
  friend bool operator==(const KnownNodes&, const KnownNodes&) = default;
};

/// A model is a value: it can be printed, saved and loaded.
struct Model {
  ModelSpec spec;
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;  // running means and variances of batch norm
  /// [classes]: the names of the outputs, from the data that the model was trained on; none if that has no names.
  NodeNames class_names = {};
  std::optional<KnownNodes> known_nodes = {};  // set by training on identity features
  /// Every edge of the data was given its reverse before training, and should be before inference (symmetrise). `weft
  /// train --undirected` sets it. train() and infer() themselves use the edges as they are.
  bool reverses_edges = false;

  Model clone() const;
  std::int64_t num_parameters() const;
};
/// Initialises parameters by Glorot and Bengio's method; they depend only on the spec and the seed.
Model make_model(const ModelSpec& spec, std::uint64_t seed);
/// Layers, parameters and their number, one line each.
std::string to_string(const Model& model);
/// Writes a safetensors file, whose parameters other tools can read, with the spec, a version, the class names and a
/// checksum in its metadata. The file is written whole or not at all.
void save_model(const std::string& path, const Model& model);
/// Whether a model file must have the checksum that save_model writes, with the right value. Other tools that rewrite
/// the file cannot compute it: `ignored` reads their files, but may not notice damage.
enum class Checksum : std::uint8_t { required, ignored };
Model load_model(const std::string& path, Checksum checksum = Checksum::required);

// ---- Training --------------------------------------------------------------------------------

enum class Optimiser : std::uint8_t { adam, adamw, sgd };
/// The learning rate over the epochs: constant, down a half cosine to 0, or multiplied by `gamma` every `every` epochs.
enum class LearningRateSchedule : std::uint8_t { constant, cosine, steps };
/// The criterion for the best epoch: the highest accuracy on the validation split (then the lowest loss), or that loss.
enum class BestBy : std::uint8_t { accuracy, loss };
std::string_view name(Optimiser optimiser);
std::string_view name(LearningRateSchedule schedule);
std::string_view name(BestBy best);
Optimiser parse_optimiser(std::string_view text);
LearningRateSchedule parse_learning_rate_schedule(std::string_view text);
BestBy parse_best_by(std::string_view text);

/// The input of a training step: the whole graph, or a batch of it. GraphSAINT draws nodes and takes the edges between
/// them: nodes drawn by their out-degree + 1 (node), both endpoints of an edge of a random node (edge), or nodes on
/// walks from training nodes against the edges' direction (walk). GraphSAGE draws neighbours of training nodes, layer
/// by layer (neighbour).
enum class Sampling : std::uint8_t { none, node, edge, walk, neighbour };
std::string_view name(Sampling sampling);
Sampling parse_sampling(std::string_view text);

/// A fanout that takes every neighbour of a node.
inline constexpr std::int64_t all_neighbours = -1;

struct SampleOptions {
  Sampling method = Sampling::none;
  std::int64_t batch = 0;        // nodes, edges or walks drawn, or training nodes; 0: 6000, 4000, 3000 or 512
  std::int64_t walk_length = 2;  // walk: steps
  /// neighbour: the largest number of neighbours drawn per node (1 to 4096, or all_neighbours), from the last layer to
  /// the first; the last number also applies to the remaining layers. Empty: 25, 10.
  std::vector<std::int64_t> fanouts;
  std::int64_t batches = 0;  // per epoch; 0: as many as hold the graph's nodes, or the training nodes (the most), once
  /// GraphSAINT only: subgraphs are drawn beforehand until each node was in `coverage` of them on average; losses and
  /// messages are divided by how often their nodes and edges were drawn. 0: only by the degrees within a batch.
  std::int64_t coverage = 50;
  /// Keeps at most `width` edges per row in steps over the whole graph; EdgeSampling::fresh draws others in each step,
  /// from TrainOptions::seed. Width 0: all edges. `method` must be none.
  EdgeSample edges = {.method = EdgeSampling::fresh};
};

struct TrainOptions {
  std::int64_t epochs = 200;
  Optimiser optimiser = Optimiser::adam;
  double lr = 0.01;
  double weight_decay = 5e-4;
  /// Weight decay applies only to the first layer, as in GCN's paper.
  bool decay_first_layer_only = false;
  double momentum = 0.9;  // sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  LearningRateSchedule schedule = LearningRateSchedule::constant;
  std::int64_t warmup = 0;  // epochs in which the rate rises to lr
  std::int64_t every = 50;  // LearningRateSchedule::steps
  double gamma = 0.5;
  std::int64_t patience = 0;    // training stops after this many epochs without a better one; 0: never
  std::int64_t eval_every = 1;  // epochs between evaluations of the validation split; 0: only after the last
  BestBy best_by = BestBy::loss;
  Dtype dtype = Dtype::f32;  // of activations and sparse kernels; parameters and optimiser stay f32
  /// f32 on a GPU: dense products round their factors to 10 bits (TF32) and run on tensor cores.
  bool tf32 = false;
  /// Layer outputs that can be recomputed from what the layers keep (GIN's) are recomputed in the backward: one product
  /// more per layer, one array of activations less, bitwise the same results. Unset: if that saves 1 GiB or more.
  std::optional<bool> recompute;
  /// Fuses sums over neighbours with the product that follows them (see SpmmLinear), in GCN, SAGE and GIN. Unset: where
  /// it pays.
  std::optional<bool> fuse;
  std::uint64_t seed = 0;  // of dropout and of batches
  SampleOptions sample;    // for training steps; evaluations use the whole graph
  /// Trains as if the dataset had no edge values. If false, gat and gatv2 refuse a dataset with edge values.
  bool ignore_weights = false;
  std::string checkpoint;             // file; empty: none
  std::int64_t checkpoint_every = 0;  // epochs; 0: only when training is interrupted
  bool time_operators = false;        // on a GPU this turns off capture and replay of epochs as CUDA graphs
  bool resume = false;                // continues from `checkpoint` if it exists; the result includes its epochs
  static TrainOptions of(Architecture architecture);
};

/// Figures of one epoch. Accuracy is micro-F1 if nodes have several labels; what was not measured is NaN.
struct EpochFigures {
  std::int64_t epoch = 0;  // from 1
  double loss = 0;         // of the training split, with dropout
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0;
  double val_loss = 0;
  double lr = 0;
  double loss_scale = 1;
  double seconds = 0;  // of training so far; with `resume` including earlier runs
};

struct TrainResult {
  Model model;  // of the best epoch; without a validation split, of the last
  std::vector<EpochFigures> epochs;
  std::int64_t best_epoch = 0;                                     // from 1; 0 if none was evaluated
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0;  // of that model
  double seconds = 0;                                              // of training in this run only
  double epoch_seconds = 0;        // of one warm epoch: the mean over all but the first three
  std::size_t peak_bytes = 0;      // on the training device
  std::int64_t batches = 1;        // per epoch
  std::int64_t skipped_steps = 0;  // steps without an update, as a gradient overflowed f16; with `resume` of all epochs
  bool stopped_early = false, interrupted = false;
  std::vector<OperatorTime> operators;  // of all epochs with their evaluations, if requested
  /// The number of this run's checkpoints that could not be written, which does not stop training, and the reason for
  /// the last failure. The file keeps the last checkpoint that was written completely.
  std::int64_t failed_checkpoints = 0;
  std::string checkpoint_error;

  /// Optimiser steps, one per batch.
  std::int64_t steps() const { return static_cast<std::int64_t>(epochs.size()) * batches; }
};

/// Called for every epoch, in order, possibly with a delay; returning false stops training like an interrupt.
using EpochWatcher = std::function<bool(const EpochFigures&)>;

/// Trains on the whole graph or on batches of it. The dataset stays on the host; everything that training needs is
/// copied to the context's device before the first epoch, and batches are drawn there. Results are bitwise the same for
/// the same seed, device and options.
TrainResult train(Context& context, const Dataset& dataset, Model model, const TrainOptions& options,
                  const EpochWatcher& watch = {});

// ---- Inference -------------------------------------------------------------------------------

struct InferOptions {
  Dtype dtype = Dtype::f32;  // of activations and sparse kernels
  bool embeddings = false;   // also return the last layer's input
  bool time_operators = false;
  EdgeSample edges = {};  // keeps at most `width` edges per row; width 0: all
};

struct Predictions {
  Tensor scores;   // f32 [nodes, classes], on the host: the inputs of the softmax or the sigmoid
  Tensor classes;  // i32 [nodes], or f32 [nodes, classes] of 0 and 1 if nodes may have several classes
  /// f32 [nodes, width], on the host: the output of the last hidden layer after norm and activation, which the last
  /// layer reads. Heads are concatenated, or averaged if the model does so. Empty unless requested.
  Tensor embeddings;
  double train_accuracy = 0, val_accuracy = 0, test_accuracy = 0, accuracy = 0;  // NaN without labels
  double seconds = 0;                                                            // of the forward pass
  std::vector<OperatorTime> operators;                                           // of the forward pass, if requested
  double sampling_rate = 1;  // fraction of the edges in the model's graph that were kept
};
/// Runs a model on any graph with the same number of features; a model with known_nodes refuses other node names or
/// ids. If model and data both have class names, labels are compared with predictions by name, in any order, and a
/// class of the data that the model does not have is refused. Edge values are used by models with
/// ModelSpec::edge_weights; without values every edge has weight 1. Embeddings of a model with one layer, which has no
/// hidden layer, are refused.
Predictions infer(Context& context, const Dataset& dataset, const Model& model, const InferOptions& options);
Predictions infer(Context& context, const Dataset& dataset, const Model& model, Dtype dtype = Dtype::f32);
/// f32 of the scores' shape: the softmax of every row, or the sigmoid of every score if nodes may have several classes.
/// Scores are f32 [nodes, classes] on the host; large ones do not overflow.
Tensor probabilities(const Tensor& scores, bool several_labels);

}  // namespace weft
