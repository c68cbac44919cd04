// The dense passes, one line each, for the backend that the including file names: a CPU
// (passes.cpp) or a GPU (cuda/passes.cu).
namespace weft::loops {

template void run(Backend, const dense::ActivateArgs&);
template void run(Backend, const dense::ActivateBackwardArgs&);
template void run(Backend, const dense::ScaleRowsArgs&);
template void run(Backend, const dense::AddSelfArgs&);
template void run(Backend, const dense::SelfGradArgs&);
template void run(Backend, const dense::HeadDotsArgs&);
template void run(Backend, const dense::HeadDotsBackwardArgs&);
template void run(Backend, const dense::MeanHeadsArgs&);
template void run(Backend, const dense::MeanHeadsBackwardArgs&);
template void run(Backend, const dense::BatchNormArgs&);
template void run(Backend, const dense::BatchNormBackwardArgs&);
template void run(Backend, const dense::LayerNormArgs&);
template void run(Backend, const dense::LayerNormBackwardArgs&);

}  // namespace weft::loops
