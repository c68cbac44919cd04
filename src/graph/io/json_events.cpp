#include "graph/io/json_events.hpp"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/check.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

/// Characters for the parser. All copies share one place, so that others see how far it has come.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Characters(const char** at) : at_(at) {}
  reference operator*() const { return **at_; }
  Characters& operator++() {
    ++*at_;
    return *this;
  }
  Characters operator++(int) { return ++*this; }
  friend bool operator==(const Characters& a, const Characters& b) { return *a.at_ == *b.at_; }
  friend bool operator!=(const Characters& a, const Characters& b) { return !(a == b); }

 private:
  const char** at_;
};

class Adapter : public nlohmann::json_sax<nlohmann::json> {
 public:
  Adapter(std::string_view text, JsonEvents& events, const Progress& progress)
      : events_(events), progress_(progress), text_(text), at_(text.data()) {}

  void read() {
    const char* end = text_.data() + text_.size();
    nlohmann::json::sax_parse(Characters(&at_), Characters(&end), this);
    // The parser takes a zero byte for the end.
    WEFT_CHECK(at_ == end, invalid_file, "byte {}: found a zero byte, which is no JSON here", at_ - text_.data());
    if (progress_) progress_("reading", size(), size());
  }

  bool null() override {
    return pass([&] { events_.other("null"); });
  }
  bool boolean(bool value) override {
    return pass([&] { events_.other(value ? "true" : "false"); });
  }
  bool number_integer(number_integer_t value) override {
    return pass([&] { events_.integer(value); });
  }
  bool number_unsigned(number_unsigned_t value) override {
    return pass([&] {
      if (std::in_range<std::int64_t>(value)) return events_.integer(static_cast<std::int64_t>(value));
      events_.other(std::to_string(value));
    });
  }
  bool number_float(number_float_t value, const string_t& written) override {
    return pass([&] {
      // Some write 1.0 for 1.
      const bool whole = std::trunc(value) == value && std::abs(value) < 9007199254740992.0;
      if (whole) return events_.integer(static_cast<std::int64_t>(value));
      events_.other(in_quotes(written));
    });
  }
  bool string(string_t&) override {
    return pass([&] { events_.other("a string"); });
  }
  bool binary(binary_t&) override { return false; }  // of other notations than text
  bool start_object(std::size_t) override {
    return pass([&] { events_.begin_object(); });
  }
  bool key(string_t& name) override {
    return pass([&] { events_.key(name); });
  }
  bool end_object() override {
    return pass([&] { events_.end_object(); });
  }
  bool start_array(std::size_t) override {
    return pass([&] { events_.begin_list(); });
  }
  bool end_array() override {
    return pass([&] { events_.end_list(); });
  }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception&) override {
    const std::int64_t byte = at_ - text_.data();
    WEFT_CHECK(position <= text_.size(), invalid_file, "byte {}: the file ends within its JSON", byte);
    fail(ErrorCode::invalid_file, "byte {}: found {}, which is no JSON here", byte, in_quotes(last));
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(text_.size()); }

  template <class Event>
  bool pass(const Event& event) {
    const std::int64_t byte = at_ - text_.data();
    try {
      event();
    } catch (const Error& error) {
      fail(error.code(), "byte {}: {}", byte, error.what());
    }
    constexpr std::int64_t told_every = 1 << 22;
    if (progress_ && byte - told_ >= told_every) {
      told_ = byte;
      progress_("reading", byte, size());
    }
    return true;
  }

  JsonEvents& events_;
  const Progress& progress_;
  std::string_view text_;
  const char* at_;
  std::int64_t told_ = 0;
};

}  // namespace

void read_json(std::string_view text, JsonEvents& events, const Progress& progress) {
  WEFT_CHECK(!text.empty(), invalid_file, "it is empty: expected JSON");
  Adapter(text, events, progress).read();
}

}  // namespace weft::io
