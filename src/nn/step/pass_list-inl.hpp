// The passes of a step, one line each, for the backend that the including file names: a CPU
// (passes.cpp) or a GPU (../cuda/step.cu).
namespace weft::loops {

template void run(Backend, const nn::LossArgs&);
template void run(Backend, const nn::FindOverflowArgs&);
template void run(Backend, const nn::OptimiseArgs&);
template void run(Backend, const nn::EndStepArgs&);
template void run(Backend, const nn::EndEvaluationArgs&);
template void run(Backend, const nn::KeepBestArgs&);

}  // namespace weft::loops
