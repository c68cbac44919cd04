#include "graph/io/unpacker.hpp"

#include <algorithm>
#include <cstring>

#include "core/check.hpp"
#include "graph/io/codec.hpp"
#include "graph/io/growth.hpp"

namespace weft::io {
namespace {

constexpr std::size_t mark_bytes = 16;  // what tells a packing

void grow(Buffer<std::byte>& buffer, std::size_t used, std::size_t size) {
  Buffer<std::byte> larger(size, "the unpacked file");
  if (used > 0) std::memcpy(larger.data(), buffer.data(), used);
  buffer = std::move(larger);
}

/// A file's bytes from the first to the last, out of memory or read block by block.
class Input {
 public:
  explicit Input(const Source& source) : whole_(source.bytes), file_(source.file), size_(source.size()) {}

  std::size_t size() const { return size_; }
  std::size_t taken() const { return taken_; }
  bool at_end() const { return taken_ == size_; }
  /// Some of the bytes that follow: at least `least` or all there are.
  std::span<const std::byte> next(std::size_t least = 1) {
    if (!file_) return whole_.subspan(taken_);
    if (end_ - taken_ < std::min(least, size_ - taken_)) {
      constexpr std::size_t block_bytes = std::size_t{1} << 20;
      if (block_.size() == 0) block_ = Buffer<std::byte>(std::min(block_bytes, size_), "a block of a packed file");
      const std::size_t count = std::min(block_.size(), size_ - taken_);
      file_->read_at(taken_, {block_.data(), count});
      begin_ = taken_;
      end_ = taken_ + count;
    }
    return {block_.data() + (taken_ - begin_), end_ - taken_};
  }
  void take(std::size_t count) { taken_ += count; }
  /// Straight into the caller's memory.
  void read(std::span<std::byte> into) {
    if (file_)
      file_->read_at(taken_, into);
    else if (!into.empty())
      std::memcpy(into.data(), whole_.data() + taken_, into.size());
    taken_ += into.size();
  }

 private:
  std::span<const std::byte> whole_;
  std::shared_ptr<const File> file_;
  std::size_t size_, taken_ = 0, begin_ = 0, end_ = 0;  // the block holds [begin, end)
  Buffer<std::byte> block_;
};

}  // namespace

struct Unpacker::State {
  Input input;
  Packing packing;
  std::unique_ptr<Codec> codec;  // none for what is not packed
  std::size_t limit, given = 0;
  bool between_members = false, done = false;

  explicit State(const Source& source) : input(source), packing(packing_of(input.next(mark_bytes))) {
    limit = packing == Packing::none ? input.size() : most_unpacked(input.size());
    if (packing != Packing::none) codec = make_codec(packing);
  }

  std::size_t copy(std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), input.size() - input.taken());
    input.read(into.first(count));
    given += count;
    done = input.at_end();
    return count;
  }

  /// To the next member, or the end. Zeros between members, or behind them, are padding.
  void leave_member() {
    between_members = false;
    while (!input.at_end()) {
      const auto ahead = input.next();
      const auto zeros = std::ranges::find_if(ahead, [](std::byte byte) { return byte != std::byte{0}; });
      input.take(static_cast<std::size_t>(zeros - ahead.begin()));
      if (zeros != ahead.end()) break;
    }
    done = input.at_end();
    if (done) return;
    WEFT_CHECK(packing_of(input.next(mark_bytes)) == packing, invalid_file,
               "byte {} of {}: expected the end or another {} member", input.taken(), input.size(), name(packing));
    codec->restart();
  }

  /// Part of what `into` has room for.
  std::size_t unpack_some(std::span<std::byte> into) {
    const auto ahead = input.next();
    const Codec::Step step = codec->step(ahead, into);
    input.take(step.taken);
    WEFT_CHECK(step.fault.empty(), invalid_file, "byte {} of {}: the {} data is damaged ({})", input.taken(),
               input.size(), name(packing), step.fault);
    between_members = step.ended;
    if (!step.ended) {
      WEFT_CHECK(!input.at_end() || step.given > 0, invalid_file,
                 "the {} data ends at byte {} in the middle of its content: the file was cut off", name(packing),
                 input.taken());
      WEFT_CHECK(step.taken > 0 || step.given > 0, invalid_file, "byte {} of {}: the {} data is damaged (no progress)",
                 input.taken(), input.size(), name(packing));
    }
    return step.given;
  }
};

Unpacker::Unpacker(const Source& source) : state_(std::make_unique<State>(source)) {}
Unpacker::Unpacker(Unpacker&&) noexcept = default;
Unpacker& Unpacker::operator=(Unpacker&&) noexcept = default;
Unpacker::~Unpacker() = default;

bool Unpacker::done() const { return state_->done; }
std::size_t Unpacker::taken() const { return state_->input.taken(); }
std::size_t Unpacker::size() const { return state_->input.size(); }
std::size_t Unpacker::limit() const { return state_->limit; }

std::size_t Unpacker::read(std::span<std::byte> into) {
  State& s = *state_;
  if (!s.codec) return s.copy(into);
  std::size_t filled = 0;
  for (;;) {
    if (s.between_members) s.leave_member();
    if (s.done || filled == into.size()) return filled;
    const std::size_t some = s.unpack_some(into.subspan(filled));
    filled += some;
    s.given += some;
    WEFT_CHECK(s.given <= s.limit, invalid_file,
               "unpacks to more than {} bytes from {}, which graphs do not: if it is right, unpack it by hand", s.limit,
               s.input.size());
  }
}

Unpacked unpack_all(const Source& source, const Progress& progress) {
  constexpr std::size_t piece = std::size_t{1} << 24;
  Unpacker reader(source);
  // Of what is not packed just its size, of anything else at first a guess.
  const bool plain = reader.limit() == reader.size();
  const std::size_t guess = plain ? reader.size() : std::max<std::size_t>(reader.size() * 4, 1 << 16);
  Buffer<std::byte> content(std::min(reader.limit(), guess), "the unpacked file");
  for (std::size_t used = 0;;) {
    const std::size_t room = std::min(piece, content.size() - used);
    used += reader.read({content.data() + used, room});
    if (progress)
      progress(plain ? "reading" : "unpacking", static_cast<std::int64_t>(reader.taken()),
               static_cast<std::int64_t>(reader.size()));
    if (reader.done()) return {std::move(content), used};
    // One byte more than there may be shows that there are too many.
    if (used == content.size()) grow(content, used, std::min(reader.limit() + 1, used * 2));
  }
}

}  // namespace weft::io
