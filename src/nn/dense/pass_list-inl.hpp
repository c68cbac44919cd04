// The dense passes, one line each, for the backend that the including file names: a CPU
// (passes.cpp) or a GPU (../cuda/passes.cu).
namespace weft::loops {

template void run(Backend, const nn::ActivateArgs&);
template void run(Backend, const nn::ActivateBackwardArgs&);
template void run(Backend, const nn::ScaleRowsArgs&);
template void run(Backend, const nn::AddSelfArgs&);
template void run(Backend, const nn::SelfGradArgs&);
template void run(Backend, const nn::HeadDotsArgs&);
template void run(Backend, const nn::HeadDotsBackwardArgs&);
template void run(Backend, const nn::MeanHeadsArgs&);
template void run(Backend, const nn::MeanHeadsBackwardArgs&);
template void run(Backend, const nn::LossArgs&);
template void run(Backend, const nn::FindOverflowArgs&);
template void run(Backend, const nn::OptimiseArgs&);
template void run(Backend, const nn::EndStepArgs&);
template void run(Backend, const nn::EndEvaluationArgs&);
template void run(Backend, const nn::KeepBestArgs&);
template void run(Backend, const nn::BatchNormArgs&);
template void run(Backend, const nn::BatchNormBackwardArgs&);
template void run(Backend, const nn::LayerNormArgs&);
template void run(Backend, const nn::LayerNormBackwardArgs&);

}  // namespace weft::loops
