// The passes of sampling, one line each, for the backend that the including file names: a CPU
// (passes.cpp) or a GPU (../cuda/sampling.cu).
namespace weft::loops {

template void run(Backend, const nn::MarkArgs&);
template void run(Backend, const nn::NumberArgs&);
template void run(Backend, const nn::TakeRowsArgs&);
template void run(Backend, const nn::DrawRowsArgs&);
template void run(Backend, const nn::RelabelArgs&);
template void run(Backend, const nn::CountArgs&);
template void run(Backend, const nn::SumWeightsArgs&);
template void run(Backend, const nn::WeighArgs&);
template void run(Backend, const nn::LossWeightsArgs&);
template void run(Backend, const nn::ShuffleArgs&);
template void run(Backend, const nn::GatherArgs<NodeId>&);
template void run(Backend, const nn::GatherArgs<EdgeId>&);

}  // namespace weft::loops
