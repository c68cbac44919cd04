#include <zip.h>

#include <algorithm>
#include <cerrno>

#include "core/check.hpp"
#include "graph/io/zip_archive.hpp"

namespace weft::io {

// What libzip writes to. Exceptions must not travel through its C code: the first one waits here.
struct ZipWriter::Sink {
  AtomicWriter& out;
  zip_error_t error;
  std::exception_ptr failure;
  std::function<void(double)> progress;
  std::int64_t end = 0;  // libzip goes back to fill in sizes, and then to the end again

  explicit Sink(AtomicWriter& writer) : out(writer) { ::zip_error_init(&error); }
  ~Sink() { ::zip_error_fini(&error); }

  zip_int64_t write(const void* data, zip_uint64_t size) {
    try {
      out.write({static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
      end = std::max(end, out.tell());
      return static_cast<zip_int64_t>(size);
    } catch (...) {
      if (!failure) failure = std::current_exception();
      ::zip_error_set(&error, ZIP_ER_WRITE, EIO);
      return -1;
    }
  }

  zip_int64_t seek(void* data, zip_uint64_t size) {
    const zip_int64_t position = ::zip_source_seek_compute_offset(static_cast<zip_uint64_t>(out.tell()),
                                                                  static_cast<zip_uint64_t>(end), data, size, &error);
    if (position < 0) return -1;
    out.seek(position);
    return 0;
  }

  static zip_int64_t serve(void* state, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    auto& sink = *static_cast<Sink*>(state);
    switch (command) {
      case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_STAT: {
        auto* status = static_cast<zip_stat_t*>(data);
        ::zip_stat_init(status);
        status->valid = ZIP_STAT_SIZE;
        status->size = 0;
        return sizeof *status;
      }
      case ZIP_SOURCE_ERROR: return ::zip_error_to_data(&sink.error, data, size);
      case ZIP_SOURCE_WRITE: return sink.write(data, size);
      case ZIP_SOURCE_SEEK_WRITE: return sink.seek(data, size);
      case ZIP_SOURCE_TELL_WRITE: return sink.out.tell();
      case ZIP_SOURCE_READ:
      case ZIP_SOURCE_TELL:
      case ZIP_SOURCE_SEEK:
      case ZIP_SOURCE_OPEN:
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_REMOVE:
      case ZIP_SOURCE_FREE: return 0;
      default: ::zip_error_set(&sink.error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
  }

  static void tell_progress(zip*, double share, void* state) {
    auto& sink = *static_cast<Sink*>(state);
    try {
      if (sink.progress && !sink.failure) sink.progress(share);
    } catch (...) {
      sink.failure = std::current_exception();
    }
  }
  static int is_cancelled(zip*, void* state) { return static_cast<Sink*>(state)->failure ? 1 : 0; }
};

ZipWriter::ZipWriter(AtomicWriter& out) : sink_(std::make_unique<Sink>(out)) {
  zip_error_t error;
  ::zip_error_init(&error);
  zip_source_t* source = ::zip_source_function_create(&Sink::serve, sink_.get(), &error);
  if (source != nullptr) archive_ = ::zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
  if (archive_ == nullptr) {
    const std::string message = ::zip_error_strerror(&error);
    if (source != nullptr) ::zip_source_free(source);
    ::zip_error_fini(&error);
    fail(ErrorCode::io, "cannot start a zip archive: {}", message);
  }
  ::zip_error_fini(&error);
}

ZipWriter::~ZipWriter() {
  if (archive_ != nullptr) ::zip_discard(archive_);
}

void ZipWriter::add(const std::string& name, std::string head, std::span<const std::byte> body) {
  heads_.push_back(std::make_unique<std::string>(std::move(head)));
  std::string& start = *heads_.back();
  // libzip only reads the parts; its interface is not const.
  const zip_buffer_fragment_t parts[2] = {
      {reinterpret_cast<zip_uint8_t*>(start.data()), start.size()},
      {reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(body.data())), body.size()}};
  zip_source_t* source = ::zip_source_buffer_fragment(archive_, parts, body.empty() ? 1 : 2, 0);
  WEFT_CHECK(source != nullptr, out_of_memory, "member '{}': {}", name, ::zip_strerror(archive_));
  const zip_int64_t index = ::zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    ::zip_source_free(source);
    fail(ErrorCode::io, "member '{}': {}", name, ::zip_strerror(archive_));
  }
  const auto member = static_cast<zip_uint64_t>(index);
  // A fixed date (1 January 1980, the format's first): the same graph gives the same bytes.
  constexpr zip_uint16_t no_time = 0, first_day = (1 << 5) | 1;
  const bool set = ::zip_set_file_compression(archive_, member, ZIP_CM_STORE, 0) == 0 &&
                   ::zip_file_set_dostime(archive_, member, no_time, first_day, 0) == 0;
  WEFT_CHECK(set, io, "member '{}': {}", name, ::zip_strerror(archive_));
  bytes_ += static_cast<std::int64_t>(start.size() + body.size());
}

void ZipWriter::finish(const Progress& progress) {
  if (progress) {
    sink_->progress = [&](double share) {
      progress("writing", static_cast<std::int64_t>(share * static_cast<double>(bytes_)), bytes_);
    };
    ::zip_register_progress_callback_with_state(archive_, 0.01, &Sink::tell_progress, nullptr, sink_.get());
    ::zip_register_cancel_callback_with_state(archive_, &Sink::is_cancelled, nullptr, sink_.get());
  }
  const bool closed = ::zip_close(archive_) == 0;
  if (sink_->failure) std::rethrow_exception(sink_->failure);
  WEFT_CHECK(closed, io, "cannot write the zip archive: {}", ::zip_strerror(archive_));
  archive_ = nullptr;
  if (progress) progress("writing", bytes_, bytes_);
}

}  // namespace weft::io
