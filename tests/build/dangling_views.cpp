// Clang says that each of the three views outlives its memory, and nothing of the arguments.
#include <weft/weft.hpp>

weft::Tensor make_tensor();
void read(weft::ConstTensorView tensor);
void attend(const weft::AttentionInputs& inputs);

void views_of_temporaries() {
  read(make_tensor());
  attend({.value = make_tensor(), .src = make_tensor()});
  const weft::ConstTensorView copied = make_tensor();
  const weft::ConstTensorView constructed(make_tensor());
  const weft::AttentionInputs member{.value = make_tensor()};
}
